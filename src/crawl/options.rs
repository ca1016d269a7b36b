//! The configuration, turned into the options of each part once.
//!
//! What shapes the disk (buckets, partitions, parameters left out of keys) is fixed when the crawl is created: a
//! configuration that says otherwise later changes nothing there, and the operator is informed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::files::{IDLE_CONNECTIONS_MAX, WORKERS_MOST};
use super::sites::{self, SiteTables};
use super::treatment;
use super::{CrawlError, CrawlRequest, documents, rendering};
use crate::checkpoint::{Identity, Shape, begin};
use crate::clock::Time;
use crate::config::{self, Config, RecrawlChange, RecrawlMode, Site};
use crate::container::{ContainerOptions, RetentionOptions, WarcInfo};
use crate::contract::{Retries, Sites};
use crate::disk::{self, Disk, Readers};
use crate::drum::{DrumOptions, FrontOptions, PaceOptions};
use crate::engine::{AnswerSettings, Settings, SlotOptions, SupportOptions, WORKERS_START};
use crate::fetch::{FetchOptions, Permission};
use crate::frontier::{FrontierOptions, RoundBudgets};
use crate::process::ProcessOptions;
use crate::record::layout;
use crate::signature::{Signer, SignerOptions, SigningKey, SystemNonces};
use crate::web::address::{AddressGuard, Cidr};
use crate::web::kind::Kinds;
use crate::web::name_server::NameServerError;
use crate::web::scope::{ScopeMode, ScopeOptions};
use crate::web::url::KeyMaker;

/// A graceful stop waits this long for requests in progress.
const STOP_GRACE: Duration = Duration::from_secs(20);
/// Certificates in `fetch.ca_file`; a store of the whole web's has some 150.
const CA_CERTIFICATES_MAX: usize = 4_096;

/// Puts a copy of the settings into the crawl directory, for those who explain later what this run decides. Secrets
/// stay out of it.
pub(super) fn write_copy(config: &Config, disk: &Disk, dir: &Path) -> disk::Result<()> {
    let mut json = serde_json::to_vec_pretty(config).expect("a configuration consists of plain data");
    json.push(b'\n');
    disk.replace(&dir.join(layout::SETTINGS), &json)
}

