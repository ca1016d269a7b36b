//! The tree of a site: its hosts and directories, with the pages below each; the largest ones, of a bounded number.
//!
//! URLs come in order, so a directory is at its end when one of another directory comes, and what is kept of it is its
//! largest parts.

/// Directories that are kept of one, and hosts that are kept of all.
const CHILDREN: usize = 8;
const HOSTS: usize = 20;
/// Levels below a host.
const LEVELS: usize = 3;

/// A host or a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Branch {
    /// Its part of the URL.
    pub name: String,
    /// HTML pages with status 200 in it and below.
    pub pages: u64,
    /// Other answers.
    pub others: u64,
    /// URLs that fail.
    pub faults: u64,
    /// The largest directories in it.
    pub children: Vec<Branch>,
    /// The number of further ones that are not shown.
    pub more: u64,
}

impl Branch {
    /// All URLs in it and below.
    pub(crate) fn urls(&self) -> u64 {
        self.pages + self.others + self.faults
    }

    /// Adds a branch that is at its end.
    fn add(&mut self, child: Branch, children_max: usize) {
        self.pages += child.pages;
        self.others += child.others;
        self.faults += child.faults;
        self.children.push(child);
        if self.children.len() > 2 * children_max {
            self.prune(children_max);
        }
    }

    fn prune(&mut self, children_max: usize) {
        self.children.sort_by(|a, b| b.urls().cmp(&a.urls()).then_with(|| a.name.cmp(&b.name)));
        self.more += self.children.len().saturating_sub(children_max) as u64;
        self.children.truncate(children_max);
    }
}

/// Kinds of URLs in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    Page,
    Other,
    Fault,
}

/// Takes URLs in order.
#[derive(Debug, Default)]
pub(super) struct Tree {
    root: Branch,
    /// The directories that the last URL is in, its host first.
    open: Vec<Branch>,
}

impl Tree {
    /// Adds a URL, which comes behind those before it in order.
    pub(super) fn add(&mut self, url: &str, leaf: Leaf) {
        let parts = directories(url);
        let same = self.open.iter().zip(&parts).take_while(|(open, part)| open.name == **part).count();
        self.close(same);
        for part in &parts[same..] {
            self.open.push(Branch { name: (*part).to_owned(), ..Branch::default() });
        }
        let branch = self.open.last_mut().unwrap_or(&mut self.root);
        match leaf {
            Leaf::Page => branch.pages += 1,
            Leaf::Other => branch.others += 1,
            Leaf::Fault => branch.faults += 1,
        }
    }

    /// Ends the directories behind the first `kept`.
    fn close(&mut self, kept: usize) {
        while self.open.len() > kept {
            let Some(mut branch) = self.open.pop() else { return };
            branch.prune(CHILDREN);
            match self.open.last_mut() {
                Some(parent) => parent.add(branch, CHILDREN),
                None => self.root.add(branch, HOSTS),
            }
        }
    }

    /// The whole tree: hosts below a root without a name.
    pub(super) fn finish(mut self) -> Branch {
        self.close(0);
        self.root.prune(HOSTS);
        self.root
    }
}

/// Scheme and host, and the names of the directories behind it, each with what separates it.
fn directories(url: &str) -> Vec<&str> {
    let path = url.find(['?', '#']).map_or(url, |end| &url[..end]);
    let host = path.find("://").map_or(0, |scheme| scheme + 3);
    let mut at = path[host..].find('/').map_or(path.len(), |end| host + end + 1);
    let mut parts = vec![&path[..at]];
    while let Some(end) = path[at..].find('/').filter(|_| parts.len() <= LEVELS) {
        parts.push(&path[at..=at + end]);
        at += end + 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_have_the_pages_below_them() {
        let mut urls = [
            "https://a.example/",
            "https://a.example/d/x",
            "https://a.example/d-e/x",
            "https://a.example/d/e/f/g/h/x?a/b",
            "https://b.example/x/",
            "https://a.example/d",
        ];
        urls.sort_unstable();
        let mut tree = Tree::default();
        for url in urls {
            tree.add(url, if url.ends_with("-e/x") { Leaf::Fault } else { Leaf::Page });
        }
        let root = tree.finish();
        let shown = |branch: &Branch| format!("{} {}+{}", branch.name, branch.pages, branch.faults);
        let shown_all = |branch: &Branch| branch.children.iter().map(shown).collect::<Vec<_>>();
        assert_eq!(shown_all(&root), ["https://a.example/ 4+1", "https://b.example/ 1+0"]);
        assert_eq!(shown_all(&root.children[0]), ["d/ 2+0", "d-e/ 0+1"]);
        let deep = &root.children[0].children[0].children[0];
        assert_eq!((shown(deep), shown_all(deep)), ("e/ 1+0".to_owned(), vec!["f/ 1+0".to_owned()]));
        assert!(deep.children[0].children.is_empty(), "so many levels are enough");
    }

    #[test]
    fn of_many_the_largest_are_kept_and_the_others_counted() {
        let mut urls: Vec<String> = (0..100).map(|n| format!("https://a.example/{n:02}/x")).collect();
        urls.extend((0..50).map(|n| format!("https://a.example/77/{n}")));
        urls.sort();
        let mut tree = Tree::default();
        urls.iter().for_each(|url| tree.add(url, Leaf::Other));
        let root = tree.finish();
        let host = &root.children[0];
        assert_eq!((host.children.len(), host.more, host.others), (CHILDREN, 100 - CHILDREN as u64, 150));
        assert_eq!((host.children[0].name.as_str(), host.children[0].others), ("77/", 51));
    }
}
