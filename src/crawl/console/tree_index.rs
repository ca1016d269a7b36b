//! Sums of what is archived, by domain, host and path: read once from key.dat, in bounded memory.
//!
//! key.dat is in the order of fetching, so that any question about a prefix would read all of it. It is append-only:
//! what was read stays right, and later questions read on from there. Memory is bounded by [`NODES_MAX`] nodes, of
//! which paths take no more than three quarters, and a node has at most [`CHILDREN_MAX`] children; what finds no place
//! is summed up at its parent. Ten million pages are some 1.5 GB of key.dat, once for each console.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::directories::fault;
use crate::console::Problem;
use crate::container::KeyRecord;
use crate::dirs::Archives;
use crate::record::origin_of;
use crate::web::url::CanonicalUrl;

/// Nodes of the tree: some twenty megabytes.
const NODES_MAX: usize = 100_000;
/// Nodes of paths among them.
const PATHS_MAX: usize = NODES_MAX / 4 * 3;
/// Children of a node.
const CHILDREN_MAX: u32 = 5_000;
/// Directories of a path that have their own nodes.
const DEPTH_MAX: usize = 6;
/// Bytes of a name; longer ones find no place.
const NAME_BYTES_MAX: usize = 200;
/// Records between two looks at the clock.
const RECORDS_PER_LOOK: u64 = 4_096;

/// The node above all domains.
pub(super) const ROOT: u32 = 0;

/// Sums of what is archived at and below a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub pages: u64,
    pub bytes: u64,
    pub errors: u64,
}

impl Sums {
    fn add(&mut self, other: Sums) {
        self.pages += other.pages;
        self.bytes += other.bytes;
        self.errors += other.errors;
    }
}

/// A domain, a host, a directory or a page.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// All of it.
    pub all: Sums,
    /// Sums of what is below it and has no node.
    pub rest: Sums,
    /// Sums of what is archived at its own address.
    pub own: Sums,
    /// Number of nodes right below it.
    pub children: u32,
}

/// The nodes of a host and of its domain.
#[derive(Clone, Copy, Debug)]
struct HostNodes {
    domain: u32,
    host: u32,
}

/// The tree, as far as the archive was read.
#[derive(Debug)]
pub(super) struct TreeIndex {
    /// Time at which the crawl was created: another one in the same directory has another tree.
    created: u64,
    nodes: Vec<Node>,
    by_name: HashMap<(u32, Box<str>), u32>,
    paths: usize,
    /// The origins that have nodes.
    hosts: HashMap<Box<str>, HostNodes>,
    /// The last record of each shard that was read.
    read: Vec<Option<u64>>,
    /// Records that were read.
    pub records: u64,
}

impl TreeIndex {
    /// Makes the tree of a crawl with this number of shards that was `created` then; nothing is read yet.
    pub(crate) fn new(created: u64, shards: usize) -> TreeIndex {
        TreeIndex {
            created,
            nodes: vec![Node::default()],
            by_name: HashMap::new(),
            paths: 0,
            hosts: HashMap::new(),
            read: vec![None; shards],
            records: 0,
        }
    }

    /// True if the tree belongs to this crawl.
    pub(crate) fn is_of(&self, created: u64, shards: usize) -> bool {
        (self.created, self.read.len()) == (created, shards)
    }

