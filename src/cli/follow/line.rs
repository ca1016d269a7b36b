//! A page as a line: the fields that are wanted, and no more of the archive read than they need.

use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use clap::ValueEnum;
use data_encoding::BASE64;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::super::archive::of_page;
use super::super::archive::{Damage, Response};
use super::super::exit::UsageError;
use super::super::page::{decode, is_page, title_of};
use super::batch::Batch;
use super::bodies::Bodies;
use crate::archive::{Answer, History, LinkFinder, Page, redirect};
use crate::clock::Time;
use crate::disk;
use crate::reading::rendered_lines;
use crate::reading::tree::{TIME_MAX, parse};
use crate::text::escape::json_line;
use crate::text::figures::iso_ms;
use crate::warc::digest;
use crate::web::headers;
use crate::web::url::CanonicalUrl;

/// A field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Field {
    /// Shard and offset, which no other line has
    Place,
    /// The URL that was requested
    Url,
    /// Status of the answer
    Status,
    /// Kind of the answer: content, or what came in its place; null for errors and redirects
    Kind,
    /// Media type, without parameters
    Mime,
    /// Bytes of the body as it was sent
    Bytes,
    /// Start of the request
    Time,
    /// SHA-1 of the body as it was sent
    Digest,
    /// True if the body is the same as an earlier answer's
    Revisit,
    /// Links from a seed
    Depth,
    /// The page that named it
    Via,
    /// Kinds of the hops from the seed
    Hops,
    /// True if the body was cut short
    Truncated,
    /// Number of the seed
    Seed,
    /// Requests that it took
    Attempt,
    /// From the request to the end of the answer
    DurationMs,
    /// Content-Type as it was stated
    ContentType,
    /// Target of a redirect
    Redirect,
    /// Header fields: pairs of name and value
    Headers,
    /// Title of an HTML page
    Title,
    /// Visible text of an HTML page
    Text,
    /// URLs that it names
    Links,
    /// The body, content coding removed, in Base64
    Body,
    /// Path at which --bodies has put it
    BodyPath,
    /// Place of its WARC record: file, offset, bytes
    Warc,
    /// All but text, links, body, body_path and warc
    All,
}

/// The fields where nothing else is said.
const DEFAULT: [Field; 11] = [
    Field::Place,
    Field::Url,
    Field::Status,
    Field::Mime,
    Field::Bytes,
    Field::Time,
    Field::Digest,
    Field::Revisit,
    Field::Depth,
    Field::Via,
    Field::Hops,
];

impl Field {
    fn of_history(self) -> bool {
        matches!(self, Field::Depth | Field::Via | Field::Hops | Field::Seed | Field::Attempt | Field::DurationMs)
    }

    fn of_tree(self) -> bool {
        matches!(self, Field::Title | Field::Text)
    }

