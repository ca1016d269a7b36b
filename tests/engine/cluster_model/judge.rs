//! The invariants: what has to be true in every state.

use super::checkpoint::{Checkpoint, Link, LinkFile, Name, Stage};
use super::model::Model;
use super::state::{Shared, State};

impl Model {
    /// The first invariant that does not hold.
    pub fn broken(&self, state: &State) -> Result<(), String> {
        for shard in self.shards() {
            let shared = &state.shards[shard];
            let head = self.of(shared.head().content);
            let missing = head.names() & !shared.objects;
            if missing != 0 {
                return Err(format!("the head of shard {shard} names what is missing: {}", Name::list(missing)));
            }
            self.pages_stay(shared, shard, &head)?;
            self.pages_have_their_links(shared, shard, &head)?;
            for sender in self.shards().filter(|sender| *sender != shard) {
                self.links_take_effect_once(state, shard, sender, &head)?;
            }
        }
        self.quota_holds(state)?;
        if state.has_ended { self.end_is_true(state) } else { Ok(()) }
    }

    /// No page of a committed checkpoint is fetched again in its round.
    fn pages_stay(&self, shared: &Shared, shard: usize, head: &Checkpoint) -> Result<(), String> {
        if let Some(page) = head.urls.iter().position(|url| url.copies.iter().any(|&copies| copies > 1)) {
            return Err(format!("page {page} is in the archive of shard {shard} twice in one round"));
        }
        let Some(before) = shared.newest.checked_sub(1) else { return Ok(()) };
        let before = self.of(shared.heads[before as usize].content);
        let stays = |page: &usize| {
            let (old, new) = (before.urls[*page], head.urls[*page]);
            old.stage != Stage::Fetched || new.round > old.round || new == Self::later(old, &new)
        };
        match (0..self.bounds.web.len()).find(|page| !stays(page)) {
            Some(page) => Err(format!("page {page} of shard {shard} was committed and is another now")),
            None => Ok(()),
        }
    }

    /// The URL `old`, which stays as it is, but for links to it that came since.
    fn later(old: super::checkpoint::Url, new: &super::checkpoint::Url) -> super::checkpoint::Url {
        super::checkpoint::Url { taken: new.taken, copies: new.copies, is_doubled: new.is_doubled, ..old }
    }

    fn files(&self, shared: &Shared) -> impl Iterator<Item = (u8, LinkFile)> {
        (1..=shared.newest).map(|number| {
            let content = self.of(shared.heads[number as usize].content);
            (number, content.files[number as usize])
        })
    }

    /// The link of a page is in the committed link files once, if the page is committed, and else not at all.
    fn pages_have_their_links(&self, shared: &Shared, shard: usize, head: &Checkpoint) -> Result<(), String> {
        let links: Vec<Link> = self.files(shared).flat_map(|(_, file)| file.links).flatten().collect();
        for (at, page) in self.bounds.web.iter().enumerate().filter(|(_, page)| page.owner == shard) {
            let (Some(target), url) = (page.link, head.urls[at]) else { continue };
            let is_stored = url.stage == Stage::Fetched;
            let has_to = is_stored && (page.needs == 0 || page.lies_behind);
            if self.bounds.web[target].owner == shard {
                if has_to && head.urls[target].stage == Stage::Unknown {
                    return Err(format!("page {at} is committed, and its link is lost"));
                }
                continue;
            }
            let of_round = links.iter().filter(|link| link.target as usize == target && link.round == url.round);
            let (own, other): (Vec<&Link>, Vec<&Link>) =
                of_round.partition(|link| is_stored && link.version == url.version);
            if own.len() > 1 || !other.is_empty() || (has_to && own.is_empty()) {
                let count = own.len();
                return Err(format!("page {at}: its link is committed {count} times, others of it {}", other.len()));
            }
        }
        Ok(())
    }

