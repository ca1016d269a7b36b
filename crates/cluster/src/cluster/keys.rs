//! The keys of a crawl in etcd.
//!
//! ```text
//! /crawler/<crawl id>/<era>/crawl            written once, when all else is there
//!                          /quota            what nobody has yet
//!                          /quota/<shard>    what was granted to a shard in all
//!                          /figures/<name>   of a node, under its lease
//!                          /live/want        whether to run; number of lists of seeds
//!                          /live/seeds/<n>   a list of seeds
//!                          /live/end         how the crawl has ended
//!                          /live/halted/<s>  a shard that nobody may claim
//!                          /live/node/<name> a node, under its lease
//!                          /live/drain/<name> a node that gives up its shards, under its lease
//!                          /live/owner/<s>   who has a shard, under the node's lease
//!                          /live/head/<s>    the last committed checkpoint of a shard
//! ```
//! Nodes watch what is below `live/` by one watch, since only one gives all changes in the order of their revisions.
//! What changes often and has to wake nobody is not there. The era is the era of the crawl in the store: after
//! `recover` no transaction of a node from before meets a key.

use std::str::FromStr;

/// The names of a crawl's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    prefix: String,
    live: String,
}

/// Kinds of keys below `live/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Live {
    Want,
    Seeds(u32),
    End,
    Halted(u32),
    Node(String),
    Drain(String),
    Owner(u32),
    Head(u32),
}

impl Keys {
    /// Makes the keys of the crawl with this id, in this era.
    pub fn new(crawl: &str, era: u32) -> Keys {
        let prefix = format!("/crawler/{crawl}/{era:04}/");
        Keys { live: format!("{prefix}live/"), prefix }
    }

    /// Returns the prefix of all keys.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the prefix of the keys that nodes watch.
    pub fn live(&self) -> &str {
        &self.live
    }

    pub(super) fn crawl(&self) -> String {
        format!("{}crawl", self.prefix)
    }

    pub(super) fn quota(&self) -> String {
        format!("{}quota", self.prefix)
    }

    pub(super) fn granted(&self, shard: u32) -> String {
        format!("{}quota/{shard}", self.prefix)
    }

    /// The shard to which what the key says was granted.
    pub(super) fn parse_granted(&self, key: &str) -> Option<u32> {
        key.strip_prefix(&self.prefix)?.strip_prefix("quota/")?.parse().ok()
    }

    pub(super) fn all_figures(&self) -> String {
        format!("{}figures/", self.prefix)
    }

    /// The key of the figures of a node.
    pub(crate) fn figures(&self, node: &str) -> String {
        format!("{}figures/{node}", self.prefix)
    }

    pub(super) fn want(&self) -> String {
        format!("{}want", self.live)
    }

    pub(super) fn seeds(&self, number: u32) -> String {
        format!("{}seeds/{number}", self.live)
    }

    pub(super) fn end(&self) -> String {
        format!("{}end", self.live)
    }

    pub(super) fn halted(&self, shard: u32) -> String {
        format!("{}halted/{shard}", self.live)
    }

    pub(super) fn node(&self, name: &str) -> String {
        format!("{}node/{name}", self.live)
    }

    pub(super) fn drain(&self, name: &str) -> String {
        format!("{}drain/{name}", self.live)
    }

    pub(super) fn owner(&self, shard: u32) -> String {
        format!("{}owner/{shard}", self.live)
    }

    pub(super) fn head(&self, shard: u32) -> String {
        format!("{}head/{shard}", self.live)
    }

    /// Returns the kind of a key below `live/`, and `None` where it is none of ours.
    pub(super) fn parse(&self, key: &str) -> Option<Live> {
        let name = key.strip_prefix(&self.live)?;
        Some(match name.split_once('/') {
            None if name == "want" => Live::Want,
            None if name == "end" => Live::End,
            Some(("seeds", number)) => Live::Seeds(parsed(number)?),
            Some(("halted", shard)) => Live::Halted(parsed(shard)?),
            Some(("owner", shard)) => Live::Owner(parsed(shard)?),
            Some(("head", shard)) => Live::Head(parsed(shard)?),
            Some(("node", name)) => Live::Node(name.to_owned()),
            Some(("drain", name)) => Live::Drain(name.to_owned()),
            _ => return None,
        })
    }
}

fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_live_key_is_known_again() {
        let keys = Keys::new("4f1c", 2);
        assert_eq!(keys.crawl(), "/crawler/4f1c/0002/crawl");
        for (key, expected) in [
            (keys.want(), Live::Want),
            (keys.seeds(3), Live::Seeds(3)),
            (keys.end(), Live::End),
            (keys.halted(17), Live::Halted(17)),
            (keys.node("a.b/c"), Live::Node("a.b/c".to_owned())),
            (keys.drain("n1"), Live::Drain("n1".to_owned())),
            (keys.owner(17), Live::Owner(17)),
            (keys.head(4_095), Live::Head(4_095)),
        ] {
            assert_eq!(keys.parse(&key), Some(expected));
            assert_eq!(Keys::new("4f1c", 3).parse(&key), None);
        }
        for key in [keys.crawl(), keys.quota(), keys.granted(1), keys.figures("n1"), format!("{}owner/x", keys.live())]
        {
            assert_eq!(keys.parse(&key), None, "{key}");
        }
    }
}
