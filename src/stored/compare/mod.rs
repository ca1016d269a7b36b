//! Changes of a URL: from one moment to another for `changes` and `diff`, from one version to the next for `list`.
//!
//! Two versions of it are compared, of one archive or of two. Which kind of change it is follows from their statuses
//! and digests, which the index has; a page is read only where its digest is another one.

mod texts;

use std::io::Write;

use serde::Serialize;

use super::{Archive, Damage, Entry, Response};
use crate::clock::Time;
use crate::text::escape::{Escaped, escaped, json_line};
use crate::text::figures::iso_ms;
use crate::web::url::CanonicalUrl;

pub(crate) use texts::{Texts, lines_of, source_of};

/// A kind of change of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A page that was not there.
    New,
    /// A page with another content.
    Changed,
    /// A redirect where a page was, or one to another place.
    Moved,
    /// 404 or 410 where a page or a redirect was.
    Gone,
    /// A page where none was for a while.
    Back,
    /// Another error where a page or a redirect was.
    Failing,
    /// As it was.
    Unchanged,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::New => "new",
            Kind::Changed => "changed",
            Kind::Moved => "moved",
            Kind::Gone => "gone",
            Kind::Back => "back",
            Kind::Failing => "failing",
            Kind::Unchanged => "unchanged",
        }
    }
}

/// The state of a URL in a version, by its status.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Page,
    Redirect,
    Gone,
    Failing,
}

impl Standing {
    fn of(entry: &Entry) -> Standing {
        match entry.status {
            200..=299 => Standing::Page,
            304 if entry.is_confirmed() => Standing::Page,
            300..=399 => Standing::Redirect,
            404 | 410 => Standing::Gone,
            _ => Standing::Failing,
        }
    }
}

/// A version and the archive that it is of.
#[derive(Clone, Copy)]
pub(crate) struct Version<'a> {
    pub(crate) archive: &'a dyn Archive,
    pub(crate) entry: &'a Entry,
}

impl Version<'_> {
    pub(crate) fn response(&self) -> anyhow::Result<Response> {
        self.archive.response(self.entry)
    }

    pub(crate) fn shown(&self) -> anyhow::Result<Response> {
        self.archive.shown(self.entry)
    }

    /// Returns the target of a redirect; as it was sent where it is no URL.
    fn location(&self) -> anyhow::Result<Option<String>> {
        let response = self.response()?;
        let Some(location) = response.header("location").map(String::from_utf8_lossy) else { return Ok(None) };
        let target = CanonicalUrl::parse(&self.entry.url).ok().and_then(|url| url.join(&location).ok());
        Ok(Some(target.map_or_else(|| location.into_owned(), |target| target.as_str().to_owned())))
    }
}

/// A change of a URL and what is known of it: a line of `changes`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    change: Kind,
    url: String,
    /// Time at which it was found so.
    time: Option<String>,
    status: Option<u16>,
    /// Last time at which it was as before.
    before: Option<String>,
    status_before: Option<u16>,
    /// The share of the words that are other ones, between 0 and 1.
    text_changed: Option<f64>,
    /// Target of a redirect.
    location: Option<String>,
    /// True if readers see another text.
    #[serde(skip)]
    has_other_text: bool,
}

impl Change {
    /// Compares the versions `before` and `now` of a URL; `None` where neither is a page.
    pub(crate) fn between(before: Option<Version<'_>>, now: Option<Version<'_>>) -> anyhow::Result<Option<Change>> {
        let mut change = match (&before, &now) {
            (None, None) => return Ok(None),
            (Some(before), None) => Change::of(Kind::Gone, &before.entry.url),
            (None, Some(now)) if Standing::of(now.entry) != Standing::Page => return Ok(None),
            (None, Some(now)) => Change::of(Kind::New, &now.entry.url),
            (Some(before), Some(now)) => Change::of_both(before, now)?,
        };
        let moment = |version: Option<Version<'_>>| version.map(|version| iso_ms(version.entry.time));
        let status = |version: Option<Version<'_>>| version.map(|version| version.entry.status);
        (change.time, change.status) = (moment(now), status(now));
        (change.before, change.status_before) = (moment(before), status(before));
        Ok(Some(change))
    }

