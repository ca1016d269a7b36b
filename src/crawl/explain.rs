//! Everything that a crawl knows of a URL, gathered beside it: what is read, from where, and what follows.
//!
//! Nothing is written and no lock is taken, so that it works on a crawl that runs as on one that stopped. Stores, queue
//! and hosts are reported as of the newest checkpoint, the archive and the logs as they are now. What decides is asked
//! in the words of the crawl itself: its scope, its rules, its delays, by the settings of its last run.

mod archive;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod links;
mod logs;
mod model;
mod recrawl;
mod state;
mod verdict;

use std::path::Path;
use std::time::Duration;

use super::{CrawlError, control, hours, options, rendering, sites};
use crate::clock::{Clock, SystemClock, Time};
use crate::config::Config;
use crate::container::retention::list::ForgottenList;
use crate::dirs::Archives;
use crate::dirs::CrawlDirs;
use crate::disk::{DirectoryLock, Disk, Error};
use crate::engine::seeds::reader;
use crate::engine::values::RobotsAnswer;
use crate::engine::without_root;
use crate::fingerprint::Fingerprint;
use crate::frontier::{Forbidden, FrontierOptions, Hops, HostLook, NameAnswer, QueuePlace};
use crate::hours::Hours;
use crate::outcome::{Failure, Hold, HostFault, Reason};
use crate::record::layout;
use crate::web::robots::{RobotsFile, RobotsRules};
use crate::web::scope::{Requisites, Rule, Scope};
use crate::web::surt::surt;
use crate::web::url::CanonicalUrl;
use archive::{Archive, ArchivedRobots, VERSIONS_MAX};
pub use model::{Explanation, Hop};
use state::State;

/// A crawl that runs says within this time whether it is paused, or is not asked further.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns what may still let in a URL that is out of scope, where `hops_max` embeds may follow each other.
fn embedded(hops_max: impl std::fmt::Display) -> String {
    format!(
        "a link does not take it in; it would be fetched if a page of the crawl embedded it, directly or over at most \
         {hops_max} embeds in a row (scope.requisites = \"page\", scope.requisite_hops = {hops_max})"
    )
}

/// Explains `url` by the crawl in `dir`, with `config` in the place of the settings of its last run.
pub fn explain(dir: &Path, url: &CanonicalUrl, config: Option<Config>) -> Result<Explanation, CrawlError> {
    explain_on(&Disk::real(), dir, url, config)
}

/// The same of a crawl in a store, which `disk` shows in `dir`. Whether it runs is not known.
pub(crate) fn explain_stored(
    disk: &Disk,
    dir: &Path,
    url: &CanonicalUrl,
    config: Option<Config>,
) -> Result<Explanation, CrawlError> {
    let mut explanation = explain_on(disk, dir, url, config)?;
    explanation.crawl.in_store = true;
    Ok(explanation)
}

