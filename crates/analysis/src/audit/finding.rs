//! The results of an audit: kinds, findings and the places where they show. They are lines, sorted by these three.

use super::line::{fields, line};
use crate::disk::Result;
use crate::disk::sorter::Sorter;

/// Degrees of gravity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Visitors meet it.
    Error,
    /// Search engines and readers are misled.
    Warning,
    /// It may be meant so.
    Notice,
}

macro_rules! kinds {
    ($($kind:ident $name:literal $weight:ident $title:literal $about:literal)*) => {
        /// Kinds of findings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = $about] $kind,)*
        }

        impl Kind {
            /// All kinds, in the order of the report.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind,)*];

            /// Returns its name in files and options.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)* }
            }

            /// Returns its title in the report.
            pub(crate) fn title(self) -> &'static str {
                match self { $(Kind::$kind => $title,)* }
            }

            /// Returns what it means, in a sentence.
            pub(crate) fn about(self) -> &'static str {
                match self { $(Kind::$kind => $about,)* }
            }

            /// Returns how grave it is.
            pub(crate) fn weight(self) -> Weight {
                match self { $(Kind::$kind => Weight::$weight,)* }
            }
        }
    };
}

kinds! {
    Broken "broken" Error "Broken links"
        "Links, images, scripts and redirects to a URL that answers with an error or not at all."
    ExternalBroken "external-broken" Error "Broken external links"
        "Links to other sites that answer with 404, 410 or a server error, or cannot be reached; with --check-external."
    RedirectLoop "redirect-loop" Error "Redirect loops"
        "Redirects that lead back to themselves."
    RedirectChain "redirect-chain" Warning "Redirect chains"
        "Redirects to another redirect; one hop would do."
    MixedContent "mixed-content" Error "Mixed content"
        "Pages fetched by https that embed something by http; browsers block it or warn."
    TitleMissing "title-missing" Warning "Pages without a title"
        "Pages that have no title element, or an empty one."
    TitleDuplicate "title-duplicate" Warning "Titles of several pages"
        "One title on several pages."
    DescriptionMissing "description-missing" Notice "Pages without a description"
        "Pages that have no meta description, or an empty one."
    DescriptionDuplicate "description-duplicate" Notice "Descriptions of several pages"
        "One meta description on several pages."
    H1Missing "h1-missing" Warning "Pages without a main heading"
        "Pages that have no h1 element, or an empty one."
    H1Duplicate "h1-duplicate" Notice "Main headings of several pages"
        "One first h1 on several pages."
    CanonicalBroken "canonical-broken" Error "Canonical URLs that fail"
        "Pages whose canonical URL answers with an error or not at all."
    CanonicalRedirect "canonical-redirect" Warning "Canonical URLs that redirect"
        "Pages whose canonical URL redirects elsewhere."
    CanonicalNoindex "canonical-noindex" Warning "Canonical URLs that must not be indexed"
        "Pages whose canonical URL is a page with noindex, or one that robots.txt excludes."
    CanonicalChain "canonical-chain" Warning "Canonical URLs with another canonical URL"
        "Pages whose canonical URL is a page that names another page as its canonical URL."
    CanonicalSeveral "canonical-several" Warning "Pages with several canonical URLs"
        "Pages that name more than one canonical URL; search engines ignore all of them then."
    DuplicateContent "duplicate-content" Warning "Same content without a canonical URL"
        "Pages with the very same content under several URLs, at least two of which name no other page as canonical."
    Noindex "noindex" Notice "Linked pages with noindex"
        "Pages that ask not to be indexed, and are linked to."
    NofollowPage "nofollow-page" Notice "Pages with nofollow"
        "Pages that ask not to follow any of their links."
    Nofollow "nofollow" Notice "Nofollow links within the site"
        "Links with rel=nofollow to the same host."
    Robots "robots" Notice "Linked URLs that robots.txt excludes"
        "URLs that are linked to and that robots.txt forbids to fetch."
    Withheld "withheld" Notice "Linked URLs that were not shown to the crawler"
        "Linked URLs that answer the crawler with a challenge, a wall or a demand of payment; visitors may get more."
    Orphan "orphan" Warning "Orphans"
        "Pages of a sitemap that no other page links to."
    Sitemap "sitemap" Warning "Sitemap entries that fail"
        "URLs of a sitemap that answer with an error, redirect, or must not be indexed; sitemaps that fail themselves."
    HreflangReturn "hreflang-return" Warning "Translations that do not link back"
        "Pages that name a translation (hreflang) which does not name them in turn."
    HreflangCode "hreflang-code" Warning "Wrong hreflang codes"
        "Values of hreflang that are no language code, or have an unknown region."
    ImageAlt "image-alt" Warning "Images without alternative text"
        "Images that have no alt attribute. An empty one is right for decoration, and no finding."
}

