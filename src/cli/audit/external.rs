//! The check of external links: a separate crawl in `OUTPUT/external`, whose seeds they are.
//!
//! | file | is |
//! |---|---|
//! | `external/` | the crawl directory of the check |
//! | `external.toml` | its settings |
//! | `external-seeds.txt` | its seeds; removed once the check is complete |
//!
//! So the list of seeds says whether a check is unfinished. The same command goes on with such a check, if it began
//! within a day; else what it knew is too old. In every other case a new check begins, and the crawl directory of
//! the last one is removed, since the report that was made of it is about to be replaced as well.
//!
//! The check is as polite as the crawl was: it has its identity, its delays and its network. What is meant for the
//! crawl's own servers (logins, headers, cookies, `robots.obey = false`) stays with it.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::super::CrawlFn;
use super::super::exit::Exit;
use super::super::run::{self, Standing};
use crate::archive;
use crate::audit::{Audit, REDIRECTS_MAX};
use crate::checkpoint::Identity;
use crate::clock::{Clock, SystemClock};
use crate::config::{Bytes, Config, Site};
use crate::crawl::extent::Extent;
use crate::crawl::{CrawlError, CrawlRequest, GivenLimits, Verbosity, signals};
use crate::disk::{Aside, Disk, Error};
use crate::record::Finish;
use crate::report::Screen;
use crate::text::figures::counted;
use crate::web::scope::{Requisites, ScopeMode};

/// An unfinished check that is younger goes on.
const RESUMED: Duration = Duration::from_secs(24 * 3_600);
/// Bytes that are kept of a body: only status and head of an answer are of interest.
const BODY_BYTES: Bytes = Bytes::kib(4);
/// A host that cannot be reached for this long is believed to be gone.
const GIVE_UP: Duration = Duration::from_secs(120);
/// Number of path segments that no URL has.
const SEGMENTS: usize = 100_000;
/// Attempts after the first.
const RETRIES: u8 = 2;

/// A check of external links.
pub(super) struct Check<'a> {
    /// The audited crawl.
    pub dir: &'a Path,
    /// Directory for the files of the audit.
    pub output: &'a Path,
    /// Settings in the place of the settings of the last run.
    pub config: Option<&'a Path>,
    /// The check ends after this long.
    pub time_max: Option<Duration>,
}

