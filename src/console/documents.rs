//! Documents that a console shows, as they are in JSON.

use serde::Serialize;

use crate::clock::Time;
use crate::record::Live;

/// The state of a crawl.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// The crawl directory.
    pub dir: String,
    /// True if a process works on it.
    pub running: bool,
    /// The figures: of this moment while the crawl runs, else of its last checkpoint. Nothing before the first one.
    pub live: Option<Live>,
    /// The bottleneck of the crawl now, or the reason why it does not run.
    pub bottleneck: Bottleneck,
    /// Limits that it stops at.
    pub limits: Limits,
    /// Time that is left, as far as it is known.
    pub left_s: Option<u64>,
    /// Reason for which most URLs were left out.
    pub most_left_out: Option<String>,
    /// Share of the known URLs that was got as content, in words, where it does not take long to count.
    pub coverage: Option<String>,
    /// True if orders can be given.
    pub controls: bool,
    /// Version of the program.
    pub version: &'static str,
}

/// The bottleneck of a crawl, as a code for programs and a phrase for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bottleneck {
    /// One word.
    pub code: String,
    /// Description in plain words.
    pub phrase: String,
}

/// Limits that a crawl stops at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// `crawl.max_pages`.
    pub max_pages: Option<u64>,
    /// `crawl.max_time`.
    pub max_time_s: Option<u64>,
}

/// A budget of which URLs were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MetBudget {
    /// The host, the domain or the pattern; `crawl` for the whole crawl.
    pub scope: String,
    /// Its setting.
    pub what: String,
    /// Number that the setting has. `None` where it has no number.
    pub limit: Option<u64>,
    /// Amount that was used of it, where that is known.
    pub reached: Option<u64>,
    /// URLs that were left out for it.
    pub left_out: u64,
}

/// A request that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestRow {
    /// Time at which it ended.
    pub at: Time,
    /// Status of the answer; negative where none came, as crawl.log has it.
    pub status: i32,
    /// Reason for which none came, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The URL that was asked for.
    pub url: String,
    /// Bytes of the body.
    pub bytes: u64,
    /// Its type.
    pub mime: String,
    /// Time that it took.
    pub millis: u64,
    /// The page that named the URL; empty for a seed.
    pub via: String,
}

/// A part of the seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Seeds {
    /// All of them.
    pub total: u64,
    /// Those that were asked for.
    pub rows: Vec<SeedRow>,
}

/// A seed, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeedRow {
    /// Its URL.
    pub seed: String,
    /// `waiting`, `answered`, `failed`, `left-out`.
    pub outcome: String,
    /// The status, where it redirected, or why not.
    pub detail: String,
}

/// Memory and disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiskUse {
    /// Uses of memory.
    pub memory: Vec<Bytes>,
    /// Uses of room on disk.
    pub disk: Vec<Bytes>,
    /// Free on that disk.
    pub free_bytes: u64,
}

/// The number of bytes that something takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// Its name.
    pub what: String,
    /// The number of bytes.
    pub bytes: u64,
}

impl Bytes {
    /// Makes the number of bytes of the thing with this name.
    pub(crate) fn of(what: &str, bytes: u64) -> Bytes {
        Bytes { what: what.to_owned(), bytes }
    }
}

/// A version of a URL in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// 0 for the newest, 1 for the one before it.
    pub number: usize,
    /// Time at which it was fetched.
    pub at: Time,
    /// Status of the answer.
    pub status: u16,
    /// Its type.
    pub mime: String,
    /// Bytes of the body, as sent.
    pub bytes: u64,
    /// The spelling that was fetched.
    pub url: String,
}

/// The children of a node of the crawl tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// Rows with most pages first; everything without a row is summed up in the last one.
    pub rows: Vec<TreeRow>,
    /// True if the whole archive was read for it. If not, asking again reads on.
    pub complete: bool,
    /// Records that were read.
    pub records: u64,
}

/// A domain, a host or a part of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreeRow {
    /// Name as it is shown below its parent.
    pub name: String,
    /// Prefix by which its own children can be asked for. Empty where they cannot be asked for.
    pub prefix: String,
    /// URLs archived at and below it.
    pub pages: u64,
    /// Bytes of their bodies, all versions together.
    pub bytes: u64,
    /// Answers among them with a status of 4xx or 5xx.
    pub errors: u64,
    /// True if nothing is below it.
    pub leaf: bool,
}