    pub(crate) fn kind(&self) -> Kind {
        self.change
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The time at which it was found so, if it was.
    pub(crate) fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// True if more than bytes have changed: every change but one of a page whose text is as it was, or that has none.
    pub(crate) fn is_of_text(&self) -> bool {
        self.change != Kind::Changed || self.has_other_text
    }

    /// As a line of text: kind, URL, and what is known besides.
    pub(crate) fn line(&self) -> String {
        let detail = match (self.change, self.text_changed, &self.location, self.status) {
            (_, Some(share), ..) => format!("\t{} of the text", percent(share)),
            (_, _, Some(location), _) => format!("\t{}", Escaped(location)),
            (Kind::Gone | Kind::Failing, _, _, Some(status)) => format!("\t{status}"),
            _ => String::new(),
        };
        format!("{}\t{}{detail}", self.change.name(), escaped(&self.url))
    }

    fn of(change: Kind, url: &str) -> Change {
        Change {
            change,
            url: url.to_owned(),
            time: None,
            status: None,
            before: None,
            status_before: None,
            text_changed: None,
            location: None,
            has_other_text: false,
        }
    }

    fn of_both(before: &Version<'_>, now: &Version<'_>) -> anyhow::Result<Change> {
        use Standing::{Failing, Gone, Page, Redirect};
        let of = |kind| Change::of(kind, &now.entry.url);
        Ok(match (Standing::of(before.entry), Standing::of(now.entry)) {
            (Page, Page) if before.entry.digest_sha1 == now.entry.digest_sha1 => of(Kind::Unchanged),
            (Page, Page) => {
                let texts = Texts::of(before, now)?;
                let has_other_text = texts.as_ref().is_some_and(Texts::differ);
                let text_changed = texts.map(|texts| texts.share_changed());
                Change { text_changed, has_other_text, ..of(Kind::Changed) }
            }
            (_, Page) => of(Kind::Back),
            (Redirect, Redirect) => {
                let location = now.location()?;
                let kind = if before.location()? == location { Kind::Unchanged } else { Kind::Moved };
                Change { location, ..of(kind) }
            }
            (_, Redirect) => Change { location: now.location()?, ..of(Kind::Moved) },
            (Gone, Gone) | (Gone | Failing, Failing) => of(Kind::Unchanged),
            (_, Gone) => of(Kind::Gone),
            (_, Failing) => of(Kind::Failing),
        })
    }
}

/// Returns a change that was found, if it `is_wanted`; damage is reported.
pub(crate) fn wanted(
    change: anyhow::Result<Option<Change>>,
    is_wanted: impl Fn(&Change) -> bool,
    damage: &mut Damage,
    warnings: &mut dyn Write,
) -> Option<Change> {
    match change {
        Ok(change) => change.filter(is_wanted),
        Err(error) => {
            damage.note(error, warnings);
            None
        }
    }
}

/// Prints what became of a URL.
pub(crate) fn print(change: &Change, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let line = if json { json_line(change)? } else { change.line() };
    Ok(writeln!(out, "{line}")?)
}

/// The change from the version before, by status and digest alone: no page is read. A redirect to another place with
/// the same body counts as unchanged here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Step {
    /// No version is before it.
    First,
    /// Its status or its content is another one.
    Changed,
    /// Status and content are the same; a 304 says so itself.
    Unchanged,
}

impl Step {
    /// Returns the step from the version before to `entry`.
    pub(crate) fn to(archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Step> {
        let Some(before) = archive.previous(entry)? else { return Ok(Step::First) };
        let told = |entry: &Entry| (if entry.is_confirmed() { 200 } else { entry.status }, entry.digest_sha1);
        Ok(if told(&before) == told(entry) { Step::Unchanged } else { Step::Changed })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Step::First => "first",
            Step::Changed => "changed",
            Step::Unchanged => "unchanged",
        }
    }
}

/// A share in percent, with one digit where it is small.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// The first version that `is_wanted`, from `newest` back.
pub(crate) fn back_to(
    archive: &dyn Archive,
    newest: Entry,
    is_wanted: impl Fn(&Entry) -> bool,
) -> anyhow::Result<Option<Entry>> {
    let mut at = Some(newest);
    while let Some(entry) = at {
        if is_wanted(&entry) {
            return Ok(Some(entry));
        }
        at = archive.previous(&entry)?;
    }
    Ok(None)
}

