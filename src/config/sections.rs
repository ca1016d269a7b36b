//! The sections of the configuration: every key with its meaning, its type and its default.
//!
//! The defaults are chosen for a stranger's web: one connection a host, seconds between requests, robots.txt obeyed,
//! and limits that hold against traps. `None` stands for `"unlimited"`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::value::{Bytes, Mismatch, Setting};

/// A section that can be filled key by key.
pub(super) trait Section {
    /// The names of its keys.
    fn keys(&self) -> Vec<&'static str>;
    /// Sets a key; `None` where there is no such key.
    fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<Result<(), Mismatch>>;
    /// Its keys with their values as TOML, in the order of the file.
    fn written(&self) -> Vec<(&'static str, String)>;
}

/// A section's struct, its defaults and its reader, from one list of keys.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $key:ident: $type:ty = $default:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$doc])* pub $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($key: $default,)* }
            }
        }

        impl Section for $name {
            fn keys(&self) -> Vec<&'static str> {
                vec![$(stringify!($key)),*]
            }

            fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<Result<(), Mismatch>> {
                $(if key == stringify!($key) {
                    return Some(Setting::read(value).map(|value| self.$key = value));
                })*
                None
            }

            fn written(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($key), self.$key.to_toml())),*]
            }
        }
    };
}