/// The settings of the last run of the crawl in `dir`, keys that its version did not have by their defaults; `None`
/// where there is no copy, or one that is damaged or has a value that this version does not know.
pub(super) fn read_copy(disk: &Disk, dir: &Path) -> disk::Result<Option<Config>> {
    match disk.read(dir.join(layout::SETTINGS)) {
        Ok(json) => Ok(serde_json::from_slice(&json).ok()),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The settings that the crawl in `dir` was run with last, if their copy can be read.
pub(crate) fn copied_config(dir: &Path) -> disk::Result<Option<Config>> {
    read_copy(&Disk::real(), dir)
}

/// The crawl's fingerprints: the key maker of the crawl in `dir`.
pub fn key_maker(dir: &Path) -> Result<KeyMaker, CrawlError> {
    let identity = Identity::read_copy(&Disk::real(), dir).map_err(|error| match error.is_not_found() {
        true => CrawlError::Usage(format!("{}: the crawl has just begun, and nothing is known yet", dir.display())),
        false => error.into(),
    })?;
    Ok(identity.key_maker())
}

/// Returns the guard of the addresses that may be connected to.
pub(super) fn guard(config: &Config) -> Result<AddressGuard, CrawlError> {
    let parse =
        |text: &String| text.parse::<Cidr>().map_err(|e| CrawlError::Usage(format!("network.allow: {text}: {e}")));
    let allowed: Vec<Cidr> = config.network.allow.iter().map(parse).collect::<Result<_, _>>()?;
    Ok(AddressGuard::new(&allowed))
}

/// The identity of the crawl in the directory, made now for a new one.
pub(super) fn identity(request: &CrawlRequest, disk: &Disk, now: Time) -> disk::Result<(Identity, bool)> {
    let config = &request.config;
    let (identity, is_new) = begin::begin(disk, &request.dir, now, random(), shape(config))?;
    tell_fixed(&identity, config);
    Ok((identity, is_new))
}

/// The shape of a crawl, or of a shard whose share of the settings `config` is.
pub(super) fn shape(config: &Config) -> Shape<'_> {
    Shape {
        buckets: config.drum.buckets,
        partitions: FrontierOptions::default().partitions,
        strip_query_params: &config.scope.strip_query_params,
    }
}

/// Returns a random number, from which a crawl gets its polynomial and its id.
pub(super) fn random() -> u128 {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the operating system has randomness");
    u128::from_le_bytes(random)
}

/// Warns of settings that are other than those with which the crawl was created; `config` is a shard's share of them.
pub(super) fn tell_fixed(identity: &Identity, config: &Config) {
    let fixed = [
        ("drum.buckets", identity.buckets == config.drum.buckets),
        ("scope.strip_query_params", identity.strip_query_params == config.scope.strip_query_params),
    ];
    for (key, same) in fixed {
        if !same {
            tracing::warn!("{key} was fixed when this crawl was created; the configured value is ignored");
        }
    }
}

/// Options of the network side.
pub(super) fn fetch(config: &Config, dir: &Path) -> Result<FetchOptions, CrawlError> {
    let fetch = &config.fetch;
    let server = |text: &String| {
        text.parse().map_err(|error: NameServerError| CrawlError::Usage(format!("dns.nameservers: {error}")))
    };
    Ok(FetchOptions {
        usual: Arc::new(sites::request(config, signer(config)?.as_ref())),
        timeout_connect: fetch.timeout_connect,
        rate_min: fetch.rate_min.get(),
        body_max: sites::body_max(config),
        spool_dir: dir.to_owned(),
        spool_max: fetch.spool_max.as_usize(),
        http2: fetch.http2,
        connections_per_host: config.politeness.connections_per_host,
        idle_max: IDLE_CONNECTIONS_MAX,
        roots: if fetch.ca_file.is_empty() { Vec::new() } else { roots(Path::new(&fetch.ca_file))? },
        nameservers: config.dns.nameservers.iter().map(server).collect::<Result<_, _>>()?,
        dns_timeout: config.dns.timeout,
        ttl: (config.dns.ttl_min, config.dns.ttl_max),
        negative_ttl: config.dns.negative_ttl,
        lease: Permission::default(),
    })
}

/// Returns the signer of requests, with the key in `identity.key_file`; `None` where there is no key.
pub(super) fn signer(config: &Config) -> Result<Option<Arc<Signer>>, CrawlError> {
    let identity = &config.identity;
    if identity.key_file.is_empty() {
        return Ok(None);
    }
    let key = SigningKey::load(Path::new(&identity.key_file));
    let key = key.map_err(|error| CrawlError::Usage(format!("identity.key_file: {error}")))?;
    let options = SignerOptions {
        agent: identity.signature_agent.clone(),
        form: identity.signature_agent_form,
        components: identity.components.clone(),
        lifetime: identity.expires,
    };
    Ok(Some(Arc::new(Signer::new(Arc::new(key), options, Arc::new(SystemNonces)))))
}

/// The certificates of `fetch.ca_file`.
fn roots(path: &Path) -> Result<Vec<CertificateDer<'static>>, CrawlError> {
    let fault = |problem: &dyn std::fmt::Display| {
        CrawlError::Usage(format!(
            "fetch.ca_file: {}: {problem}; it must hold root certificates in PEM, from -----BEGIN CERTIFICATE----- on",
            path.display()
        ))
    };
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|e| fault(&e))?.take(CA_CERTIFICATES_MAX + 1).collect();
    match certificates.map_err(|e| fault(&e))? {
        none if none.is_empty() => Err(fault(&"no certificate in it")),
        many if many.len() > CA_CERTIFICATES_MAX => Err(fault(&"too many certificates")),
        certificates => Ok(certificates),
    }
}

