//! News and links of other shards, taken into the crawl.
//!
//! The [exchange](super::exchange) knows how far the others have come, and what of theirs is read next. What was read
//! takes the way of what is found here.

use std::sync::Arc;
use std::time::Duration;

use super::admission::Admission;
use crate::clock::Time;
use crate::disk::Result;
use crate::exchange::{LinksRead, Support};
use crate::web::url::CanonicalUrl;

/// Takes in what other shards have found, or say.
pub struct FromShards<'a> {
    pub(super) admission: &'a mut Admission,
}

impl FromShards<'_> {
    /// The scope gets what the other shards noted and this one has not read yet. All shards of the crawl are open now,
    /// and nothing is replayed before.
    pub fn take_notes(&mut self) -> Result<()> {
        let Some(exchange) = &mut self.admission.exchange else { return Ok(()) };
        for url in exchange.unread_notes()? {
            self.admission.scope = Arc::new(self.admission.scope.with_joined(&url));
        }
        Ok(())
    }

    /// Another shard has committed something, or is hungry, or the crawl has more seeds, or has ended.
    pub(crate) fn hear_news(&mut self) -> Result<()> {
        let Some(exchange) = &mut self.admission.exchange else { return Ok(()) };
        exchange.hear()?;
        let (known, seeds) = (self.admission.books.seeds.len(), exchange.news().seeds.1);
        if seeds > known {
            self.admission.books.seeds.read_on(&self.admission.home.disk)?;
            for number in known..self.admission.books.seeds.len() {
                let seed = self.admission.books.seeds.get(number)?;
                let url = seed.and_then(|seed| CanonicalUrl::parse(&seed.url).ok());
                url.iter().for_each(|url| self.admission.scope = Arc::new(self.admission.scope.with_seed(url)));
            }
            self.admission.seeding.intake.extend(self.admission.books.seeds.len());
            self.admission.seeding.intake.begin();
        }
        self.fetch_listed_again()
    }

    /// Links of another shard come in: they are admitted, and the position moves behind them.
    pub(crate) fn take_links(&mut self, read: LinksRead) -> Result<()> {
        let records = read.records();
        let LinksRead { sender, from, to, notes, links, supports } = read;
        tracing::debug!(sender, number = from.number, links = links.len(), "links of another shard");
        for Support { pair, target } in supports {
            self.admission.stores.support(pair, target)?;
        }
        for note in &notes {
            self.admission.scope = Arc::new(self.admission.scope.with_joined(note));
            self.admission.books.seeds.add_scope(note.as_str())?;
        }
        self.admission.stores.seen.prefetch(links.iter().map(|(url, _)| url.key));
        for (url, round) in links {
            if url.forced && round > self.admission.seeding.round.number {
                self.admission.seeding.enter_round(round, self.admission.container.key_bytes());
            }
            self.admission.admit_here(url)?;
        }
        let exchange = self.admission.exchange.as_mut().expect("only a shard reads links");
        exchange.admitted(sender, from, to, records);
        Ok(())
    }

    /// A checkpoint that took `cost` is durable, and the registry knows it.
    pub(crate) fn committed(&mut self, now: Time, cost: Duration) -> Result<()> {
        if let Some(exchange) = &mut self.admission.exchange {
            exchange.committed(now, cost);
        }
        self.hear_news()
    }

    /// Lets in what the whole crawl fetches again by lists that came since it began: seeds of this shard that were not
    /// put into the round of their list yet, nor into a later one.
    pub fn fetch_listed_again(&mut self) -> Result<()> {
        let Some(news) = self.admission.exchange.as_ref().map(|exchange| exchange.news()) else { return Ok(()) };
        let (lists, seeds) = (news.again.clone(), self.admission.books.seeds.len());
        for list in lists.iter().skip(self.admission.seeding.lists_again) {
            if list.seeds.iter().any(|&seed| seed >= seeds) {
                // the list of the seeds is read on before the next look
                return Ok(());
            }
            self.admission.seeding.lists_again += 1;
            if list.round > self.admission.seeding.round.number {
                self.admission.seeding.enter_round(list.round, self.admission.container.key_bytes());
            }
            let table = &self.admission.books.seeds;
            let is_left = |seed: &u32| !table.is_foreign(*seed) && table.round_of(*seed) < list.round;
            let left: Vec<u32> = list.seeds.iter().copied().filter(is_left).collect();
            if left.is_empty() {
                continue;
            }
            tracing::info!(
                shard = self.admission.home.shard.index(),
                round = list.round,
                "{} seeds are fetched again",
                left.len()
            );
            // a new order is a reason to think that bad answers are bad no longer
            let now = self.admission.clock.now();
            self.admission.seeding.anew.doubt_bad(now);
            self.admission.stores.sink.doubtful = self.admission.seeding.anew.doubtful();
            self.admission.seeding.intake.fetch_again(left.into_iter());
        }
        Ok(())
    }
}
