//! The workers of a crawl that finds their number itself, and what bounds it: one name for each bound everywhere.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The bound on the number of workers, where the crawl finds that number itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkersBound {
    /// Workers are free whenever a host is ready and rates permit a request.
    Hosts,
    /// The number is not found yet: each step so far has made the crawl faster.
    Growing,
    /// The line is full.
    Line,
    /// The cores are busy.
    Cores,
    /// The machine has little memory left.
    Memory,
    /// Memory and open files permit no more.
    Ceiling,
}

impl WorkersBound {
    /// All of them.
    pub const ALL: [WorkersBound; 6] = [
        WorkersBound::Hosts,
        WorkersBound::Growing,
        WorkersBound::Line,
        WorkersBound::Cores,
        WorkersBound::Memory,
        WorkersBound::Ceiling,
    ];

    /// Returns the bound in words for the user.
    pub fn meaning(self) -> &'static str {
        match self {
            WorkersBound::Hosts => "as many as there are hosts ready",
            WorkersBound::Growing => "growing",
            WorkersBound::Line => "the line is full",
            WorkersBound::Cores => "the cores are busy",
            WorkersBound::Memory => "little memory is left",
            WorkersBound::Ceiling => "as many as memory and open files permit",
        }
    }
}

/// One word.
impl fmt::Display for WorkersBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WorkersBound::Hosts => "hosts",
            WorkersBound::Growing => "growing",
            WorkersBound::Line => "line",
            WorkersBound::Cores => "cores",
            WorkersBound::Memory => "memory",
            WorkersBound::Ceiling => "ceiling",
        })
    }
}

/// The workers of a crawl that finds their number itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workers {
    /// Workers that there are now.
    pub now: u64,
    /// Most workers that there may be.
    pub most: u64,
    /// Reason for which there are not more.
    pub bound: WorkersBound,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_has_one_name_everywhere() {
        for bound in WorkersBound::ALL {
            assert_eq!(serde_json::to_string(&bound).unwrap(), format!("\"{bound}\""));
        }
    }
}
