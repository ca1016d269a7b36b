//! Reading the configuration again while a crawl runs: what may change, what waits for the next start, what never does.
//!
//! In effect at once: limits of the crawl, its checkpoints, scope patterns and limits, politeness, budgets, retries,
//! sites, addresses of `dns.hosts`, the identity.
//! What threads were started with (workers, time-outs, name servers, memory) waits for the next start, and what shapes
//! the disk was fixed when the crawl was created. Those that stay are named, each with the reason.

use std::path::PathBuf;
use std::sync::Arc;

use super::wire::{Change, NotChanged, SettingsChanged};
use crate::config::{self, Config};
use crate::contract::Sites;
use crate::crawl::request::GivenLimits;
use crate::crawl::sites::SiteTables;
use crate::crawl::{CrawlError, CrawlRequest, files, options};
use crate::disk::Disk;
use crate::engine::{Reconfiguration, Settings};
use crate::frontier::Treatments;
use crate::signature::Signer;
use crate::web::scope::ScopeRules;

/// Keys that shape what is on disk.
const FIXED: [&str; 4] = ["crawl.readable_by", "crawl.shards", "drum.buckets", "scope.strip_query_params"];

/// Knows where the configuration comes from, and which one is in effect.
pub(super) struct Reloader {
    dir: PathBuf,
    path: Option<PathBuf>,
    limits: GivenLimits,
    current: Config,
    /// The identity that the threads of the process were started with.
    begun_as: config::Identity,
    /// The signer of requests, or the reason for which there is none.
    signer: Result<Option<Arc<Signer>>, String>,
}

/// A configuration that may take effect.
pub(super) struct Reload {
    pub reconfiguration: Box<Reconfiguration>,
    pub settings: SettingsChanged,
    effective: Config,
    signer: Option<Arc<Signer>>,
}

impl Reloader {
    pub(super) fn new(request: &CrawlRequest) -> Self {
        Reloader {
            dir: request.dir.clone(),
            path: request.config_path.clone(),
            limits: request.limits.clone(),
            current: request.config.clone(),
            begun_as: request.config.identity.clone(),
            signer: options::signer(&request.config).map_err(|error| error.to_string()),
        }
    }

    /// Reads the file, and compares; or says why nothing changes.
    pub(super) fn read(&self) -> Result<Reload, String> {
        let Some(path) = &self.path else {
            return Err("this crawl was started without --config: there is no file to reload".to_owned());
        };
        let mut new = Config::load(Some(path)).map_err(|error| error.to_string())?;
        self.limits.apply(&mut new);
        // as at the start
        files::fit(&mut new, files::raise_limit()).map_err(|error| error.to_string())?;
        new.check().map_err(|error| error.to_string())?;
        let effective = effective(&self.current, &new);
        let signer = match effective.identity == self.current.identity {
            true => self.signer.clone()?,
            false => options::signer(&effective).map_err(|error| error.to_string())?,
        };
        let is_other = effective.identity != self.begun_as;
        let reconfiguration = reconfiguration(&effective, signer.clone(), is_other);
        let reconfiguration = reconfiguration.map_err(|error| error.to_string())?;
        let settings = SettingsChanged {
            changed: differences(&self.current, &effective),
            refused: differences(&effective, &new).into_iter().map(not_changed).collect(),
        };
        Ok(Reload { reconfiguration: Box::new(reconfiguration), settings, effective, signer })
    }

    /// Logs a reload that has taken effect, and keeps it as the settings by which later questions are answered.
    pub(super) fn took_effect(&mut self, reload: Reload) -> SettingsChanged {
        let Reload { settings, effective, signer, .. } = reload;
        for Change { key, old, new } in &settings.changed {
            tracing::info!("reload: {key}: {old} -> {new}");
        }
        for NotChanged { key, why } in &settings.refused {
            tracing::warn!("reload: {key} {why}");
        }
        (self.current, self.signer) = (effective, Ok(signer));
        if let Err(error) = options::write_copy(&self.current, &Disk::real(), &self.dir) {
            tracing::warn!("reload: the copy of the settings was not updated: {error}");
        }
        settings
    }
}