fn explain_on(disk: &Disk, dir: &Path, url: &CanonicalUrl, config: Option<Config>) -> Result<Explanation, CrawlError> {
    let dirs = CrawlDirs::open(disk, dir)?;
    let keys = dirs.keys().map_or_else(|| options::key_maker(dir), |keys| Ok(keys.clone()))?;
    let mut explanation = Explanation {
        url: url.to_string(),
        key_form: keys.key_text(url),
        surt: surt(url),
        origin: url.origin(),
        domain: url.registrable_domain().to_owned(),
        ..Explanation::default()
    };
    let now = SystemClock::new().now();
    let config = settings(disk, dirs.home(), config, &mut explanation)?;
    let index = sites::index(&config)?;
    let tables = index.of_url(url.as_str());
    let there = sites::overlaid(&config, &tables);
    let table = |&number: &u16| {
        let line = config.site[usize::from(number)].line(number.into());
        sites::withheld(&config, &index, number, url).map_or(line.clone(), |why| format!("{line} ({why})"))
    };
    explanation.sites = tables.iter().map(table).collect();
    explanation.proxy = sites::request(&there, None).proxy.map(|proxy| proxy.to_string());
    let prints = keys.keys(url);
    let hex = |print: crate::fingerprint::Fingerprint| format!("{:016x}", print.bits());
    explanation.fingerprints = model::Fingerprints {
        key: hex(prints.key),
        origin: hex(prints.origin),
        host: hex(prints.host),
        domain: hex(prints.domain),
    };
    let place = dirs.place_of(prints.domain);
    explanation.shard = dirs.name(place);
    let state = state::read(disk, &dirs.shards()[place], prints)?;
    let learnt = state.as_ref().map(|state| state.rendering.patterns.verdict(&keys, prints.origin, url.as_str()));
    explanation.rendering = rendering::explained(there.render.mode, learnt);
    // opened after the state was read: what left the queue before is there
    let archive = Archive::new(Archives::new(disk.clone(), CrawlDirs::open(disk, dir)?, keys));
    let mut gatherer =
        Gatherer { disk, dirs: &dirs, place, url, config: &config, there: &there, now, archive, told: explanation };
    gatherer.standing(state.as_ref());
    let sent = gatherer.sent(state.as_ref(), prints.key)?;
    gatherer.stored(state.as_ref(), sent.as_ref())?;
    gatherer.queue(state.as_ref(), sent.as_ref());
    gatherer.visits(state.as_ref())?;
    gatherer.scope()?;
    gatherer.robots(state.as_ref())?;
    gatherer.dns(state.as_ref());
    gatherer.logs()?;
    let mut told = gatherer.told;
    let key_bytes = state.as_ref().map(|state| state.checkpoint.container.key_bytes);
    told.verdict = verdict::verdict(&told, &verdict::Facts { config: &there, key_bytes, now });
    Ok(told)
}

/// The settings to explain by: those given, else those of the last run.
fn settings(disk: &Disk, dir: &Path, given: Option<Config>, told: &mut Explanation) -> Result<Config, CrawlError> {
    let (config, from) = match given {
        Some(config) => (config, "the file of --config"),
        None => match options::read_copy(disk, dir)? {
            Some(config) => (config, "the last run"),
            None => {
                told.notes.push(
                    "the crawl directory has no readable copy of its settings: the defaults are used; name \
                     its file with --config"
                        .to_owned(),
                );
                (Config::default(), "defaults")
            }
        },
    };
    told.crawl.settings = from.to_owned();
    Ok(config)
}

/// Fills an explanation in, part by part.
struct Gatherer<'a> {
    disk: &'a Disk,
    dirs: &'a CrawlDirs,
    /// The place of the directory whose shard owns the URL.
    place: usize,
    url: &'a CanonicalUrl,
    config: &'a Config,
    /// The settings as they hold for the URL.
    there: &'a Config,
    now: Time,
    archive: Archive,
    told: Explanation,
}

