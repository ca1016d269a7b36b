//! Links meet what they lead to: one pass over the links, the URLs and the chains of redirects, all in the order of
//! their keys.

use super::chains::Chain;
use super::external::{ExternalCounts, Verdict, is_checked};
use super::figures::Figures;
use super::finding::{Finding, Findings, Kind};
use super::link::{How, Link};
use super::node::{Answered, Node};
use super::sample::Sample;
use super::spool::{Lines, Spool};
use super::tree::{Leaf, Tree};
use crate::disk::Result;

/// Sitemaps of an orphan that are reported.
const SITEMAPS_TOLD: usize = 8;

/// Files that are read side by side.
pub(super) struct Sides<'a> {
    pub links: &'a Spool,
    pub nodes: &'a Spool,
    pub chains: &'a Spool,
    pub external: Option<External<'a>>,
}

/// External URLs that were checked.
#[derive(Clone, Copy)]
pub(super) struct External<'a> {
    /// Their keys.
    pub keys: &'a Spool,
    pub verdicts: &'a Spool,
}

/// A URL that links lead to, while they are read.
struct Target {
    key: String,
    node: Option<Node>,
    chain: Option<Chain>,
    /// Somebody can come to it along a link of another page.
    is_linked: bool,
    /// The sitemaps that list it.
    sitemaps: Vec<String>,
    /// Its place in the sample.
    sampled: Option<usize>,
    /// The fault of the target where it is external.
    external_fault: Option<String>,
}

/// Finds what is wrong with links, and puts those between pages of `sample` into it. Says what came of external ones.
pub(super) fn find(sides: &Sides<'_>, sample: &mut Sample, findings: &mut Findings) -> Result<ExternalCounts> {
    let (mut links, mut nodes) = (sides.links.read(), sides.nodes.read());
    let mut chains = sides.chains.read();
    let mut external = sides.external.map(|external| (external.keys.read(), external.verdicts.read()));
    let mut counts = ExternalCounts::default();
    while let Some(key) = links.key()? {
        let node = Node::of(&mut nodes, &key)?;
        let chain = chains.next_of(&key)?.map(|line| Chain::of_line(&line));
        let text = String::from_utf8_lossy(&key).into_owned();
        let sampled = sample.place(&text);
        let external_fault = external_fault(&mut external, &key, &mut counts)?;
        let (is_linked, sitemaps) = (false, Vec::new());
        let mut target = Target { key: text, node, chain, is_linked, sitemaps, sampled, external_fault };
        while let Some(line) = links.peek()? {
            if super::line::key(line) != key {
                break;
            }
            let link = links.next()?.and_then(Link::of_line);
            let Some(link) = link else { continue };
            if let Some(place) = target.sampled.filter(|_| link.how == How::Anchor) {
                sample.edge(&link.source, place);
            }
            target.take(&link, findings)?;
        }
        target.end(findings)?;
    }
    Ok(counts)
}

/// Returns what is wrong with the URL of this key, if it is an external one.
fn external_fault(
    external: &mut Option<(Lines<'_>, Lines<'_>)>,
    key: &[u8],
    counts: &mut ExternalCounts,
) -> Result<Option<String>> {
    let Some((keys, verdicts)) = external else { return Ok(None) };
    if keys.next_of(key)?.is_none() {
        return Ok(None);
    }
    let verdict = Verdict::of(verdicts, key)?;
    counts.count(&verdict);
    Ok(match verdict {
        Verdict::Broken(why) => Some(why),
        _ => None,
    })
}

/// Counts and draws the entries of the file of URLs.
pub(super) fn count(nodes: &Spool, tree: &mut Tree, figures: &mut Figures) -> Result<()> {
    let mut lines = nodes.read();
    let mut last = String::new();
    while let Some(line) = lines.next()? {
        let Some((key, node)) = Node::of_line(line).filter(|(key, _)| *key != last) else { continue };
        let leaf = match &node {
            node if node.is_page() => Leaf::Page,
            node if node.fault().is_some() => Leaf::Fault,
            _ => Leaf::Other,
        };
        figures.failed += u64::from(matches!(node, Node::Failed(_)));
        figures.forbidden += u64::from(matches!(node, Node::Forbidden(_)));
        if !matches!(node, Node::Forbidden(_)) {
            tree.add(key, leaf);
        }
        last = key.to_owned();
    }
    Ok(())
}