/// The newest version that was there at `moment`.
pub(crate) fn as_of(archive: &dyn Archive, newest: Entry, moment: Time) -> anyhow::Result<Option<Entry>> {
    back_to(archive, newest, |entry| entry.time <= moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::tests::FakeArchive;

    const URL: &str = "https://a.example/";

    /// An answer: its status, and its body, or the target of a redirect.
    fn store(archive: &mut FakeArchive, status: u16, text: &str) {
        let location = (b"Location".to_vec(), text.as_bytes().to_vec());
        let headers = if (300..400).contains(&status) { vec![location] } else { Vec::new() };
        let body = if headers.is_empty() { text.as_bytes().to_vec() } else { Vec::new() };
        let response = Response { status, headers, decoded: body.clone(), body, ..Response::default() };
        archive.store(URL, "text/html", response);
        let digest = text.bytes().fold(status as u8, |sum, byte| sum.wrapping_mul(31) ^ byte);
        archive.stored.last_mut().unwrap().0.digest_sha1 = [digest; 20];
    }

    fn between(before: Option<(u16, &str)>, now: Option<(u16, &str)>) -> Option<Change> {
        let (mut first, mut second) = (FakeArchive::default(), FakeArchive::default());
        before.into_iter().for_each(|(status, text)| store(&mut first, status, text));
        now.into_iter().for_each(|(status, text)| store(&mut second, status, text));
        let (before, now) = (first.newest(URL).unwrap(), second.newest(URL).unwrap());
        let before = before.as_ref().map(|entry| Version { archive: &first, entry });
        let now = now.as_ref().map(|entry| Version { archive: &second, entry });
        Change::between(before, now).unwrap()
    }

    #[test]
    fn statuses_and_digests_tell_what_became_of_a_url() {
        let (page, other) = ((200, "<p>one two"), (200, "<p>one three"));
        let (to_a, to_b, gone, down) = ((301, "/a"), (302, "/b"), (404, "no"), (503, "later"));
        for (before, now, kind) in [
            (None, Some(page), Some("new")),
            (None, Some(gone), None),
            (None, Some(to_a), None),
            (Some(page), None, Some("gone")),
            (Some(page), Some(page), Some("unchanged")),
            (Some(page), Some(other), Some("changed")),
            (Some(page), Some(to_a), Some("moved")),
            (Some(to_a), Some(to_b), Some("moved")),
            (Some(to_a), Some((308, "/a")), Some("unchanged")),
            (Some(page), Some(gone), Some("gone")),
            (Some(to_a), Some((410, "")), Some("gone")),
            (Some(down), Some(gone), Some("gone")),
            (Some(gone), Some((410, "")), Some("unchanged")),
            (Some(gone), Some(down), Some("unchanged")),
            (Some(page), Some(down), Some("failing")),
            (Some(down), Some((500, "")), Some("unchanged")),
            (Some(gone), Some(page), Some("back")),
            (Some(down), Some(page), Some("back")),
            (Some(to_a), Some(page), Some("back")),
        ] {
            let found = between(before, now).map(|change| change.kind().name());
            assert_eq!(found, kind, "{before:?} {now:?}");
        }
    }

    #[test]
    fn a_version_is_compared_with_the_one_before_it_by_status_and_digest() {
        let mut archive = FakeArchive::default();
        let mut steps = Vec::new();
        for (status, text) in [(200, "<p>one"), (200, "<p>one"), (200, "<p>two"), (404, ""), (404, ""), (200, "<p>two")]
        {
            store(&mut archive, status, text);
            steps.push(Step::to(&archive, &archive.newest(URL).unwrap().unwrap()).unwrap().name());
        }
        // a 304 has the digest of what it confirms
        for _ in 0..2 {
            let digest = archive.stored.last().unwrap().0.digest_sha1;
            store(&mut archive, 304, "");
            let entry = &mut archive.stored.last_mut().unwrap().0;
            (entry.digest_sha1, entry.payload) = (digest, Some(5));
            steps.push(Step::to(&archive, &archive.newest(URL).unwrap().unwrap()).unwrap().name());
        }
        let expected = ["first", "unchanged", "changed", "changed", "unchanged", "changed", "unchanged", "unchanged"];
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_line_says_how_much_where_to_or_which_status() {
        let line = |before, now| between(Some(before), Some(now)).unwrap().line();
        assert_eq!(line((200, "<p>one two"), (200, "<p>one three")), format!("changed\t{URL}\t50 % of the text"));
        assert_eq!(line((200, "<p>one"), (200, "<p title=x>one")), format!("changed\t{URL}\t0 % of the text"));
        assert_eq!(line((200, "a"), (301, "/\u{1b}b")), format!("moved\t{URL}\thttps://a.example/%1Bb"));
        assert_eq!(line((200, "a"), (410, "")), format!("gone\t{URL}\t410"));
    }
}