    /// Checks that the links before the position are admitted, each once, and that the files after it are there.
    fn links_take_effect_once(
        &self,
        state: &State,
        shard: usize,
        sender: usize,
        head: &Checkpoint,
    ) -> Result<(), String> {
        let (web, shared) = (self.bounds.web, &state.shards[sender]);
        let position = head.positions[sender];
        if position > (shared.newest + 1, 0) {
            return Err(format!(
                "shard {shard} has read {position:?} of shard {sender}, which is at {}",
                shared.newest
            ));
        }
        let mut taken = [[0; 2]; super::web::PAGES];
        let sent = self.of(shared.head().content);
        for (number, file) in self.files(shared).filter(|(_, file)| !file.is_empty()) {
            for (frame, link) in (0_u8..).zip(file.section(web, shard)) {
                if (number, frame) < position {
                    taken[link.target as usize][link.round as usize] = link.version + 1;
                }
            }
            let is_kept = !sent.files[number as usize].is_empty();
            let is_there = shared.objects & Name::Links.bit(file.claim, number) != 0;
            if number >= position.0 && !(is_kept && is_there) {
                return Err(format!("link file {number} of shard {sender} is gone, shard {shard} is at {position:?}"));
            }
        }
        for (at, url) in head.urls.iter().enumerate().take(web.len()) {
            let is_named = web.iter().any(|page| page.owner == sender && page.link == Some(at));
            if web[at].owner != shard || !is_named {
                continue;
            }
            if url.is_doubled {
                return Err(format!("a link to page {at} took effect twice"));
            }
            if url.taken != taken[at] {
                let (is, be) = (url.taken, taken[at]);
                return Err(format!(
                    "links to page {at} took effect as {is:?}, by the position {position:?} as {be:?}"
                ));
            }
            let is_due = |round: usize| taken[at][round] != 0 && usize::from(url.round) < round;
            if (url.stage == Stage::Unknown && taken[at] != [0; 2]) || is_due(1) {
                return Err(format!("a link to page {at} was taken without effect"));
            }
        }
        Ok(())
    }

    fn quota_holds(&self, state: &State) -> Result<(), String> {
        if self.bounds.quota == 0 {
            return Ok(());
        }
        let granted: u8 = self.shards().map(|shard| state.shards[shard].granted).sum();
        if granted + state.quota_left != self.bounds.quota {
            return Err(format!("{granted} pages are granted, {} are left", state.quota_left));
        }
        for shard in self.shards() {
            let pages = self.of(state.shards[shard].head().content).pages();
            if pages > state.shards[shard].granted {
                let granted = state.shards[shard].granted;
                return Err(format!("shard {shard} has {pages} pages, and was granted {granted}"));
            }
        }
        Ok(())
    }

    /// Checks that at the end every page that the crawl can come to is stored, and nothing is left to be read.
    fn end_is_true(&self, state: &State) -> Result<(), String> {
        let web = self.bounds.web;
        let url = |at: usize| self.of(state.shards[web[at].owner].head().content).urls[at];
        for (at, page) in web.iter().enumerate() {
            let is_due = page.is_seed || (page.is_late_seed && state.list_at != 0);
            let is_old = page.is_seed && state.round_at != 0 && url(at).round == 0;
            if url(at).stage == Stage::Queued || (is_due && url(at).stage != Stage::Fetched) || is_old {
                return Err(format!("the crawl has ended without page {at}"));
            }
        }
        for (reader, sender) in self.shards().flat_map(|reader| self.shards().map(move |sender| (reader, sender))) {
            let position = self.of(state.shards[reader].head().content).positions[sender];
            let is_unread = |(number, file): (u8, LinkFile)| {
                let section = file.section(web, reader).count();
                section > 0 && (number, section as u8) > position && number >= position.0
            };
            if reader != sender && self.files(&state.shards[sender]).any(is_unread) {
                return Err(format!("the crawl has ended, and shard {reader} has not read all of shard {sender}"));
            }
        }
        Ok(())
    }
}