/// Options of processing.
pub(super) fn process(config: &Config, keys: Arc<KeyMaker>, guard: AddressGuard) -> Result<ProcessOptions, CrawlError> {
    Ok(ProcessOptions {
        keys,
        agent_token: config.agent_token().to_owned(),
        links_max: config.scope.max_links_per_page,
        url_bytes_max: config.scope.max_url_length,
        decoded_max: config.fetch.max_body.as_usize(),
        robots_bytes_max: config.robots.max_bytes.as_usize(),
        sitemaps_max: if config.robots.sitemaps { config.robots.max_sitemaps } else { 0 },
        respect_nofollow: config.robots.respect_nofollow,
        lazy_attributes: config.scope.lazy_attributes.clone(),
        script_files: config.scope.script_files,
        json_links: config.scope.json_links,
        text_links: config.scope.text_links,
        llms_txt: config.scope.llms_txt,
        markdown_twins: config.scope.markdown_twins,
        content_first: config.scope.content_first,
        favicon: config.scope.favicon,
        licenses: config.scope.licenses,
        request_records: config.container.request_records,
        text_digests: config.recrawl.mode != RecrawlMode::Off && config.recrawl.change == RecrawlChange::Text,
        likenesses: config.scope.max_pages_per_text.is_some(),
        learn_session_params: config.scope.learn_session_params,
        compression: config.container.compression,
        guard,
        dedup: None,
        kinds: kinds(config)?,
        asks_missing: config.kinds.judge && config.kinds.ask_missing,
        kinds_without_links: config.kinds.no_links.clone(),
        documents: documents::readers(config),
        // it makes no requests
        sites: SiteTables::of(config, None)?.map(|tables| tables as Arc<dyn Sites>),
    })
}

/// The rules by which answers are judged, unless that is switched off.
fn kinds(config: &Config) -> Result<Option<Arc<Kinds>>, CrawlError> {
    if !config.kinds.judge {
        return Ok(None);
    }
    let kinds = Kinds::new(&config.kinds.rules);
    kinds.map(|kinds| Some(Arc::new(kinds))).map_err(|error| CrawlError::Usage(format!("kinds.rules: {error}")))
}

pub(super) fn drum(config: &Config, buckets: usize) -> DrumOptions {
    DrumOptions {
        buckets,
        ram_per_bucket: config.drum.ram_per_bucket.as_usize(),
        merge_threshold: config.drum.merge_threshold.get(),
        merge_memory: config.drum.merge_memory.get(),
    }
}

pub(super) fn seen_front(config: &Config) -> FrontOptions {
    FrontOptions {
        lru_entries: config.seen.lru_entries,
        bloom_memory: config.seen.bloom_memory.as_usize(),
        bloom_fpr: config.seen.bloom_fpr,
    }
}

pub(super) fn container(config: &Config, crawl_id: u128) -> ContainerOptions {
    ContainerOptions {
        segment_bytes: config.container.segment_bytes.get(),
        compression: config.container.compression,
        digest_memory: config.container.digest_memory.as_usize(),
        slot_memory: config.container.slot_memory.as_usize(),
        crawl_id,
        // key records must stay as they are while they are shipped
        retention: RetentionOptions {
            keep: config.container.keep,
            while_crawling: !ships(config),
            ..RetentionOptions::default()
        },
    }
}

/// Returns the settings that decide what answers say: where they are others than in the run before, some are asked for
/// again.
pub(super) fn answer_settings(config: &Config) -> AnswerSettings {
    AnswerSettings { names: name_settings(config), robots: robots_settings(config) }
}