    /// Reads on for no longer than `patience`; says whether all was read that is there.
    pub(crate) fn read_on(&mut self, archives: &Archives, patience: Duration) -> Result<bool, Problem> {
        let begun = Instant::now();
        for place in 0..self.read.len() {
            let Some(reader) = archives.reader(place).map_err(fault)? else { continue };
            let from = self.read[place];
            // the record that was read last is read again, and not counted
            let records = reader.records_from(from.unwrap_or(0)).skip(usize::from(from.is_some()));
            for (number, record) in (1..).zip(records) {
                let record = record.map_err(fault)?;
                self.read[place] = Some(record.offset);
                self.add(&record);
                if number % RECORDS_PER_LOOK == 0 && begun.elapsed() >= patience {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Counts a record; the crawl's own robots.txt are no pages.
    fn add(&mut self, record: &KeyRecord) {
        self.records += 1;
        if record.robots {
            return;
        }
        let sums = Sums {
            pages: u64::from(record.previous.is_none()),
            bytes: record.payload_bytes,
            errors: u64::from(record.status >= 400),
        };
        self.count(&record.url, sums);
    }

    fn count(&mut self, url: &str, sums: Sums) {
        self.nodes[ROOT as usize].all.add(sums);
        let Some((path, is_whole)) = self.path_to(url) else { return self.nodes[ROOT as usize].rest.add(sums) };
        path.iter().for_each(|&node| self.nodes[node as usize].all.add(sums));
        let last = path.last().map_or(ROOT, |&node| node) as usize;
        let at = if is_whole { &mut self.nodes[last].own } else { &mut self.nodes[last].rest };
        at.add(sums);
    }

    /// The nodes above and at `url` from its domain on, and whether those are all; nothing where there is no place.
    fn path_to(&mut self, url: &str) -> Option<(Vec<u32>, bool)> {
        let origin = origin_of(url)?;
        let HostNodes { domain, host } = match self.hosts.get(origin) {
            Some(&found) => found,
            None => {
                let parsed = CanonicalUrl::parse(url).ok()?;
                let domain = self.child(ROOT, parsed.registrable_domain(), false)?;
                let Some(host) = self.child(domain, origin, false) else { return Some((vec![domain], false)) };
                let nodes = HostNodes { domain, host };
                self.hosts.insert(origin.into(), nodes);
                nodes
            }
        };
        let mut path = vec![domain, host];
        for name in segments(&url[origin.len()..]) {
            match self.child(path[path.len() - 1], name, true) {
                Some(node) => path.push(node),
                None => return Some((path, false)),
            }
        }
        Some((path, true))
    }

    /// The child of `parent` with this name, made where there is a place for it.
    fn child(&mut self, parent: u32, name: &str, is_path: bool) -> Option<u32> {
        if let Some(&node) = self.by_name.get(&(parent, Box::from(name))) {
            return Some(node);
        }
        let is_full = self.nodes.len() >= NODES_MAX || is_path && self.paths >= PATHS_MAX;
        if is_full || self.nodes[parent as usize].children >= CHILDREN_MAX || name.len() > NAME_BYTES_MAX {
            return None;
        }
        let node = u32::try_from(self.nodes.len()).ok()?;
        self.nodes.push(Node::default());
        self.nodes[parent as usize].children += 1;
        self.paths += usize::from(is_path);
        self.by_name.insert((parent, name.into()), node);
        Some(node)
    }

    /// The node of the crawl, of a domain, or of the prefix of URLs that `under` is.
    pub(crate) fn find(&self, under: &str) -> Option<u32> {
        if under.is_empty() {
            return Some(ROOT);
        }
        let child = |parent: u32, name: &str| self.by_name.get(&(parent, Box::from(name))).copied();
        let Some(origin) = origin_of(under) else { return child(ROOT, under) };
        let host = self.hosts.get(origin)?.host;
        segments(&under[origin.len()..]).try_fold(host, child)
    }

    /// The node with this number.
    pub(crate) fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// Names and nodes right below `parent`.
    pub(crate) fn children(&self, parent: u32) -> impl Iterator<Item = (&str, &Node)> {
        let below = self.by_name.iter().filter(move |((of, _), _)| *of == parent);
        below.map(|((_, name), &node)| (&**name, self.node(node)))
    }
}

/// The parts of a path with its query: `/a/b?c` is `a/` and `b?c`. `/` has none. Directories beyond [`DEPTH_MAX`] are
/// one part with what is in them.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let end = path.find('?').unwrap_or(path.len());
    let mut rest = path;
    let mut depth = 0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let consumed = path.len() - rest.len();
        let slash = rest[..end.saturating_sub(consumed).min(rest.len())].find('/');
        let cut = slash.filter(|_| depth < DEPTH_MAX).map_or(rest.len(), |slash| slash + 1);
        let (part, behind) = rest.split_at(cut);
        (rest, depth) = (behind, depth + 1);
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Vec<&str> {
        segments(path).collect()
    }

    #[test]
    fn a_path_has_a_part_for_each_directory_and_one_for_the_page() {
        assert_eq!(parts("/"), [""; 0]);
        assert_eq!(parts("/a"), ["a"]);
        assert_eq!(parts("/a/b/"), ["a/", "b/"]);
        assert_eq!(parts("/a/b?c=/d/e"), ["a/", "b?c=/d/e"]);
        assert_eq!(parts("/?q=a/b"), ["?q=a/b"]);
        assert_eq!(parts("//x"), ["/", "x"]);
        assert_eq!(parts("/1/2/3/4/5/6/7/8"), ["1/", "2/", "3/", "4/", "5/", "6/", "7/8"]);
    }

    fn index(urls: &[(&str, u64)]) -> TreeIndex {
        let mut index = TreeIndex::new(1, 1);
        for &(url, bytes) in urls {
            index.count(url, Sums { pages: 1, bytes, errors: u64::from(url.contains("gone")) });
        }
        index
    }

    #[test]
    fn every_page_is_counted_at_each_node_above_it() {
        let index = index(&[
            ("http://www.a.example/", 1),
            ("http://www.a.example/x/", 2),
            ("http://www.a.example/x/gone", 4),
            ("http://other.a.example/y?z", 8),
            ("http://b.example/", 16),
        ]);
        let all = |under: &str| index.find(under).map(|node| index.node(node).all.bytes);
        assert_eq!(all(""), Some(31));
        assert_eq!((all("a.example"), all("b.example"), all("c.example")), (Some(15), Some(16), None));
        assert_eq!((all("http://www.a.example"), all("http://www.a.example/")), (Some(7), Some(7)));
        assert_eq!((all("http://www.a.example/x/"), all("http://www.a.example/x/gone")), (Some(6), Some(4)));
        assert_eq!(all("http://www.a.example/x"), None);
        let www = index.node(index.find("http://www.a.example/").unwrap());
        assert_eq!((www.own.bytes, www.all.errors, www.children), (1, 1, 1));
        let mut hosts: Vec<_> = index.children(index.find("a.example").unwrap()).map(|(name, _)| name).collect();
        hosts.sort_unstable();
        assert_eq!(hosts, ["http://other.a.example", "http://www.a.example"]);
    }

    #[test]
    fn what_finds_no_place_is_summed_up_at_its_parent_and_memory_stays_bounded() {
        let mut index = TreeIndex::new(1, 1);
        let page = Sums { pages: 1, bytes: 10, errors: 0 };
        for host in 0..40 {
            for number in 0..u64::from(CHILDREN_MAX) + 100 {
                index.count(&format!("http://h{host}.example/p{number}"), page);
            }
        }
        assert!(index.nodes.len() <= NODES_MAX && index.paths <= PATHS_MAX);
        let first = index.node(index.find("http://h0.example").unwrap());
        assert_eq!((first.children, first.rest.pages, first.all.pages), (CHILDREN_MAX, 100, 5_100));
        let last = index.node(index.find("http://h39.example").unwrap());
        assert_eq!((last.children, last.rest.pages), (0, 5_100));
        assert_eq!(index.node(ROOT).all.pages, 40 * 5_100);
    }
}