impl Gatherer<'_> {
    fn standing(&mut self, state: Option<&State>) {
        let crawl = &mut self.told.crawl;
        crawl.running = DirectoryLock::is_held(self.dirs.root());
        if crawl.running {
            crawl.phase = control::live(self.dirs.root(), PATIENCE).ok().map(|live| live.phase);
        }
        crawl.now = self.now;
        let Some(State { checkpoint, .. }) = state else {
            let note = "there is no checkpoint yet: queue, stores and hosts are not shown";
            return self.told.notes.push(note.to_owned());
        };
        crawl.checkpoint = Some(checkpoint.number);
        crawl.as_of = Some(checkpoint.time);
        crawl.finish = checkpoint.finish.filter(|_| !crawl.running && checkpoint.clean);
    }

    /// Versions, redirects, and how the URL was found: by the queue's word where it is queued, else by the archive's.
    fn stored(&mut self, state: Option<&State>, sent: Option<&links::Waiting>) -> Result<(), Error> {
        let (versions, more) = self.archive.versions(self.url)?;
        self.told.versions = versions;
        if more {
            self.told.notes.push(format!("only the newest {VERSIONS_MAX} versions are shown"));
        }
        self.told.stated = self.archive.stated(self.url)?;
        self.told.fetched_as = self.archive.other_spelling(self.url)?;
        self.told.nofollow = self.archive.undecodable(self.url)?;
        if self.there.robots.respect_nofollow && self.told.nofollow.is_none() {
            let bytes_max = self.there.fetch.max_body.as_usize();
            self.told.nofollow = self.archive.nofollow(self.url, self.there.agent_token(), bytes_max)?;
        }
        let archived = self.archive.found(self.url)?;
        if let Some(found) = &archived {
            let hops = Hops::parse(&found.hops);
            self.told.listing = self.archive.listing(self.url, &hops, self.config.robots.sitemaps)?;
        }
        let queued = state.and_then(|state| {
            let queued = state.look.queued.as_ref().map(|queued| &queued.url);
            queued.or(state.on_its_way.as_ref().map(|(url, _)| url))
        });
        self.told.found = match (archived, queued) {
            (None, Some(url)) => Some(model::Found {
                hops: url.hops.to_string(),
                depth: url.depth,
                via: self.archive.via(url.via)?,
                seed_number: url.seed,
                seed: None,
                attempts: url.attempts,
            }),
            (None, None) => sent.map(|sent| self.found_by(sent)).transpose()?,
            (archived, _) => archived,
        };
        self.told.redirects_to = self.archive.redirects_to(self.url)?;
        if let Some(found) = &self.told.found {
            self.told.redirected_from = self.archive.redirected_from(found)?;
        }
        Ok(())
    }

    /// The link to it that another shard has found and this one has not read yet, where it does not know it otherwise.
    fn sent(&self, state: Option<&State>, key: Fingerprint) -> Result<Option<links::Waiting>, Error> {
        let is_known = |state: &State| state.seen || state.on_its_way.is_some();
        if !self.dirs.is_sharded() || state.is_some_and(is_known) {
            return Ok(None);
        }
        let exchange = state.map(|state| state.exchange.clone()).unwrap_or_default();
        links::waiting(self.disk, self.dirs, self.place, &exchange, key)
    }

    fn found_by(&self, sent: &links::Waiting) -> Result<model::Found, Error> {
        let from = &sent.link.from;
        Ok(model::Found {
            hops: from.hops.to_string(),
            depth: from.depth,
            via: self.archive.via(sent.via)?,
            seed_number: from.seed,
            seed: None,
            attempts: 0,
        })
    }

    fn queue(&mut self, state: Option<&State>, sent: Option<&links::Waiting>) {
        let sent_by = sent.map(|sent| sent.sender.dir_name());
        let Some(state) = state else {
            self.told.seen.sent_by = sent_by;
            return;
        };
        self.told.seen = model::Seen {
            seen: Some(state.seen),
            waiting: state.waiting,
            waits_in: state.on_its_way.as_ref().map(|(_, store)| *store),
            sent_by,
        };
        if state.replayed {
            let note = "its page was found in the archive when the crawl was resumed: it will not be fetched again";
            self.told.notes.push(note.to_owned());
        }
        self.told.queue = state.look.queued.as_ref().map(|queued| model::Queue {
            place: match queued.place {
                QueuePlace::Head => "in flight, or to be tried again",
                QueuePlace::Buffer => "in memory",
                QueuePlace::Base => "on disk",
                QueuePlace::Tail => "on disk, not merged yet",
            },
            url: queued.url.url.to_string(),
            before: queued.before,
            priority: queued.url.priority,
            depth: queued.url.depth,
            attempts: queued.url.attempts,
            is_counted: queued.url.is_counted(),
            not_before: queued.not_before,
        });
        let options = options::frontier(self.there, 1);
        self.told.host = state.look.host.as_ref().map(|host| host_of(host, state, &options, self.now));
        let support = options::support(self.there);
        self.told.round = state.look.round.filter(|_| support.is_on).map(|round| model::DomainInRound {
            number: round.number,
            supporters: support.supporters(round.supporters),
            is_of_seed: round.is_of_seed,
            pages_max: round.pages(&support.budgets),
            pages: round.used,
            robots: round.asked,
        });
    }

    fn visits(&mut self, state: Option<&State>) -> Result<(), CrawlError> {
        let visits = state.and_then(|state| state.visits.as_ref());
        self.told.recrawl = visits.map(|visits| visits.explain(self.url.as_str(), self.config)).transpose()?;
        Ok(())
    }

    fn scope(&mut self) -> Result<(), CrawlError> {
        let options = options::scope(self.config)?;
        let number = self.told.found.as_ref().map(|found| found.seed_number);
        let (mut taking_in, mut ancestor) = (None, None);
        let there = reader::for_each_listed(self.disk, self.dirs.home(), |at, seed| {
            if number == Some(at) {
                ancestor = Some(seed.url.clone());
            }
            if taking_in.is_none()
                && let Ok(seed) = CanonicalUrl::parse(&seed.url)
                && options.mode.takes_in(&seed, self.url)
            {
                taking_in = Some(seed);
            }
        })?;
        if !there {
            let note =
                "the crawl directory has no list of its seeds: it is not known whether one puts the URL in scope";
            self.told.notes.push(note.to_owned());
        }
        // a scope takes in what any of its seeds does: the one that does, and where seeds redirected to
        let usage = |e: crate::web::scope::ScopeError| CrawlError::Usage(e.to_string());
        let mut scope = Scope::new(&options, taking_in.iter()).map_err(usage)?;
        if let Some(dir) = self.dirs.shards().get(self.dirs.place_of_url(self.url)) {
            let list = ForgottenList::read(self.disk, &dir.join(layout::PAGES))?;
            scope = scope.with_rules(&scope.rules().forgetting(list.in_effect().clone().into()));
        }
        let mut add = |url: &str| {
            if let Ok(url) = CanonicalUrl::parse(url).map_err(drop)
                && options.mode.takes_in_joined(&url, self.url)
            {
                scope = scope.with_joined(&url);
            }
        };
        for dir in self.dirs.shards() {
            reader::for_each_scope(self.disk, dir, |url| add(&url))?;
        }
        let depth = self.told.found.as_ref().map(|found| found.depth);
        let hops = Hops::parse(self.told.found.as_ref().map_or("", |found| &found.hops));
        let (links, redirects) = (depth.unwrap_or(0), hops.redirects());
        let via = self.told.found.as_ref().and_then(|found| CanonicalUrl::parse(found.via.as_ref()?).ok());
        let judgement = match &via {
            Some(from) if redirects > 0 && hops.sitemaps() > 0 => scope.explain_moved(self.url, from, links, redirects),
            Some(named_by) if self.names_sitemap(named_by, &hops, links)? => {
                scope.explain_sitemap(self.url, named_by, links, redirects)
            }
            _ => scope.explain_embedded(self.url, hops.embeds(), links, redirects),
        };
        let requisite_of = match &self.told.found {
            Some(found) if scope.is_requisite(hops.embeds()) => self.archive.embedded_by(found)?,
            _ => None,
        };
        if matches!(judgement.rule, Rule::Nothing(_)) && options.requisites == Requisites::Page {
            self.told.notes.push(embedded(options.requisite_hops));
        }
        let literal = options::guard(self.config)?.refused_literal(self.url);
        let seed = match &judgement.rule {
            Rule::Seed(..) => taking_in.as_ref().map(CanonicalUrl::to_string),
            _ => None,
        };
        self.told.scope = model::Scope {
            refused: literal.map(|_| Reason::PrivateAddress).or(judgement.verdict.err()),
            rule: match literal {
                Some(address) => format!("{address} is outside the public internet and not in network.allow"),
                None => judgement.rule.to_string(),
            },
            seed,
            depth,
            requisite_of,
        };
        if let Some(found) = &mut self.told.found {
            found.seed = ancestor;
        }
        Ok(())
    }

    /// Returns whether `named_by` named the URL, found by `hops` at `depth`, as a sitemap: not as an entry of one.
    fn names_sitemap(&self, named_by: &CanonicalUrl, hops: &Hops, depth: u16) -> Result<bool, Error> {
        Ok(match hops.sitemaps() {
            0 => false,
            1 => true,
            // an index names sitemaps of its own depth, a sitemap pages one link deeper
            _ => self.archive.found(named_by)?.is_some_and(|index| index.depth == depth),
        })
    }

    /// Rules as the frontier has them, else as the store has them, else those of the archive; the archived file says
    /// which line decides, where it is the one that the rules were made of.
    fn robots(&mut self, state: Option<&State>) -> Result<(), Error> {
        let bytes_max = self.config.robots.max_bytes.as_usize();
        let archived = self.archive.robots(self.url, bytes_max)?;
        let mut told = model::Robots { obeyed: self.there.robots.obey, ..model::Robots::default() };
        let mut rules = None;
        if let Some((answer, term)) = state.and_then(|state| state.robots.as_ref()).map(|robots| robots.recorded()) {
            (told.learnt, told.expires, told.fresh) = (Some(term.from), Some(term.until), term.holds(self.now));
            match answer {
                RobotsAnswer::Rules(known) => rules = Some(RobotsRules::clone(known)),
                RobotsAnswer::Unreachable { since } => told.unreachable_since = Some(*since),
            }
        }
        let of_host = state.and_then(|state| state.look.host.as_ref()).and_then(|host| host.rules.as_ref());
        if let Some((known, until)) = of_host {
            let mut bytes = Vec::new();
            known.encode(&mut bytes);
            rules = RobotsRules::decode(&bytes).or(rules);
            told.unreachable_since = None;
            (told.expires, told.fresh) = (Some(*until), self.now < *until);
        }
        if let Some(archived) = &archived {
            told.archived = Some(archived.version.clone());
        }
        self.decide(&mut told, rules, archived.as_ref());
        self.told.robots = told;
        Ok(())
    }

    /// The deciding rule of `rules` or, where they are not known, of the archived file.
    fn decide(&self, told: &mut model::Robots, rules: Option<RobotsRules>, archived: Option<&ArchivedRobots>) {
        let agent = self.there.agent_token();
        let text = archived.and_then(|archived| archived.text.as_deref());
        if rules.is_none()
            && told.unreachable_since.is_none()
            && let Some(archived) = archived
        {
            told.learnt = Some(archived.version.time);
            told.expires = Some(archived.version.time + self.config.robots.cache);
            told.fresh = told.expires.is_some_and(|expires| self.now < expires);
            if archived.fault.is_some() {
                told.unreachable_since = Some(archived.version.time);
            } else {
                told.allowed = Some(true);
            }
        }
        let file = text.map(|text| RobotsFile::parse(agent, text));
        let is_source = |file: &RobotsFile| rules.as_ref().is_none_or(|rules| file.rules().agrees_with(rules));
        let file = file.filter(is_source);
        if let Some(line) = file.as_ref().and_then(|file| file.decide(self.url.as_str()).line) {
            told.rule = Some(line.text.clone());
            told.line = Some(line.number);
            told.group = Some(line.group.clone());
        }
        if let Some(rules) = file.as_ref().map(RobotsFile::rules).or(rules.as_ref()) {
            let politeness = options::frontier(self.there, 1).politeness;
            let forbidden = politeness.forbidden(rules, self.url.as_str());
            told.allowed = Some(forbidden.is_none());
            match rules.deciding(self.url.as_str()) {
                _ if matches!(forbidden, Some(Forbidden::CrawlDelay(_))) => {
                    (told.rule, told.line) = (Some("Crawl-delay".to_owned()), None);
                }
                Some((pattern, is_allow)) if file.is_none() => {
                    let field = if is_allow { "Allow" } else { "Disallow" };
                    told.rule = Some(format!("{field}: {}", String::from_utf8_lossy(pattern)));
                }
                _ => {}
            }
            told.crawl_delay_ms = rules.crawl_delay().map(ms);
            told.crawl_delay_beyond = politeness.is_beyond(rules.crawl_delay());
        }
        if told.unreachable_since.is_some() {
            told.unreachable_because = archived.and_then(|archived| archived.fault).map(|fault| fault.to_string());
            told.allowed = None;
        }
    }

    fn dns(&mut self, state: Option<&State>) {
        let mut told = model::Dns::default();
        let said =
            self.config.dns.hosts.addresses().find(|(name, _)| without_root(name) == without_root(self.url.host()));
        if let Some((_, list)) = said {
            (told.answer, told.by_settings, told.fresh) = (Some("found"), true, true);
            told.addresses = list.iter().map(ToString::to_string).collect();
        } else if let Some((answer, term)) =
            state.and_then(|state| state.addresses.as_ref()).map(|known| known.recorded())
        {
            told.answer = Some(match answer {
                NameAnswer::Found(list) => {
                    told.addresses = list.iter().map(ToString::to_string).collect();
                    "found"
                }
                NameAnswer::NoSuchHost => Failure::NoSuchHost.text(),
                NameAnswer::PrivateAddress => Failure::PrivateAddress.text(),
                NameAnswer::Unanswered => "no answer",
            });
            (told.learnt, told.expires, told.fresh) = (Some(term.from), Some(term.until), term.holds(self.now));
        } else if let Some(literal) = self.url.literal_address() {
            (told.answer, told.addresses, told.fresh) = (Some("found"), vec![literal.to_string()], true);
        } else if let Some((list, until)) =
            state.and_then(|state| state.look.host.as_ref()).and_then(|host| host.addresses.as_ref())
        {
            told.answer = Some("found");
            told.addresses = list.iter().map(ToString::to_string).collect();
            (told.expires, told.fresh) = (Some(*until), self.now < *until);
        }
        self.told.dns = told;
    }

    fn logs(&mut self) -> Result<(), Error> {
        let queued = self.told.queue.as_ref().map(|queue| queue.url.as_str());
        let other = self.told.fetched_as.as_deref().or(queued).filter(|other| *other != self.url.as_str());
        let own = &self.dirs.shards()[self.place];
        // what another shard found may have been skipped there
        let others = self.dirs.shards().iter().filter(|dir| *dir != own);
        for spelling in std::iter::once(self.url.as_str()).chain(other) {
            for dir in std::iter::once(own).chain(others.clone()) {
                if self.told.skipped.is_none() {
                    self.told.skipped = logs::skipped(self.disk, dir, spelling)?;
                }
            }
            if self.told.crawl_log.is_none() {
                self.told.crawl_log = logs::attempt(self.disk, own, spelling)?;
            }
        }
        if self.told.nofollow.is_none() && self.told.crawl_log.as_deref().is_some_and(logs::is_one_of_many) {
            self.told.nofollow = Some(
                "too many pages of its host say nearly the same (scope.max_pages_per_text), or it is a copy of another \
                      page (scope.learn_session_params)",
            );
        }
        Ok(())
    }
}