/// Returns those by which robots.txt files are read, of all hosts and of those with a table of their own.
fn robots_settings(config: &Config) -> String {
    let usual = format!("{} {} {:?}", config.robots.obey, config.agent_token(), config.robots.max_bytes);
    // of each setting the first table counts, so one that says the usual hides another
    let says_it = |site: &&Site| site.obey.is_some() || site.user_agent.is_some();
    let said = |site: &Site| {
        let Site { host, domain, prefix, pattern, obey, user_agent, .. } = site;
        format!("{host:?} {domain:?} {prefix:?} {pattern:?} {obey:?} {user_agent:?}\n")
    };
    let tables: String = config.site.iter().filter(says_it).map(said).collect();
    format!("{usual} {:08x}", crc32fast::hash(tables.as_bytes()))
}

/// Returns those that decide which addresses a name has.
fn name_settings(config: &Config) -> String {
    let (dns, allow) = (&config.dns, &config.network.allow);
    let hosts = if dns.hosts.0.is_empty() { String::new() } else { format!(" {:?}", dns.hosts.0) };
    format!("{:?} {allow:?}{hosts}", dns.nameservers)
}

/// Returns how often URLs are asked for again.
pub(super) fn retries(config: &Config) -> Retries {
    let of_kinds = config.kinds.retries.0.iter().map(|(kind, retries)| (*kind, *retries)).collect();
    Retries { usual: config.fetch.retries, of_kinds }
}

/// Returns the number of requests that may be in progress.
pub(super) fn slots(config: &Config) -> SlotOptions {
    let fetch = &config.fetch;
    let (workers, workers_most) = match fetch.workers {
        config::Workers::Fixed(workers) => (workers, None),
        config::Workers::Auto => (WORKERS_START, Some(WORKERS_MOST)),
    };
    SlotOptions { workers, workers_most, slow: fetch.slow_workers, slow_after: fetch.slow_after }
}

pub(super) fn settings(config: &Config) -> Settings {
    let crawl = &config.crawl;
    Settings {
        slots: slots(config),
        retries: retries(config),
        pages_max: crawl.max_pages,
        bytes_max: crawl.max_bytes.map(config::Bytes::get),
        time_max: crawl.max_time,
        checkpoint_interval: if ships(config) { config.cluster.commit_interval } else { crawl.checkpoint_interval },
        behind_max: ships(config).then_some(config.cluster.behind_max),
        disk_floor: crawl.disk_floor.get(),
        urls_per_pattern: config.scope.max_urls_per_pattern,
        pages_per_text: config.scope.max_pages_per_text,
        learn_session_params: config.scope.learn_session_params,
        purpose: crawl.purpose.clone(),
        follow_seed_redirects: config.scope.follow_seed_redirects,
        obey_robots: config.robots.obey,
        sites: None,
        hosts: config.dns.hosts.addresses().collect(),
        rendering: rendering::settings(config),
        robots_cache: config.robots.cache,
        negative_ttl: config.dns.negative_ttl,
        merge_pace: PaceOptions {
            share: config.drum.merge_share,
            bytes_per_second: config.drum.merge_bandwidth.map(config::Bytes::get),
        },
        linger: config.politeness.linger,
        stop_grace: STOP_GRACE,
        requests_per_second: config.politeness.requests_per_second,
        bytes_per_second: config.politeness.bytes_per_second.map(config::Bytes::get),
    }
}

/// Returns the users who may read the crawl directory, if it is made.
pub(super) fn readers(config: &Config) -> Readers {
    match config.crawl.readable_by {
        config::ReadableBy::Owner => Readers::Owner,
        config::ReadableBy::Group => Readers::Group,
        config::ReadableBy::All => Readers::All,
    }
}

/// True if checkpoints are shipped to a store.
pub(super) fn ships(config: &Config) -> bool {
    config.cluster.store != "off"
}

