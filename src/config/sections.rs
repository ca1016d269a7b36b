//! The sections of the configuration: every key with its meaning, its type and its default.
//!
//! Where a part of the crawl has options with a default, a key takes its default from there. The defaults are chosen
//! for a stranger's web: one connection a host, seconds between requests, robots.txt obeyed, and limits that hold
//! against traps. `None` means `"unlimited"`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::access::Cookies;
use super::headers::Headers;
use super::hosts::Hosts;
use super::section::Section;
use super::value::{Bytes, Mismatch, Setting, Workers};
use crate::container::{ContainerOptions, Keep};
use crate::contract::{Consent, RenderMode};
use crate::drum::{DrumOptions, FrontOptions, PaceOptions};
use crate::engine::RenderSettings;
use crate::feed::Limits;
use crate::frontier::{self, FrontierOptions, RoundBudgets};
use crate::hours::ALWAYS;
use crate::signature::{AgentForm, Component};
use crate::warc::Compression;
use crate::web::format::Format;
use crate::web::html::LAZY_ATTRIBUTES;
use crate::web::json::JsonLinks;
use crate::web::preferences::Usage;
use crate::web::scope::{Requisites, ScopeMode, ScopeOptions};
use crate::web::secret::SecretAddress;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

words! {
    AgentForm, "\"dictionary\" or \"string\"", "\"dictionary\"" {
        Dictionary = "dictionary",
        String = "string",
    }
}

section! {
    /// Signatures and names by which servers can recognise this crawler.
    Identity {
        /// File with the private key that requests are signed with, made by `crawler identity init`; empty for none.
        key_file: String = String::new(),
        /// The origin that serves the public key, such as `https://bot.example`.
        signature_agent: String = String::new(),
        /// Form in which `Signature-Agent` names it.
        signature_agent_form: AgentForm = AgentForm::Dictionary,
        /// True to sign requests, where there is a key.
        sign: bool = true,
        /// Time for which a signature holds.
        expires: Duration = MINUTE * 5,
        /// Parts of a request that a signature covers.
        components: Vec<Component> = vec![Component::Authority],
        /// The mailbox of the person behind the crawl, sent as `From`; empty for none.
        from: String = String::new(),
    }
}

word! {
    /// Users who may read a crawl directory that is made; the umask takes away more.
    ReadableBy, "\"owner\", \"group\" or \"all\"", "\"owner\"" {
        /// Its owner alone (0700).
        Owner = "owner",
        /// The owner's group too (0750).
        Group = "group",
        /// Everybody (0755).
        All = "all",
    }
}

section! {
    /// Name of the crawler, and limits of the crawl.
    Crawl {
        /// Name of the crawler, `NAME` or `NAME/VERSION`; see `Config::user_agent`.
        user_agent: String = "crawler".to_owned(),
        /// URL or address at which a webmaster reaches the person behind the crawl; empty for none.
        contact: String = String::new(),
        /// Pages that are stored before the crawl ends.
        max_pages: Option<u64> = None,
        /// Bytes that are received before the crawl ends.
        max_bytes: Option<Bytes> = None,
        /// Time over all sessions before the crawl ends.
        max_time: Option<Duration> = None,
        /// Uses for which the crawl is made: a page whose robots.txt refuses one is not fetched.
        purpose: Vec<Usage> = Vec::new(),
        /// Links between a seed and the last page that is fetched.
        max_depth: Option<u16> = ScopeOptions::default().max_depth,
        /// Time between two checkpoints: what a crash repeats at most.
        checkpoint_interval: Duration = Duration::from_secs(30),
        /// Memory that the crawl may take; settings of memory that are not set follow from it.
        memory: Option<Bytes> = None,
        /// Free space below which the crawl stops cleanly.
        disk_floor: Bytes = Bytes::gib(2),
        /// Users who may read a crawl directory that is made.
        readable_by: ReadableBy = ReadableBy::Owner,
        /// Shards of a crawl that is made, each with its own engine thread. Fixed when a crawl is created.
        shards: usize = 1,
    }
}