impl Kind {
    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// A place where a finding shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// The page, image or page of the other language; empty where the finding is the place.
    pub url: String,
    /// The way in which it names what the finding is about: `anchor`, `embed` and so on.
    pub how: String,
    /// The text of the anchor, the code of the language.
    pub text: String,
}

/// A finding in one place: findings with several places have a row for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: Kind,
    /// Subject of the finding: a URL, or the text that several pages have.
    pub subject: String,
    /// The place where it shows.
    pub item: Item,
    /// Details about the subject, in words.
    pub detail: String,
}

impl Finding {
    /// A finding about `subject` itself.
    pub(crate) fn of(kind: Kind, subject: &str, detail: &str) -> Finding {
        Finding { kind, subject: subject.to_owned(), item: Item::default(), detail: detail.to_owned() }
    }

    /// The finding in a place.
    #[must_use]
    pub(crate) fn at(mut self, url: &str, how: &str, text: &str) -> Finding {
        self.item = Item { url: url.to_owned(), how: how.to_owned(), text: text.to_owned() };
        self
    }

    /// Its line.
    pub(super) fn line(&self) -> Vec<u8> {
        let place = Kind::ALL.iter().position(|kind| *kind == self.kind).unwrap_or_default();
        let kind = char::from(b'A' + place as u8).to_string();
        line([&kind, &self.subject, &self.item.url, &self.item.how, &self.item.text, &self.detail])
    }

    /// Reads the finding from a line.
    pub(super) fn of_line(line: &[u8]) -> Option<Finding> {
        let [kind, subject, url, how, text, detail] = fields(line);
        let place = kind.bytes().next()?.checked_sub(b'A')?;
        let kind = *Kind::ALL.get(usize::from(place))?;
        Some(Finding::of(kind, subject, detail).at(url, how, text))
    }

    /// Returns what makes it the same finding as one of another audit: kind, subject and place, not its words.
    pub(super) fn identity(&self) -> (Kind, &str, &str) {
        (self.kind, &self.subject, &self.item.url)
    }
}

/// Takes findings, in any order.
pub(super) struct Findings {
    sorter: Sorter,
}

impl Findings {
    /// Makes an empty list with this many bytes of memory.
    pub(super) fn new(memory: usize) -> Findings {
        Findings { sorter: Sorter::new(memory) }
    }

    pub(super) fn push(&mut self, finding: &Finding) -> Result<()> {
        self.sorter.push(&finding.line())
    }

    /// The sorter with their lines.
    pub(super) fn into_sorter(self) -> Sorter {
        self.sorter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_read_as_they_were_written_and_names_are_unique() {
        for kind in Kind::ALL {
            let finding = Finding::of(*kind, "https://a.example/", "404").at("https://a.example/b", "anchor", "ü");
            assert_eq!(Finding::of_line(&finding.line()), Some(finding));
            assert_eq!(Kind::parse(kind.name()), Some(*kind));
        }
        assert!(Kind::ALL.len() < 60, "a letter is enough");
        assert_eq!(Finding::of_line(b""), None);
    }

    #[test]
    fn kinds_come_in_the_order_of_the_report() {
        let lines: Vec<_> = Kind::ALL.iter().map(|kind| Finding::of(*kind, "x", "").line()).collect();
        assert!(lines.is_sorted());
    }
}
