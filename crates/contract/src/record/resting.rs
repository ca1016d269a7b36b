//! Hosts that rest: what the display, `status` and the closing statistics say of them, above all where nothing else is
//! left.

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::text::escape::Escaped;
use crate::text::figures::{count, counted, date};

/// Hosts with URLs that rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resting {
    /// Number of the hosts that are in memory.
    pub hosts: u64,
    /// True if the crawl has nothing else left.
    pub is_all: bool,
    /// Time at which the first of them is asked again.
    #[serde(rename = "first_ms")]
    pub first: Option<Time>,
    /// Time at which the last of them is asked again.
    #[serde(rename = "last_ms")]
    pub last: Option<Time>,
    /// Time at which the crawl ends although they have URLs: none of them ever answered.
    #[serde(rename = "ends_ms")]
    pub ends: Option<Time>,
    /// The hosts that rest longest.
    pub longest: Vec<RestingHost>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestingHost {
    /// `scheme://host:port`.
    pub host: String,
    /// Reason of the rest.
    pub why: String,
    /// Time at which the host is asked again.
    #[serde(rename = "until_ms")]
    pub until: Time,
}

impl Resting {
    /// Returns one line: how many hosts rest, which one longest and why, until when.
    pub fn line(&self) -> String {
        let mut line = format!("{} left, all waiting", counted(self.hosts, "host"));
        if let Some(host) = self.longest.first() {
            let more = if self.longest.len() > 1 { " and others" } else { "" };
            line.push_str(&format!(
                "  until {}  {}{more}: {}",
                date(host.until),
                Escaped(&host.host),
                Escaped(&host.why)
            ));
        }
        if let Some(ends) = self.ends {
            line.push_str(&format!("  none ever answered: the crawl ends at {}", date(ends)));
        }
        line
    }

    /// Hosts with their causes, a line each.
    pub fn hosts(&self) -> impl Iterator<Item = String> + use<'_> {
        let named = self.longest.iter().map(|host| format!("{}: {}", Escaped(&host.host), Escaped(&host.why)));
        let others = self.hosts.saturating_sub(self.longest.len() as u64);
        named.chain((others > 0).then(|| format!("and {} others", count(others))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_resting_hosts_are_told_with_cause_and_end_and_escaped() {
        let host = |host: &str| RestingHost {
            host: host.to_owned(),
            why: "connection refused".to_owned(),
            until: Time::from_ms(1_800_000_000_000),
        };
        let resting = Resting {
            hosts: 5,
            ends: Some(Time::from_ms(1_800_000_060_000)),
            longest: vec![host("http://a\x1b"), host("http://b")],
            ..Resting::default()
        };
        let line = resting.line();
        assert!(line.starts_with("5 hosts left, all waiting  until 2027-01-15 08:00:00"), "{line}");
        assert!(line.contains("http://a\\x1b and others: connection refused"), "{line}");
        assert!(line.contains("the crawl ends at 2027-01-15 08:01:00"), "{line}");
        let hosts: Vec<String> = resting.hosts().collect();
        assert_eq!(hosts[1..], ["http://b: connection refused".to_owned(), "and 3 others".to_owned()]);
    }
}