impl Check<'_> {
    /// Fetches the external links of `audit`, and reports the results to it. Returns how the command ends because of
    /// it.
    pub(crate) fn run(
        &self,
        audit: &mut Audit,
        crawl: CrawlFn,
        faulty: &mut dyn FnMut(archive::Error),
    ) -> anyhow::Result<Exit> {
        let extent = Extent::read(self.dir)?;
        let own = self.config.map(|path| Config::load(Some(path))).transpose()?;
        let mut config = settings(own.as_ref().unwrap_or(&extent.config), &extent.strip_query_params);
        config.crawl.max_time = self.time_max;
        config.check()?;
        let goes_on = self.make_room()?;
        let urls = self.list(audit, &extent)?;
        if urls == 0 {
            self.is_complete()?;
            return Ok(Exit::Done);
        }
        let screen = Screen::stderr();
        run::log_to(&screen, Verbosity::Normal, config.report.log_format, None)?;
        // without a handler the signal ends the process, which is what happens where there can be none
        let _ = signals::survive_checkpoint_signal();
        let again = if goes_on { "; the check that was stopped goes on" } else { "" };
        screen.print(&format!("checking {}{again}\n", counted(urls, "external URL")));
        let finish = match crawl(self.request(config, screen)?) {
            // all of them are broken
            Err(CrawlError::NothingFetched(_)) => Finish::Complete,
            finish => finish?,
        };
        let is_whole = matches!(finish, Finish::Complete | Finish::OnlySilentHosts);
        audit.checked(&self.place(), (!is_whole).then(|| finish.to_string()), faulty)?;
        // one whose time is over would have none left
        if is_whole || finish == Finish::TimeLimit {
            self.is_complete()?;
        }
        end_by_interrupt();
        Ok(Exit::from(finish))
    }

    fn place(&self) -> PathBuf {
        self.output.join("external")
    }

    fn seeds(&self) -> PathBuf {
        self.output.join("external-seeds.txt")
    }

    /// Returns whether an unfinished check goes on. The files of one that does not are removed.
    fn make_room(&self) -> anyhow::Result<bool> {
        let place = self.place();
        if run::standing(&place)? == Standing::New {
            return Ok(false);
        }
        let begun = Identity::read_copy(&Disk::real(), &place).map(|identity| identity.created);
        let is_young = begun.is_ok_and(|begun| SystemClock::new().now().since(begun) < RESUMED);
        if self.seeds().exists() && is_young {
            return Ok(true);
        }
        // under another name first: what is left of a removal that was cut short is not taken for a check
        let aside = run::move_aside(&place, SystemClock::new().now())?;
        fs::remove_dir_all(&aside).map_err(|error| Error::io("remove", &aside, error))?;
        Ok(false)
    }

    /// Writes the seeds, and says how many they are.
    fn list(&self, audit: &mut Audit, extent: &Extent) -> anyhow::Result<u64> {
        let path = self.seeds();
        let fault = |error: io::Error| Error::io("write", &path, error);
        let mut out = BufWriter::new(Aside::create(&path)?);
        let urls = audit.external(&|url| extent.is_outside(url), &mut out).map_err(super::refusal)?;
        out.into_inner().map_err(|error| fault(error.into_error()))?.into_place()?;
        Ok(urls)
    }

    fn is_complete(&self) -> anyhow::Result<()> {
        let path = self.seeds();
        fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        Ok(())
    }

    fn request(&self, config: Config, screen: Screen) -> anyhow::Result<CrawlRequest> {
        // a crawl that is stopped says which command goes on with it
        let path = self.output.join("external.toml");
        Aside::put(&path, config.to_toml().as_bytes())?;
        Ok(CrawlRequest {
            config,
            config_path: Some(path),
            limits: GivenLimits { max_time: self.time_max, ..GivenLimits::default() },
            seeds: run::read_seeds(&self.seeds())?,
            seeds_path: Some(self.seeds()),
            urls: Vec::new(),
            dir: self.place(),
            force: false,
            until_fresh: false,
            json_path: None,
            verbosity: Verbosity::Normal,
            warnings: None,
            screen,
        })
    }
}

/// The settings of a check of what the crawl with the settings `own` links to.
fn settings(own: &Config, strip_query_params: &[String]) -> Config {
    let mut config = Config {
        identity: own.identity.clone(),
        politeness: own.politeness.clone(),
        network: own.network.clone(),
        dns: own.dns.clone(),
        site: own.site.iter().map(site).collect(),
        ..Config::default()
    };
    let (crawl, fetch, scope) = (&mut config.crawl, &mut config.fetch, &mut config.scope);
    crawl.user_agent.clone_from(&own.crawl.user_agent);
    crawl.contact.clone_from(&own.crawl.contact);
    (crawl.disk_floor, crawl.readable_by) = (own.crawl.disk_floor, own.crawl.readable_by);
    (crawl.max_depth, crawl.checkpoint_interval) = (Some(0), own.crawl.checkpoint_interval);

    fetch.accept_language.clone_from(&own.fetch.accept_language);
    fetch.proxy.clone_from(&own.fetch.proxy);
    fetch.ca_file.clone_from(&own.fetch.ca_file);
    (fetch.timeout_connect, fetch.timeout_head) = (own.fetch.timeout_connect, own.fetch.timeout_head);
    (fetch.timeout_total, fetch.http2) = (own.fetch.timeout_total, own.fetch.http2);
    (fetch.retries, fetch.max_body) = (own.fetch.retries.min(RETRIES), BODY_BYTES);

    // nothing is followed but redirects
    (scope.mode, scope.requisites, scope.favicon) = (ScopeMode::Any, Requisites::Scope, false);
    scope.licenses = false;
    (scope.max_links_per_page, scope.max_redirects) = (1, REDIRECTS_MAX);
    (scope.max_path_segments, scope.max_repeated_segments) = (SEGMENTS, SEGMENTS);
    scope.max_urls_per_pattern = None;
    scope.max_url_length = own.scope.max_url_length;
    scope.strip_query_params = strip_query_params.to_vec();
    (config.robots.sitemaps, config.robots.cache) = (false, own.robots.cache);
    (config.budget.pages_per_host, config.budget.pages_per_domain) = (None, None);

    // a server that refuses is not asked until it gives in, and its other pages are checked all the same
    config.kinds.retries.0.clear();
    // a host that is gone is known to be so before the check ends
    config.politeness.give_up = own.politeness.give_up.min(GIVE_UP);
    config.politeness.linger = own.politeness.linger.max(2 * GIVE_UP);
    config.container.request_records = false;
    config
}