/// The rules of the scope.
pub(super) fn scope(config: &Config) -> Result<ScopeOptions, CrawlError> {
    let scope = &config.scope;
    Ok(ScopeOptions {
        mode: scope.mode,
        include: scope.include.clone(),
        exclude: scope.exclude.clone(),
        max_url_length: scope.max_url_length,
        max_path_segments: scope.max_path_segments,
        max_repeated_segments: scope.max_repeated_segments,
        max_redirects: scope.max_redirects,
        max_depth: config.crawl.max_depth,
        requisites: scope.requisites,
        requisite_hops: scope.requisite_hops,
        sites: sites::scopes(config)?,
    })
}

pub(super) fn frontier(config: &Config, partitions: usize) -> FrontierOptions {
    let treatment = treatment::of(config);
    FrontierOptions {
        partitions,
        memory: config.frontier.memory.as_usize(),
        active_hosts: config.frontier.active_hosts,
        politeness: treatment.politeness,
        budget: treatment.budget,
        give_up: config.politeness.give_up,
        due_share: config.recrawl.share as f32,
        ..FrontierOptions::default()
    }
}

/// Returns how supporters of domains are counted, and what they are worth.
pub(super) fn support(config: &Config) -> SupportOptions {
    let budget = &config.budget;
    let shards = config.crawl.shards.max(1) as u64;
    SupportOptions {
        budgets: RoundBudgets {
            pages_min: budget.round_pages_min,
            pages_max: budget.round_pages_max,
            // each shard knows the supporters of its own domains
            top_domains: budget.round_top_domains.div_ceil(shards),
            are_kept: true,
        },
        by_network: budget.supporters_by_network,
        by_standing: budget.supporters_by_standing,
        is_on: match budget.by_supporters {
            config::BySupporters::Auto => config.scope.mode == ScopeMode::Any,
            config::BySupporters::On => true,
            config::BySupporters::Off => false,
        },
    }
}

pub(super) fn warcinfo(config: &Config) -> WarcInfo {
    WarcInfo {
        software: concat!("crawler/", env!("CARGO_PKG_VERSION")).to_owned(),
        fields: vec![
            ("http-header-user-agent".to_owned(), config.user_agent()),
            ("robots".to_owned(), if config.robots.obey { "obey" } else { "ignore" }.to_owned()),
        ],
        config: config.to_toml(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_configuration_every_part_has_its_own_default() {
        let config = Config::default();
        let (frontier_default, drum_default) = (FrontierOptions::default(), DrumOptions::default());
        let made = [
            format!("{:?}", frontier(&config, frontier_default.partitions)),
            format!("{:?}", drum(&config, config.drum.buckets)),
            format!("{:?}", seen_front(&config)),
            format!("{:?}", container(&config, 0)),
            format!("{:?}", scope(&config).unwrap()),
            format!("{:?}", settings(&config).merge_pace),
        ];
        let own = [
            format!("{frontier_default:?}"),
            format!("{drum_default:?}"),
            format!("{:?}", FrontOptions::default()),
            format!("{:?}", ContainerOptions::default()),
            format!("{:?}", ScopeOptions::default()),
            format!("{:?}", PaceOptions::default()),
        ];
        assert_eq!(made, own);
    }

    #[test]
    fn a_copy_of_an_earlier_version_is_read_with_defaults_for_what_it_does_not_have() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let mut config = Config::default();
        config.fetch.workers = crate::config::Workers::Fixed(7);
        write_copy(&config, &disk, dir.path()).unwrap();
        let path = dir.path().join(layout::SETTINGS);
        let mut copy: serde_json::Value = serde_json::from_slice(&disk.read(&path).unwrap()).unwrap();
        let sections = copy.as_object_mut().unwrap();
        assert!(sections["fetch"].as_object_mut().unwrap().remove("proxy").is_some());
        assert!(sections.remove("drum").is_some());
        sections.insert("of a later version".to_owned(), serde_json::json!({"key": 1}));
        std::fs::write(&path, copy.to_string()).unwrap();
        assert_eq!(read_copy(&disk, dir.path()).unwrap(), Some(config));
        std::fs::write(&path, "{").unwrap();
        assert_eq!(read_copy(&disk, dir.path()).unwrap(), None);
    }
}