impl Target {
    fn take(&mut self, link: &Link, findings: &mut Findings) -> Result<()> {
        let is_own = link.source == self.key;
        self.is_linked |= link.how.is_followed() && !is_own;
        if let Some(fault) = self.external_fault.as_deref().filter(|_| is_checked(link.how)) {
            findings.push(&self.at(Kind::ExternalBroken, link, fault))?;
        }
        match link.how {
            How::Listed => {
                if self.sitemaps.len() < SITEMAPS_TOLD {
                    self.sitemaps.push(link.source.clone());
                }
                self.listed(link, findings)
            }
            How::Sitemap => match self.node.as_ref().and_then(Node::fault) {
                Some(fault) => findings.push(&self.at(Kind::Sitemap, link, &fault)),
                None => Ok(()),
            },
            How::Canonical => self.canonical(link, findings),
            _ => self.named(link, findings),
        }
    }

    /// The finding of this kind about the target, where `link` is.
    fn at(&self, kind: Kind, link: &Link, detail: &str) -> Finding {
        Finding::of(kind, &self.key, detail).at(&link.source, link.how.name(), &link.text)
    }

    /// A link that a visitor or a browser follows.
    fn named(&self, link: &Link, findings: &mut Findings) -> Result<()> {
        if let Some(fault) = self.node.as_ref().and_then(Node::fault) {
            findings.push(&self.at(Kind::Broken, link, &fault))?;
        }
        if let Some(kind) = self.node.as_ref().and_then(Node::withheld) {
            findings.push(&self.at(Kind::Withheld, link, kind.text()))?;
        }
        if let Some(chain) = self.chain.as_ref().filter(|_| link.how != How::Redirect) {
            findings.push(&self.at(kind_of(chain), link, &chain.detail))?;
        }
        let is_own = link.source == self.key;
        match &self.node {
            Some(Node::Forbidden(rule)) => findings.push(&self.at(Kind::Robots, link, rule))?,
            Some(Node::Answered(known)) if known.noindex && link.how == How::Anchor && !is_own => {
                findings.push(&self.at(Kind::Noindex, link, ""))?;
            }
            _ => {}
        }
        if link.nofollow && !link.leaves && link.how == How::Anchor {
            findings.push(&self.at(Kind::Nofollow, link, ""))?;
        }
        Ok(())
    }

    /// The canonical URL of a page.
    fn canonical(&self, link: &Link, findings: &mut Findings) -> Result<()> {
        let at = |kind, detail: &str| Finding::of(kind, &link.source, detail).at(&self.key, "canonical", "");
        if let Some(fault) = self.node.as_ref().and_then(Node::fault) {
            return findings.push(&at(Kind::CanonicalBroken, &fault));
        }
        match &self.node {
            Some(Node::Answered(Answered { redirect, .. })) if !redirect.is_empty() => {
                findings.push(&at(Kind::CanonicalRedirect, &format!("redirects to {redirect}")))
            }
            Some(Node::Answered(known)) if known.noindex => findings.push(&at(Kind::CanonicalNoindex, "noindex")),
            Some(Node::Forbidden(rule)) => findings.push(&at(Kind::CanonicalNoindex, &format!("robots.txt: {rule}"))),
            Some(Node::Answered(Answered { canonical, .. })) if !canonical.is_empty() => {
                findings.push(&at(Kind::CanonicalChain, &format!("its canonical URL is {canonical}")))
            }
            _ => Ok(()),
        }
    }

    /// An entry of a sitemap.
    fn listed(&self, link: &Link, findings: &mut Findings) -> Result<()> {
        let why = match &self.node {
            None => return Ok(()),
            Some(node) if node.fault().is_some() => node.fault().unwrap_or_default(),
            Some(Node::Forbidden(rule)) => format!("robots.txt excludes it: {rule}"),
            Some(Node::Answered(known)) if !known.redirect.is_empty() => format!("redirects to {}", known.redirect),
            Some(Node::Answered(known)) if known.noindex => "noindex".to_owned(),
            Some(Node::Answered(known)) if !known.canonical.is_empty() => {
                format!("its canonical URL is {}", known.canonical)
            }
            Some(_) => return Ok(()),
        };
        findings.push(&self.at(Kind::Sitemap, link, &why))
    }

    /// Reports what is known when all links are read.
    fn end(&self, findings: &mut Findings) -> Result<()> {
        let Some(Node::Answered(known)) = &self.node else { return Ok(()) };
        let is_seed = known.depth == Some(0);
        if let Some(chain) = self.chain.as_ref().filter(|_| is_seed) {
            findings.push(&Finding::of(kind_of(chain), &self.key, &chain.detail).at("", "seed", ""))?;
        }
        let is_indexed = known.status == 200 && known.is_html && !known.noindex && known.canonical.is_empty();
        if is_indexed && !is_seed && !self.is_linked {
            for sitemap in &self.sitemaps {
                findings.push(&Finding::of(Kind::Orphan, &self.key, "").at(sitemap, "listed", ""))?;
            }
        }
        Ok(())
    }
}

fn kind_of(chain: &Chain) -> Kind {
    if chain.is_loop { Kind::RedirectLoop } else { Kind::RedirectChain }
}
