//! Plain values about renderings that pass between the engine, those who process pages and those who render them.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::outcome::Failure;
use crate::web::url::CanonicalUrl;

/// Answers to banners that ask for consent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consent {
    /// Nothing.
    #[default]
    Off,
    /// All that can be refused is refused.
    Reject,
    /// All is accepted.
    Accept,
}

/// A page looks like one of scripts that has no more links, or less text.
const FEW_LINKS: u32 = 2;
const LITTLE_TEXT_BYTES: u64 = 512;

/// The pages that are rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RenderMode {
    /// None.
    #[default]
    Off,
    /// Pages of patterns that show more when they are rendered.
    Needed,
    /// All.
    Always,
}

/// The wish to render a page, or not, as far as it is known before the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RenderWish {
    /// It is not rendered.
    #[default]
    No,
    /// It is rendered if it looks as if it needed it.
    IfScripted,
    /// It is rendered if it has a script and nothing is known of its pattern: to see whether that needs it.
    Try,
    /// It is rendered if it has a script: pages of its pattern show more so.
    Pattern,
    /// It is rendered if it has a script: to see whether its pattern is as it was.
    Sample,
    /// It is rendered, whatever it looks like.
    Always,
}

impl RenderWish {
    /// Returns why a page that shows `found` is rendered, if it is.
    pub fn reason(self, found: &Found) -> Option<&'static str> {
        match self {
            RenderWish::No => None,
            RenderWish::Always => Some("always"),
            // nothing changes a page without a script
            _ if found.scripts == 0 => None,
            RenderWish::Pattern => Some("pattern"),
            RenderWish::Sample => Some("sample"),
            _ if found.looks_scripted() => Some("scripts"),
            RenderWish::Try => Some("firstOfPattern"),
            RenderWish::IfScripted => None,
        }
    }

    /// True if it holds whatever is learnt until the page has come.
    pub fn is_settled(self) -> bool {
        matches!(self, RenderWish::Always | RenderWish::Pattern | RenderWish::Sample)
    }
}

/// Numbers of what a page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Scripts in it.
    pub scripts: u32,
    /// Links that are in scope.
    pub links: u32,
    /// Bytes of its text.
    pub text_bytes: u64,
}

impl Found {
    /// True if a page that shows this looks as if its scripts made it.
    pub fn looks_scripted(&self) -> bool {
        self.scripts > 0 && (self.links <= FEW_LINKS || self.text_bytes < LITTLE_TEXT_BYTES)
    }

    /// Returns whether a rendering that shows `self` was worth it for a page that shows `before` without.
    pub fn is_more_than(&self, before: &Found) -> bool {
        self.links > before.links || self.text_bytes > before.text_bytes + before.text_bytes / 4 + 64
    }
}

/// The result of rendering a page.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// Number of the rendering.
    pub number: u64,
    /// Reason for which it was rendered.
    pub why: &'static str,
    /// Reason for which there is no rendered page, if there is none.
    pub failure: Option<String>,
    /// No browser was asked: the page does not need it.
    pub is_as_served: bool,
    /// The limit that ended the wait for the page, in a word, where it was not quiet by then.
    pub cut_by: Option<&'static str>,
    /// Numbers of what the page showed as it was served.
    pub before: Found,
    /// Numbers of what it showed when it was rendered; those of `before` where it was not.
    pub after: Found,
    /// Time that it took.
    pub duration: Duration,
}

impl Rendered {
    /// It in a word or two, for crawl.log and the metadata record.
    pub fn note(&self) -> String {
        match &self.failure {
            _ if self.is_as_served => "notRendered".to_owned(),
            Some(why) => format!("renderFailed:{}", why.replace([' ', ','], "_")),
            None => {
                let more = i64::from(self.after.links) - i64::from(self.before.links);
                let cut_by = self.cut_by.map_or(String::new(), |limit| format!(":{limit}"));
                format!("rendered:{}:{}ms:links{more:+}{cut_by}", self.why, self.duration.as_millis())
            }
        }
    }

    /// True if a browser has made anything of the page.
    pub fn has_page(&self) -> bool {
        self.failure.is_none() && !self.is_as_served
    }

    /// True if it showed more than the page without.
    pub fn showed_more(&self) -> bool {
        self.has_page() && self.after.is_more_than(&self.before)
    }
}

/// The identity of a request of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId {
    /// The rendering.
    pub rendering: u64,
    /// The request, by the number that the page's renderer gave it.
    pub number: u64,
}

/// A page asks for a URL.
#[derive(Debug)]
pub struct Ask {
    /// The request, and its rendering.
    pub id: AskId,
    /// The URL that is asked for, always with GET.
    pub url: CanonicalUrl,
    /// Fields of the head that scripts of the page have set: names in lower case.
    pub fields: Vec<(String, String)>,
}

/// The answer for a page.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The server's answer.
    Got(Arc<Resource>),
    /// Nothing.
    Refused(Refusal),
}

/// Reason for which a page does not get what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The rendering has its end, or the crawl stops.
    Stopping,
    /// The page has asked for too much.
    Requests,
    /// A rule of the scope excludes it.
    Scope,
    /// The domain of the page has used up its budget.
    Budget,
    /// It belongs to another site that the crawl has a login, a password or the like for: the page must not read what
    /// only that may see.
    Identity,
    /// robots.txt forbids it, or cannot be had.
    Robots,
    /// There was no answer.
    Failed(Failure),
}

impl Refusal {
    /// It in a word, for logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Refusal::Stopping => "stopping",
            Refusal::Requests => "too many requests",
            Refusal::Scope => "excluded",
            Refusal::Budget => "budget",
            Refusal::Identity => "another site with a login",
            Refusal::Robots => "robots.txt",
            Refusal::Failed(_) => "no answer",
        }
    }
}

/// An answer as a page gets it: its body is decoded.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Status code.
    pub status: u16,
    /// Names and values, without what describes a connection or a coding.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}