fn not_changed(Change { key, .. }: Change) -> NotChanged {
    let why = if FIXED.contains(&key.as_str()) {
        "was fixed when this crawl was created, and cannot change"
    } else {
        "takes effect when the crawl is started again"
    };
    NotChanged { key, why: why.to_owned() }
}

/// `current` with everything of `new` that a running crawl can change to.
fn effective(current: &Config, new: &Config) -> Config {
    Config {
        crawl: config::Crawl {
            user_agent: current.crawl.user_agent.clone(),
            contact: current.crawl.contact.clone(),
            purpose: current.crawl.purpose.clone(),
            readable_by: current.crawl.readable_by,
            shards: current.crawl.shards,
            memory: current.crawl.memory,
            ..new.crawl.clone()
        },
        scope: config::Scope {
            mode: current.scope.mode,
            max_url_length: current.scope.max_url_length,
            max_links_per_page: current.scope.max_links_per_page,
            strip_query_params: current.scope.strip_query_params.clone(),
            // what pages say is compared from the start on, or not
            max_pages_per_text: current.scope.max_pages_per_text,
            learn_session_params: current.scope.learn_session_params,
            favicon: current.scope.favicon,
            licenses: current.scope.licenses,
            script_files: current.scope.script_files,
            json_links: current.scope.json_links,
            text_links: current.scope.text_links,
            llms_txt: current.scope.llms_txt,
            markdown_twins: current.scope.markdown_twins,
            content_first: current.scope.content_first,
            lazy_attributes: current.scope.lazy_attributes.clone(),
            ..new.scope.clone()
        },
        politeness: new.politeness.clone(),
        budget: config::Budget {
            by_supporters: current.budget.by_supporters,
            round_pages_min: current.budget.round_pages_min,
            round_pages_max: current.budget.round_pages_max,
            round_top_domains: current.budget.round_top_domains,
            supporters_by_network: current.budget.supporters_by_network,
            supporters_by_standing: current.budget.supporters_by_standing,
            ..new.budget.clone()
        },
        fetch: config::Fetch { retries: new.fetch.retries, ..current.fetch.clone() },
        kinds: config::Kinds { retries: new.kinds.retries.clone(), ..current.kinds.clone() },
        dns: config::Dns { hosts: new.dns.hosts.clone(), ..current.dns.clone() },
        site: new.site.clone(),
        identity: new.identity.clone(),
        ..current.clone()
    }
}

/// Returns what `config` changes in an engine, with requests signed by `signer`; `is_other` where the identity is not
/// the one with which the process began.
fn reconfiguration(
    config: &Config,
    signer: Option<Arc<Signer>>,
    is_other: bool,
) -> Result<Reconfiguration, CrawlError> {
    let tables = match is_other {
        true => Some(SiteTables::of_new_identity(config, signer)?),
        false => SiteTables::of(config, signer)?,
    };
    // the number of partitions is not looked at
    let frontier = options::frontier(config, 1);
    Ok(Reconfiguration {
        settings: Settings {
            sites: tables.clone().map(|tables| tables as Arc<dyn Sites>),
            ..options::settings(config)
        },
        politeness: frontier.politeness,
        budget: frontier.budget,
        treatments: tables.map(|tables| tables as Arc<dyn Treatments>),
        give_up: frontier.give_up,
        rules: ScopeRules::compile(&options::scope(config)?).map_err(|error| CrawlError::Usage(error.to_string()))?,
    })
}

fn differences(old: &Config, new: &Config) -> Vec<Change> {
    let sites = (old.site != new.site).then(|| Change { key: "site".to_owned(), old: tables(old), new: tables(new) });
    let names = |config: &Config| config.sink.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let sinks = (old.sink != new.sink).then(|| Change { key: "sink".to_owned(), old: names(old), new: names(new) });
    let watched = |config: &Config| config.watch.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let watches =
        (old.watch != new.watch).then(|| Change { key: "watch".to_owned(), old: watched(old), new: watched(new) });
    let (old, new) = (old.entries(), new.entries());
    let pairs = old.into_iter().zip(new).filter(|(old, new)| old != new);
    let keys = pairs.map(|((key, old), (_, new))| Change { key, old, new });
    keys.chain(sites).chain(sinks).chain(watches).collect()
}