fn host_of(host: &HostLook, state: &State, options: &FrontierOptions, now: Time) -> model::Host {
    let standing = &host.standing;
    let hours = options.politeness.hours.as_deref();
    let known = |time: Time| (time > Time::ZERO).then_some(time);
    let crawl_delay = host.rules.as_ref().and_then(|(rules, _)| rules.crawl_delay());
    // the usual delay of its name is no back-off
    let by_name = state.look.held_until.filter(|&until| until > standing.due);
    let held = standing.backoff_until.max(by_name.unwrap_or(Time::ZERO));
    let failing =
        [(standing.failures > 0, standing.failing_since), (standing.robots_level > 0, standing.robots_failing_since)];
    model::Host {
        active: state.look.active,
        queued: state.look.urls,
        due: known(standing.due),
        hours: hours.map(Hours::to_string),
        opens: hours.map(|hours| hours.opens(now)).filter(|&opens| opens > now),
        hours_state: hours.map(|hours| hours::state(hours, now)),
        delay_ms: ms(options.politeness.delay(standing.pace, crawl_delay)),
        backoff_level: standing.backoff_level.max(standing.robots_level),
        backoff_until: known(held),
        backoff_reason: match () {
            () if standing.robots_level > 0 => Some(because(Hold::Robots, standing.blame)),
            () if standing.failures > 0 || standing.blame.is_some() => Some(because(Hold::Silence, standing.blame)),
            () if standing.backoff_level > 0 => Some(Hold::Load.to_string()),
            () => None,
        },
        blame: standing.blame.map(|blame| blame.to_string()),
        failures: standing.failures,
        failing_since: failing.iter().filter(|(fails, _)| *fails).map(|(_, since)| *since).min(),
        gone: standing.gone.map(|(_, reason)| reason),
        gone_until: standing.gone.map(|(until, _)| until).filter(|&until| until != Time::MAX),
        pages: standing.pages,
        pages_max: options.budget.pages_per_host,
        bytes: standing.bytes,
        bytes_max: options.budget.bytes_per_host,
        domain_pages: state.look.domain_pages,
        domain_pages_max: options.budget.pages_per_domain,
    }
}

/// Returns what holds a host back, with the cause where it is known.
fn because(hold: Hold, blame: Option<HostFault>) -> String {
    blame.map_or_else(|| hold.to_string(), |blame| format!("{hold}: {blame}"))
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