    fn of_answer(self) -> bool {
        let other = matches!(self, Field::ContentType | Field::Redirect | Field::Headers | Field::Links);
        other || self.of_tree() || matches!(self, Field::Body | Field::BodyPath)
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Makes lines.
pub(super) struct Lines {
    fields: Vec<(Field, Rc<str>)>,
    bodies: Option<Bodies>,
    finder: LinkFinder,
}

/// Parts of a page that a line needs beside its entry.
#[derive(Default)]
struct Content {
    history: History,
    /// The answer; its body has gone into `response`.
    response: Response,
    /// The page that the crawl has made of the answer, where it did and a field is read from it.
    made: Option<Response>,
    title: Option<String>,
    text: Option<String>,
}

impl Content {
    /// The answer as a reader sees it.
    fn shown(&self) -> &Response {
        self.made.as_ref().unwrap_or(&self.response)
    }
}

impl Lines {
    /// Lines with `fields`, or the usual ones.
    pub(crate) fn new(fields: &[Field], bodies: Option<Bodies>) -> anyhow::Result<Lines> {
        let mut wanted: Vec<Field> = Vec::new();
        for field in if fields.is_empty() { &DEFAULT[..] } else { fields } {
            match field {
                Field::All => wanted.extend(Field::value_variants().iter().filter(|field| **field < Field::Text)),
                field => wanted.push(*field),
            }
        }
        if bodies.is_some() && !wanted.contains(&Field::BodyPath) {
            wanted.push(Field::BodyPath);
        }
        if bodies.is_none() && wanted.contains(&Field::BodyPath) {
            return Err(UsageError::because("--fields body_path: say where bodies go, with --bodies DIR"));
        }
        let mut seen = BTreeSet::new();
        wanted.retain(|field| seen.insert(*field));
        let fields = wanted.into_iter().map(|field| (field, field.name().into())).collect();
        Ok(Lines { fields, bodies, finder: LinkFinder::new(fastrand::u64(..)) })
    }

    /// Adds the line of `page` to `batch`. What cannot be read of it is reported, in the line too; a page that was
    /// removed meanwhile has no line.
    pub(crate) fn add(&mut self, page: &Page, batch: &mut Batch, damage: &mut Damage) -> anyhow::Result<()> {
        let mut error = None;
        let content = match self.content(page) {
            Ok(content) => content,
            Err(fault) if fault.is_of_page() => {
                if page.is_removed().unwrap_or(false) {
                    return Ok(());
                }
                error = Some(fault.to_string());
                damage.note(fault.into(), &mut io::stderr());
                Content::default()
            }
            Err(fault) => return Err(fault.into()),
        };
        let mut values = Vec::with_capacity(self.fields.len() + 1);
        for at in 0..self.fields.len() {
            let (field, name) = self.fields[at].clone();
            let is_known = error.is_none() || !(field.of_history() || field.of_answer() || field == Field::Warc);
            let value = if is_known { self.value(field, page, &content)? } else { Value::Null };
            values.push((name, value));
        }
        values.extend(error.map(|error| ("error".into(), Value::String(error))));
        batch.push(page.url(), &json_line(&Line(values))?);
        Ok(())
    }

    /// Makes the bodies of all lines durable.
    pub(crate) fn make_durable(&mut self) -> disk::Result<()> {
        self.bodies.as_mut().map_or(Ok(()), Bodies::make_durable)
    }

    fn wants(&self, kind: fn(Field) -> bool) -> bool {
        self.fields.iter().any(|(field, _)| kind(*field))
    }

    /// Reads what the fields need.
    fn content(&mut self, page: &Page) -> crate::archive::Result<Content> {
        let mut content = Content::default();
        if self.wants(Field::of_history) {
            content.history = page.history()?;
        }
        if self.wants(Field::of_answer) {
            let answer: Answer = page.answer()?;
            content.response = Response { body: Vec::new(), ..answer.into() };
        }
        if self.wants(|field| field.of_tree() || field == Field::Links) {
            content.made = page.rendered()?.map(|html| content.response.with_rendered(html));
        }
        if self.wants(Field::of_tree) && is_page(content.shown()) {
            let with_text = self.wants(|field| field == Field::Text);
            (content.title, content.text) = texts(content.shown(), with_text);
        }
        Ok(content)
    }

    fn value(&mut self, field: Field, page: &Page, content: &Content) -> anyhow::Result<Value> {
        let Content { history, response, .. } = content;
        Ok(match field {
            Field::Place => json!(page.place().to_string()),
            Field::Url => json!(page.url()),
            Field::Status => json!(page.status()),
            Field::Kind => json!(of_page(page).1.kind_text()),
            Field::Mime => json!(page.media_type()),
            Field::Bytes => json!(page.body_bytes()),
            Field::Time => json!(iso_ms(time(page))),
            Field::Digest => json!(digest(page.digest_sha1())),
            Field::Revisit => json!(page.is_revisit()),
            Field::Truncated => json!(page.is_truncated()),
            Field::Depth => json!(history.depth),
            Field::Via => json!(history.via),
            Field::Hops => json!(history.hops),
            Field::Seed => json!(history.seed),
            Field::Attempt => json!(history.attempt),
            Field::DurationMs => json!(history.duration.map(|took| took.as_millis() as u64)),
            Field::ContentType => json!(response.content_type()),
            Field::Redirect => json!(redirects_to(page, response)),
            Field::Headers => json!(named(response)),
            Field::Title => json!(content.title),
            Field::Text => json!(content.text),
            Field::Links => json!(self.links(page, content.shown())?),
            Field::Body => json!(BASE64.encode(&response.decoded)),
            Field::BodyPath => {
                let path = self.bodies.as_mut().map(|bodies| bodies.put(&response.decoded)).transpose()?;
                json!(path.map(|path| path.to_string_lossy().into_owned()))
            }
            Field::Warc => {
                let warc = page.warc()?;
                json!({ "file": warc.file.to_string_lossy(), "offset": warc.offset, "bytes": warc.bytes })
            }
            Field::All => Value::Null,
        })
    }

    fn links(&mut self, page: &Page, response: &Response) -> anyhow::Result<Vec<String>> {
        let Ok(url) = CanonicalUrl::parse(page.url()) else { return Ok(Vec::new()) };
        let mut seen = BTreeSet::new();
        let hops = || page.history().map(|history| history.hops);
        let content_type = response.content_type();
        let targets = self.finder.targets(&response.linking(&url, content_type.as_deref()), hops)?.into_iter();
        let targets = targets.map(|url| url.as_str().to_owned());
        Ok(targets.filter(|target| seen.insert(target.clone())).collect())
    }
}

fn time(page: &Page) -> Time {
    let since = page.fetched().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::ZERO + since
}

/// The title of a page and, if it is wanted, its text. A page that has no tree within the limits, or breaks the parser,
/// has neither.
fn texts(response: &Response, with_text: bool) -> (Option<String>, Option<String>) {
    let read = || {
        let tree = parse(&decode(response), TIME_MAX).ok()?;
        Some((title_of(&tree), with_text.then(|| rendered_lines(&tree))))
    };
    catch_unwind(AssertUnwindSafe(read)).ok().flatten().unwrap_or_default()
}

/// Returns the address to which an answer redirects.
fn redirects_to(page: &Page, response: &Response) -> Option<String> {
    let url = CanonicalUrl::parse(page.url()).ok()?;
    redirect(&url, page.status(), &response.headers).map(|target| target.as_str().to_owned())
}

/// Header fields as texts; what is no UTF-8 as ISO-8859-1.
fn named(response: &Response) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => headers::isomorphic(bytes),
    };
    response.headers.iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// A line with its fields in order.
struct Line(Vec<(Rc<str>, Value)>);

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(&**name, value)?;
        }
        map.end()
    }
}