/// A setting that is one of some words.
macro_rules! word {
    ($(#[$meta:meta])* $name:ident, $expected:literal, $example:literal {
        $($(#[$doc:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl Setting for $name {
            const EXPECTED: &'static str = $expected;
            const EXAMPLE: &'static str = $example;

            fn from_toml(value: &DeValue<'_>) -> Option<Self> {
                match value.as_str()? {
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }

            fn to_toml(&self) -> String {
                match self {
                    $($name::$variant => concat!("\"", $word, "\"").to_owned(),)*
                }
            }
        }
    };
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

word! {
    /// Who may read a crawl directory that is made; the umask takes away more.
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
    /// Who crawls, and how far.
    Crawl {
        /// Name of the crawler, `NAME` or `NAME/VERSION`; see [`super::Config::user_agent`].
        user_agent: String = "crawler".to_owned(),
        /// Where a webmaster reaches the person behind the crawl: a URL or an address; empty for none.
        contact: String = String::new(),
        /// Pages that are stored before the crawl ends.
        max_pages: Option<u64> = None,
        /// Bytes that are received before the crawl ends.
        max_bytes: Option<Bytes> = None,
        /// Time over all sessions before the crawl ends.
        max_time: Option<Duration> = None,
        /// Links between a seed and the last page that is fetched.
        max_depth: Option<u16> = None,
        /// Time between two checkpoints: what a crash repeats at most.
        checkpoint_interval: Duration = Duration::from_secs(30),
        /// Free space below which the crawl stops cleanly.
        disk_floor: Bytes = Bytes::gib(2),
        /// Who may read a crawl directory that is made.
        readable_by: ReadableBy = ReadableBy::Owner,
    }
}

word! {
    /// Which URLs the seeds take into the crawl.
    ScopeMode, "\"domain\", \"host\", \"prefix\" or \"any\"", "\"domain\"" {
        /// All hosts of the registrable domains of the seeds.
        Domain = "domain",
        /// Everything.
        Any = "any",
        /// The hosts of the seeds.
        Host = "host",
        /// The directories of the seeds.
        Prefix = "prefix",
    }
}

section! {
    /// Which URLs belong to the crawl.
    Scope {
        /// What the seeds take in.
        mode: ScopeMode = ScopeMode::Domain,
        /// Regular expressions: a URL that one of them matches is taken in too.
        include: Vec<String> = Vec::new(),
        /// Regular expressions: a URL that one of them matches is left out, whatever else holds.
        exclude: Vec<String> = Vec::new(),
        /// Bytes of a URL.
        max_url_length: usize = 2_048,
        /// Links that are taken from one page.
        max_links_per_page: usize = 10_000,
        /// Segments of a path.
        max_path_segments: usize = 20,
        /// Times that the same segment may come in one path.
        max_repeated_segments: usize = 3,
        /// URLs of one host that differ only in words with digits, two or more of them: calendars, sessions.
        max_urls_per_pattern: Option<u64> = Some(20_000),
        /// Redirects in a row.
        max_redirects: u8 = 10,
        /// Whether a seed that redirects to another domain takes that domain into scope.
        follow_seed_redirects: bool = true,
        /// Query parameters that do not make a different page: session ids and tracking. For the key only.
        strip_query_params: Vec<String> = STRIP_QUERY_PARAMS.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// Session ids of common servers, and the marks of common advertising and mailing systems.
const STRIP_QUERY_PARAMS: [&str; 17] = [
    "jsessionid",
    "phpsessid",
    "aspsessionid",
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
    /// What becomes of a host whose robots.txt asks for more than `politeness.crawl_delay_max`.
    CrawlDelayBeyond, "\"cap\" or \"skip\"", "\"cap\"" {
        /// It is asked every `crawl_delay_max`.
        Cap = "cap",
        /// Nothing is fetched of it.
        Skip = "skip",
    }
}

section! {
    /// How gently servers are asked.
    Politeness {
        /// Shortest time between the end of a request and the next one to the same host.
        delay_min: Duration = Duration::from_secs(1),
        /// Longest time that `delay_factor` can make of it.
        delay_max: Duration = Duration::from_secs(30),
        /// The delay in times of how long the host took to answer.
        delay_factor: f64 = 5.0,
        /// Longest `Crawl-delay` of a robots.txt that is kept to as it is written.
        crawl_delay_max: Duration = MINUTE * 5,
        /// What becomes of hosts that ask for more.
        crawl_delay_beyond: CrawlDelayBeyond = CrawlDelayBeyond::Cap,
        /// Requests to one host at the same time.
        connections_per_host: usize = 1,
        /// Shortest time between two requests to the same address, whatever the hosts.
        delay_per_ip: Duration = Duration::from_millis(250),
        /// How long a host may be dead, or its robots.txt unreachable, before its URLs are given up.
        give_up: Duration = HOUR * 24,
        /// How long the crawl goes on when only hosts are left that never answered.
        linger: Duration = MINUTE * 10,
        /// Requests a second of the whole crawl.
        requests_per_second: Option<f64> = None,
        /// Bytes received a second of the whole crawl.
        bytes_per_second: Option<Bytes> = None,
    }
}

section! {
    /// How much a host or domain may take.
    Budget {
        /// Pages of one host.
        pages_per_host: Option<u64> = Some(100_000),
        /// Pages of all hosts of one registrable domain.
        pages_per_domain: Option<u64> = Some(500_000),
        /// Bytes received from one host.
        bytes_per_host: Option<Bytes> = None,
    }
}

section! {
    /// How a page is fetched.
    Fetch {
        /// Requests in flight at the same time, all hosts together.
        workers: usize = 64,
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
        /// Whether HTTP/2 is offered to servers.
        http2: bool = true,
        /// URL of a proxy for all requests; empty for none.
        proxy: String = String::new(),
        /// File with root certificates in PEM that are trusted beside Mozilla's; empty for none.
        ca_file: String = String::new(),
    }
}

section! {
    /// What robots.txt means here.
    Robots {
        /// Whether its rules are kept to. Turn this off for servers of your own only.
        obey: bool = true,
        /// Time that an answer holds.
        cache: Duration = HOUR * 24,
        /// Bytes of a robots.txt that are read.
        max_bytes: Bytes = Bytes::kib(500),
        /// Whether the sitemaps that it names are read.
        sitemaps: bool = true,
        /// Sitemaps that are taken from one robots.txt.
        max_sitemaps: usize = 1_000,
        /// Whether links marked `nofollow` are left alone.
        respect_nofollow: bool = true,
    }
}

section! {
    /// How names become addresses.
    Dns {
        /// Name servers, `ADDRESS` or `ADDRESS:PORT`; empty for the system's.
        nameservers: Vec<String> = Vec::new(),
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
    /// Which addresses outside of the public internet may be fetched.
    Network {
        /// CIDRs, such as `127.0.0.0/8`.
        allow: Vec<String> = Vec::new(),
    }
}

section! {
    /// The stores of URLs seen, robots and DNS.
    Drum {
        /// Buckets of a store, a power of two. Fixed when a crawl is created.
        buckets: usize = 64,
        /// Memory of one bucket before it goes to disk.
        ram_per_bucket: Bytes = Bytes::kib(64),
        /// Pending bytes of a bucket at which it is merged; grows with the bucket's repository.
        merge_threshold: Bytes = Bytes::mib(1),
        /// Memory of a merge; what is pending of a bucket is merged in portions that need no more.
        merge_memory: Bytes = Bytes::mib(80),
        /// Share of the time that merges may take while there is other work.
        merge_share: f64 = 0.5,
        /// Bytes a second that merges may read and write.
        merge_bandwidth: Option<Bytes> = None,
    }
}

section! {
    /// What stands before the stores in memory.
    Seen {
        /// Keys in the LRU of URLs seen.
        lru_entries: usize = 1 << 18,
        /// Ceiling of the Bloom filter: 125 MiB hold 80 million URLs at `bloom_fpr` 0.01.
        bloom_memory: Bytes = Bytes::mib(125),
        /// Share of new URLs that the Bloom filter takes for known ones, until the ceiling is reached.
        bloom_fpr: f64 = 0.01,
    }
}

section! {
    /// The queue.
    Frontier {
        /// Memory of the queue, whatever its length.
        memory: Bytes = Bytes::mib(128),
        /// Hosts that are held in memory and asked in turn.
        active_hosts: usize = 4_096,
    }
}

word! {
    /// How records of the archive are compressed.
    Compression, "\"gzip\", \"zstd\" or \"none\"", "\"gzip\"" {
        /// A gzip member a record: what every WARC tool reads.
        Gzip = "gzip",
        /// A zstd frame a record: smaller and faster, read by fewer tools.
        Zstd = "zstd",
        /// As they are.
        None = "none",
    }
}

section! {
    /// The page store.
    Container {
        /// Size at which a new WARC file is begun.
        segment_bytes: Bytes = Bytes::gib(1),
        /// How records are compressed.
        compression: Compression = Compression::Gzip,
        /// Whether requests are archived beside their responses.
        request_records: bool = true,
        /// Memory of the index of payloads, 8 bytes each; what it knows is not stored again. 0 stores everything.
        digest_memory: Bytes = Bytes::mib(16),
        /// Memory of entries of the index that wait for a checkpoint; what fills it makes the checkpoint come early.
        slot_memory: Bytes = Bytes::mib(32),
    }
}

word! {
    /// How log and progress are written to standard error.
    LogFormat, "\"text\" or \"json\"", "\"text\"" {
        /// Lines for people, and on a terminal a display.
        Text = "text",
        /// Print one JSON object per line, progress and closing statistics too.
        Json = "json",
    }
}

section! {
    /// What is told while it runs.
    Report {
        /// Time between two lines of progress where standard error is not a terminal.
        interval: Duration = Duration::from_secs(10),
        /// How log and progress are written to standard error.
        log_format: LogFormat = LogFormat::Text,
        /// Size at which crawl.log and skipped.jsonl get a number and are begun anew.
        log_bytes: Option<Bytes> = Some(Bytes::gib(1)),
        /// Address at which metrics are served, with port 0 at any port; or `off`.
        metrics: String = "off".to_owned(),
    }
}