/// Returns those settings of a site that also hold where others than its owner are asked: those of the sections from
/// which a check takes anything.
fn site(own: &Site) -> Site {
    let of_requests =
        ["crawl.user_agent", "fetch.accept_language", "fetch.proxy", "fetch.timeout_head", "fetch.timeout_total"];
    own.keeping(|key| {
        matches!(key.section(), Some("politeness" | "identity")) || of_requests.iter().any(|of| key.sets(of))
    })
}

/// Lets an interrupt end the process at once from here on, though the crawl has caught those before: what is written
/// now is written again by the next audit.
fn end_by_interrupt() {
    // where it cannot be heard, the report is written to its end
    let _ = thread::Builder::new().name("interrupt".into()).spawn(|| {
        if signals::wait_for_interrupt().is_ok() {
            std::process::exit(Exit::Stopped as i32);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::RenderMode;

    const OWN: &str = "[crawl]\nuser_agent = \"mine/2\"\ncontact = \"https://a.example/bot\"\nmax_depth = 9\n\
        [politeness]\ndelay_min = \"7s\"\n[robots]\nobey = false\n[fetch]\nheaders = { X-Own = \"1\" }\ncookies = \
        \"session\"\nproxy = \"http://user:sesame@127.0.0.1:3128\"\n[network]\nallow = [\"10.0.0.0/8\"]\n[[site]]\n\
        host = \"a.example\"\ndelay_min = \"9s\"\nobey = false\nuser_agent = \"other\"\nheaders = { X-Key = \
        \"${KEY}\" }\nauth = { user = \"me\", password = \"${PASSWORD}\" }\nrender = \"always\"\n";

    #[test]
    fn a_check_is_as_polite_as_the_crawl_and_keeps_to_itself_what_is_for_the_crawls_own_servers() {
        let own = Config::parse(OWN, "own.toml").unwrap();
        let config = settings(&own, &["sid".to_owned()]);
        config.check().unwrap();
        assert_eq!(config.user_agent(), "mine/2 (+https://a.example/bot)");
        assert_eq!((config.politeness.delay_min, &config.network), (Duration::from_secs(7), &own.network));
        assert_eq!((config.crawl.max_depth, config.robots.obey, config.robots.sitemaps), (Some(0), true, false));
        assert_eq!(config.scope.strip_query_params, ["sid"]);
        let site = &config.site[0];
        assert_eq!((site.delay_min, site.user_agent.as_deref()), (Some(Duration::from_secs(9)), Some("other")));
        assert_eq!((&site.auth, &site.headers, site.obey), (&None, &None, None));
        assert_eq!((site.render, config.render.mode), (None, RenderMode::Off), "what others serve is enough");
        let written = config.to_toml();
        let read = Config::parse(&written, "external.toml").unwrap();
        assert_eq!(read, config.without_secrets(), "what is written gives the same settings");
        assert!(["sesame", "X-Own", "\"session\""].iter().all(|secret| !written.contains(secret)), "{written}");
    }
}