/// Returns the number of tables of sites in words, as the value of a setting.
fn tables(config: &Config) -> String {
    format!("{} tables", config.site.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_running_crawl_can_change_to_is_told_from_what_it_cannot() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("crawler.toml");
        // as the command line has it, which the file has not
        let (console, log_format) = (Some("127.0.0.1:0".to_owned()), Some(config::LogFormat::Json));
        let limits = GivenLimits { max_pages: Some(9), console, log_format, ..GivenLimits::default() };
        let mut current = Config::default();
        limits.apply(&mut current);
        assert_eq!((current.crawl.max_pages, current.report.log_format), (Some(9), config::LogFormat::Json));
        let reloader = |config: &str| {
            std::fs::write(&path, config).unwrap();
            Reloader {
                dir: dir.path().to_owned(),
                path: Some(path.clone()),
                limits: limits.clone(),
                current: current.clone(),
                begun_as: config::Identity::default(),
                signer: Ok(None),
            }
        };
        let mut unchanged = reloader("[crawl]\nmax_pages = 5\n");
        let reload = unchanged.read().unwrap();
        assert_eq!(reload.settings, SettingsChanged::default(), "the command line has the last word");
        let config = "[scope]\nexclude = [\"/x/\"]\nstrip_query_params = []\n[politeness]\ndelay_min = \"7s\"\n\
                      [drum]\nbuckets = 128\n[fetch]\nworkers = 3\nretries = 1\n\
                      [sink.s]\nkind = \"solr\"\nurl = \"http://127.0.0.1:8983\"\n";
        let mut changed = reloader(config);
        let reload = changed.read().unwrap();
        let keys: Vec<&str> = reload.settings.changed.iter().map(|change| change.key.as_str()).collect();
        assert_eq!(keys, ["scope.exclude", "politeness.delay_min", "fetch.retries"]);
        assert_eq!((&*reload.settings.changed[1].old, &*reload.settings.changed[1].new), ("\"1s\"", "\"7s\""));
        let refused: Vec<(&str, bool)> = reload
            .settings
            .refused
            .iter()
            .map(|setting| (setting.key.as_str(), setting.why.contains("was fixed")))
            .collect();
        let expected =
            [("scope.strip_query_params", true), ("fetch.workers", false), ("drum.buckets", true), ("sink", false)];
        assert_eq!(refused, expected);
        assert!(reload.reconfiguration.rules.excludes("http://a.example/x/y"));
        changed.took_effect(reload);
        assert!(changed.read().unwrap().settings.changed.is_empty());
        let copy = options::read_copy(&Disk::real(), dir.path()).unwrap().unwrap();
        assert_eq!((copy.fetch.retries, copy.fetch.workers), (1, Config::default().fetch.workers));
        unchanged.path = None;
        assert!(unchanged.read().is_err_and(|why| why.contains("without --config")));
    }

    #[test]
    fn a_file_that_cannot_be_used_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("crawler.toml");
        let reloader = Reloader {
            dir: dir.path().to_owned(),
            path: Some(path.clone()),
            limits: GivenLimits::default(),
            current: Config::default(),
            begun_as: config::Identity::default(),
            signer: Ok(None),
        };
        assert!(reloader.read().is_err_and(|why| why.contains("crawler.toml")));
        for (text, said) in [
            ("[crawl]\nmax_page = 5\n", "max_pages"),
            ("[scope]\nexclude = [\"(\"]\n", "scope.exclude"),
            ("[politeness]\ndelay_min = 1\n", "delay_min"),
        ] {
            std::fs::write(&path, text).unwrap();
            let why = reloader.read().err().unwrap();
            assert!(why.contains(said), "{why}");
        }
    }
}