words! {
    ScopeMode, "\"domain\", \"host\", \"prefix\" or \"any\"", "\"domain\"" {
        Domain = "domain",
        Any = "any",
        Host = "host",
        Prefix = "prefix",
    }
}

words! {
    JsonLinks, "\"off\", \"urls\" or \"paths\"", "\"urls\"" {
        Off = "off",
        Urls = "urls",
        Paths = "paths",
    }
}

words! {
    Requisites, "\"page\" or \"scope\"", "\"page\"" {
        Page = "page",
        Scope = "scope",
    }
}

section! {
    /// Rules for the URLs that belong to the crawl.
    Scope {
        /// Part of the web that the seeds take in.
        mode: ScopeMode = ScopeOptions::default().mode,
        /// Regular expressions: a URL that one of them matches is taken in too.
        include: Vec<String> = ScopeOptions::default().include,
        /// Regular expressions: a URL that one of them matches is left out, whatever else holds.
        exclude: Vec<String> = ScopeOptions::default().exclude,
        /// Places from which pages may embed what they need.
        requisites: Requisites = ScopeOptions::default().requisites,
        /// Embeds in a row from a page to what it needs.
        requisite_hops: u8 = ScopeOptions::default().requisite_hops,
        /// Bytes of a URL.
        max_url_length: usize = ScopeOptions::default().max_url_length,
        /// Links that are taken from one page.
        max_links_per_page: usize = 10_000,
        /// Segments of a path.
        max_path_segments: usize = ScopeOptions::default().max_path_segments,
        /// Times that the same segment may come in one path.
        max_repeated_segments: usize = ScopeOptions::default().max_repeated_segments,
        /// URLs of one host that differ only in words with digits, two or more of them: calendars, sessions.
        max_urls_per_pattern: Option<u64> = Some(20_000),
        /// Pages of one host that may say nearly the same before the links of more of them are not followed.
        max_pages_per_text: Option<u64> = None,
        /// True to learn parameters of URLs that make no other page, such as session ids, and to leave their URLs out.
        learn_session_params: bool = true,
        /// Redirects in a row.
        max_redirects: usize = ScopeOptions::default().max_redirects,
        /// True to take another domain into scope where a seed redirects there.
        follow_seed_redirects: bool = true,
        /// Query parameters that do not make a different page: session ids and tracking. For the key only.
        strip_query_params: Vec<String> = STRIP_QUERY_PARAMS.iter().map(|&name| name.to_owned()).collect(),
        /// True to give pages that name no icon the one that browsers ask for: `/favicon.ico` of their origin.
        favicon: bool = true,
        /// True to fetch the licences that pages and robots.txt files name, on any host, and `tdmrep.json` of origins.
        licenses: bool = false,
        /// True to take strings in scripts that look like file names for URLs.
        script_files: bool = false,
        /// Strings of answers in JSON that are links.
        json_links: JsonLinks = JsonLinks::Off,
        /// True to take URLs in text without markup for links.
        text_links: bool = false,
        /// True to ask each host for its `llms.txt`, whose links are taken.
        llms_txt: bool = false,
        /// True to ask for each page in Markdown, too: its URL with `.md` behind it.
        markdown_twins: bool = false,
        /// True to put links in navigation, header, footer and sidebar of a page behind its other links.
        content_first: bool = false,
        /// Attributes of pages from which scripts load pictures.
        lazy_attributes: Vec<String> = LAZY_ATTRIBUTES.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// Session ids of common servers, and the marks of common advertising and mailing systems.
const STRIP_QUERY_PARAMS: [&str; 20] = [
    "jsessionid",
    "phpsessid",
    "aspsessionid*",
    "cfid",
    "cftoken",
    "oscsid",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "utm_id",
    "gclid",
    "dclid",
    "fbclid",
    "msclkid",
    "yclid",
    "mc_cid",
    "mc_eid",
    "igshid",
];

word! {
    /// Treatment of a host whose robots.txt asks for more than `politeness.crawl_delay_max`.
    CrawlDelayBeyond, "\"cap\" or \"skip\"", "\"cap\"" {
        /// The host is asked every `crawl_delay_max`.
        Cap = "cap",
        /// Nothing is fetched of it.
        Skip = "skip",
    }
}

impl CrawlDelayBeyond {
    fn of(skip_beyond: bool) -> Self {
        if skip_beyond { CrawlDelayBeyond::Skip } else { CrawlDelayBeyond::Cap }
    }
}

section! {
    /// Delays and rates that spare servers.
    Politeness {
        /// Shortest time between the end of a request and the next one to the same host.
        delay_min: Duration = frontier::Politeness::default().delay_min,
        /// Longest time that `delay_factor` can make of it.
        delay_max: Duration = frontier::Politeness::default().delay_max,
        /// The delay in times of how long the host took to answer.
        delay_factor: f64 = frontier::Politeness::default().delay_factor,
        /// Longest `Crawl-delay` of a robots.txt that is kept to as it is written.
        crawl_delay_max: Duration = frontier::Politeness::default().crawl_delay_max,
        /// Treatment of hosts that ask for more.
        crawl_delay_beyond: CrawlDelayBeyond = CrawlDelayBeyond::of(frontier::Politeness::default().skip_beyond),
        /// Requests to one host at the same time.
        connections_per_host: usize = frontier::Politeness::default().connections_per_host,
        /// Hours in which requests to a host begin, such as `22:00-06:00 Europe/Berlin`.
        hours: String = ALWAYS.to_owned(),
        /// Shortest time between two requests to the same address, whatever the hosts.
        delay_per_ip: Duration = frontier::Politeness::default().delay_per_ip,
        /// Time for which a host may be dead, or its robots.txt unreachable, before its URLs are given up.
        give_up: Duration = FrontierOptions::default().give_up,
        /// Time for which the crawl goes on when only hosts are left that never answered.
        linger: Duration = MINUTE * 10,
        /// Requests a second of the whole crawl.
        requests_per_second: Option<f64> = None,
        /// Bytes received a second of the whole crawl.
        bytes_per_second: Option<Bytes> = None,
    }
}

section! {
    /// Most that a host or domain may take.
    Budget {
        /// Pages of one host.
        pages_per_host: Option<u64> = frontier::Budget::default().pages_per_host,
        /// Pages of all hosts of one registrable domain.
        pages_per_domain: Option<u64> = frontier::Budget::default().pages_per_domain,
        /// Bytes received from one host.
        bytes_per_host: Option<Bytes> = frontier::Budget::default().bytes_per_host.map(Bytes),
        /// Cases in which pages of a domain in a round follow from the domains that link to it.
        by_supporters: BySupporters = BySupporters::Auto,
        /// Pages of a domain in a round to which nobody is known to link.
        round_pages_min: u64 = RoundBudgets::default().pages_min,
        /// Pages in a round of the domains with most supporters, and of those of the seeds.
        round_pages_max: u64 = RoundBudgets::default().pages_max,
        /// Domains with most supporters.
        round_top_domains: u64 = RoundBudgets::default().top_domains,
        /// True to count all domains of one network (/24, /48) as one supporter.
        supporters_by_network: bool = true,
        /// True to count a supporter by its own supporters, in quarters.
        supporters_by_standing: bool = true,
    }
}

word! {
    /// Cases in which budgets follow from supporters.
    BySupporters, "\"auto\", \"on\" or \"off\"", "\"auto\"" {
        /// Only where the scope is `any`.
        Auto = "auto",
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
    }
}

section! {
    /// Limits and options of fetching a page.
    Fetch {
        /// Requests in flight at the same time, all hosts together: a number, or as many as bring something.
        workers: Workers = Workers::Auto,
        /// Requests beside those that take much longer than usual: they keep nobody waiting.
        slow_workers: usize = 1024,
        /// Time after which a request is one of them; twice what is usual, if that is less.
        slow_after: Duration = Duration::from_secs(2),
        /// Time for a connection, the TLS handshake included.
        timeout_connect: Duration = Duration::from_secs(10),
        /// Time for the head of an answer, from the connection on.
        timeout_head: Duration = MINUTE,
        /// Time for a whole request; `max_body` at a slow line's 100 KiB/s takes just under 3 minutes.
        timeout_total: Duration = MINUTE * 5,
        /// Bytes a second below which an answer is given up.
        rate_min: Bytes = Bytes(128),
        /// Bytes of a body that are kept.
        max_body: Bytes = Bytes::mib(16),
        /// Disk space of the crawl directory for bodies above 256 KiB while they come, all together.
        spool_max: Bytes = Bytes::gib(1),
        /// Attempts after the first one failed.
        retries: u8 = 3,
        /// True to offer HTTP/2 to servers.
        http2: bool = true,
        /// Languages that answers are wanted in; empty for any.
        accept_language: String = String::new(),
        /// Treatment of cookies that servers set: dropped, or sent back to them.
        cookies: Cookies = Cookies::Off,
        /// More fields of the head of every request.
        headers: Headers = Headers::default(),
        /// URL of a proxy for all requests; empty or `none` for none.
        proxy: SecretAddress = SecretAddress::default(),
        /// File with root certificates in PEM that are trusted beside Mozilla's; empty for none.
        ca_file: String = String::new(),
    }
}

words! {
    RenderMode, "\"off\", \"needed\" or \"always\"", "\"needed\"" {
        Off = "off",
        Needed = "needed",
        Always = "always",
    }
}

words! {
    Consent, "\"off\", \"reject\" or \"accept\"", "\"reject\"" {
        Off = "off",
        Reject = "reject",
        Accept = "accept",
    }
}

word! {
    /// Pictures that are taken of pages that are rendered.
    Pictures, "\"off\", \"window\" or \"page\"", "\"window\"" {
        /// None.
        Off = "off",
        /// The part that a window shows.
        Window = "window",
        /// The whole page.
        Page = "page",
    }
}

section! {
    /// Pages that are rendered by a browser, and the limits of that.
    Render {
        /// Pages that are rendered.
        mode: RenderMode = RenderMode::Off,
        /// The browser; empty for the first one on `PATH`.
        program: String = String::new(),
        /// Pages that are rendered at the same time.
        pages: usize = RenderSettings::default().pages,
        /// Time for a page, the wait for a browser aside.
        deadline: Duration = Duration::from_secs(30),
        /// Memory of the processes of a page.
        memory: Bytes = Bytes::mib(512),
        /// Pages after which a browser is replaced by a new one.
        pages_per_browser: usize = 200,
        /// Requests of one page.
        max_requests: usize = 400,
        /// Bytes of all answers to one page.
        max_bytes: Bytes = Bytes::mib(64),
        /// Shortest time between two requests of pages to one host.
        delay: Duration = RenderSettings::default().pace.delay,
        /// Requests of pages to one host at the same time.
        connections_per_host: usize = RenderSettings::default().pace.connections,
        /// True to ask robots.txt about what pages need.
        obey_robots: bool = true,
        /// Steps to the end of a page that grows there.
        scroll: usize = 0,
        /// Answer to banners that ask for consent.
        consent: Consent = Consent::Off,
        /// CSS selectors of what is clicked until it is gone or changes nothing.
        click: Vec<String> = Vec::new(),
        /// Picture that is taken of a page.
        screenshot: Pictures = Pictures::Off,
        /// True to print the page as PDF.
        pdf: bool = false,
        /// Memory for answers that several pages need.
        cache: Bytes = Bytes::mib(64),
        /// Time for which scripts, style sheets, pictures and fonts are taken from it that do not say so themselves.
        cache_time: Duration = HOUR,
        /// True to use a browser even if it cannot have a sandbox.
        allow_unsandboxed: bool = false,
    }
}

section! {
    /// Documents that are no pages, and are read as if they were.
    Documents {
        /// Formats that are read.
        formats: Vec<Format> = Vec::new(),
        /// Documents that are read at the same time, each by its own process.
        readers: usize = 2,
        /// Memory of such a process.
        memory: Bytes = Bytes::mib(512),
        /// Time of a processor that a document may take.
        time: Duration = Duration::from_secs(10),
    }
}

section! {
    /// The changes feed: documents as upserts and deletions.
    Feed {
        /// The share of its documents that a host may lose in a day, besides ten; beyond it deletions wait.
        deletions_max: f64 = Limits::default().share,
        /// The share of their texts that two documents have in common to be one; 0: all stand for themselves.
        near_duplicates: f64 = 0.0,
    }
}

section! {
    /// Treatment of robots.txt and of what it names.
    Robots {
        /// True to keep to its rules. Turn this off only for your own servers.
        obey: bool = true,
        /// Time that an answer holds.
        cache: Duration = HOUR * 24,
        /// Bytes of a robots.txt that are read.
        max_bytes: Bytes = Bytes::kib(500),
        /// True to read the sitemaps that it names.
        sitemaps: bool = true,
        /// Sitemaps that are taken from one robots.txt.
        max_sitemaps: usize = 1_000,
        /// True to leave links marked `nofollow` alone.
        respect_nofollow: bool = true,
    }
}

section! {
    /// Resolution of names to addresses.
    Dns {
        /// Name servers, as `web::name_server` reads them; empty for the system's.
        nameservers: Vec<String> = Vec::new(),
        /// Addresses of names that name servers are not asked for.
        hosts: Hosts = Hosts::default(),
        /// Time for a lookup, all name servers together.
        timeout: Duration = Duration::from_secs(10),
        /// Shortest time that an answer holds, whatever its TTL.
        ttl_min: Duration = MINUTE,
        /// Longest time that an answer holds, whatever its TTL.
        ttl_max: Duration = HOUR * 24,
        /// Longest time that "no such name", or a private address, holds.
        negative_ttl: Duration = MINUTE * 10,
    }
}

section! {
    /// Addresses outside of the public internet that may be fetched.
    Network {
        /// CIDRs, such as `127.0.0.0/8`.
        allow: Vec<String> = Vec::new(),
    }
}

section! {
    /// The stores of URLs seen, robots and DNS.
    Drum {
        /// Buckets of a store, a power of two. Fixed when a crawl is created.
        buckets: usize = DrumOptions::default().buckets,
        /// Memory of one bucket before it goes to disk.
        ram_per_bucket: Bytes = Bytes::of(DrumOptions::default().ram_per_bucket),
        /// Pending bytes of a bucket at which it is merged; grows with the bucket's repository.
        merge_threshold: Bytes = Bytes(DrumOptions::default().merge_threshold),
        /// Memory of a merge; what is pending of a bucket is merged in portions that need no more.
        merge_memory: Bytes = Bytes(DrumOptions::default().merge_memory),
        /// Share of the time that merges may take while there is other work.
        merge_share: f64 = PaceOptions::default().share,
        /// Bytes a second that merges may read and write.
        merge_bandwidth: Option<Bytes> = PaceOptions::default().bytes_per_second.map(Bytes),
    }
}

section! {
    /// Memory in front of the stores: the LRU and the Bloom filter.
    Seen {
        /// Keys in the LRU of URLs seen.
        lru_entries: usize = FrontOptions::default().lru_entries,
        /// Ceiling of the Bloom filter: 125 MiB hold 80 million URLs at `bloom_fpr` 0.01.
        bloom_memory: Bytes = Bytes::of(FrontOptions::default().bloom_memory),
        /// Share of new URLs that the Bloom filter takes for known ones, until the ceiling is reached.
        bloom_fpr: f64 = FrontOptions::default().bloom_fpr,
    }
}

section! {
    /// The queue.
    Frontier {
        /// Memory of the queue, whatever its length.
        memory: Bytes = Bytes::of(FrontierOptions::default().memory),
        /// Hosts that are held in memory and asked in turn.
        active_hosts: usize = FrontierOptions::default().active_hosts,
    }
}

words! {
    Compression, "\"gzip\", \"zstd\" or \"none\"", "\"gzip\"" {
        Gzip = "gzip",
        Zstd = "zstd",
        None = "none",
    }
}

section! {
    /// The page store.
    Container {
        /// Size at which a new WARC file is begun.
        segment_bytes: Bytes = Bytes(ContainerOptions::default().segment_bytes),
        /// Compression of records.
        compression: Compression = ContainerOptions::default().compression,
        /// True to archive requests with their responses.
        request_records: bool = true,
        /// True to leave secrets out of archived requests and answers.
        redact_secrets: bool = true,
        /// Memory of the index of payloads, 8 bytes each; what it knows is not stored again. 0 stores everything.
        digest_memory: Bytes = Bytes::of(ContainerOptions::default().digest_memory),
        /// Memory of entries of the index that wait for a checkpoint; what fills it makes the checkpoint come early.
        slot_memory: Bytes = Bytes::of(ContainerOptions::default().slot_memory),
        /// Versions of a URL that stay: all, a number of the newest ones, or those of an age.
        keep: Keep = Keep::All,
        /// Crawl directories and CDXJ files of earlier archives: payloads that they have are not stored again.
        dedup_against: Vec<String> = Vec::new(),
    }
}

section! {
    /// Settings by which a crawl survives its machine, and shares it with others.
    Cluster {
        /// Address of the store that checkpoints are shipped to: `s3://`, `gs://`, `az://` or `file://`; or `off`.
        store: SecretAddress = SecretAddress::new("off"),
        /// Time between two checkpoints of a crawl that ships them: what the loss of a machine repeats at most.
        commit_interval: Duration = MINUTE,
        /// Time for which a store may be away before no more requests are made.
        behind_max: Duration = MINUTE * 10,
        /// Members of the etcd that says which machine owns a shard: `http://host:2379`; none for one machine.
        registry: Vec<SecretAddress> = Vec::new(),
        /// The name of this machine among the others; empty for its host name.
        name: String = String::new(),
        /// Share of the shards that this machine takes in relation to others; 0 for its number of cores.
        weight: usize = 0,
        /// Time after which a machine that is not heard of loses its shards.
        lease: Duration = Duration::from_secs(20),
        /// Bytes a second that are sent to the store.
        bytes_per_second: Option<Bytes> = None,
    }
}

word! {
    /// Form in which log and progress are written to standard error.
    LogFormat, "\"text\" or \"json\"", "\"text\"" {
        /// Lines for people, and on a terminal a display.
        Text = "text",
        /// Print one JSON object per line, progress and closing statistics too.
        Json = "json",
    }
}

section! {
    /// Output while the crawl runs: logs, metrics, console.
    Report {
        /// Time between two lines of progress where standard error is not a terminal.
        interval: Duration = Duration::from_secs(10),
        /// Form in which log and progress are written to standard error.
        log_format: LogFormat = LogFormat::Text,
        /// Size at which crawl.log and skipped.jsonl get a number and are started again.
        log_bytes: Option<Bytes> = Some(Bytes::gib(1)),
        /// Address at which metrics are served, with port 0 at any port; or `off`.
        metrics: String = "off".to_owned(),
        /// Address at which the console is served, with port 0 at any port; or `off`.
        console: String = "off".to_owned(),
    }
}
