//! `crawler export index`: a table of what is in the archive and where, with the columns of Common Crawl's index.
//!
//! Names, their order, their types and what they mean follow the flat schema of Common Crawl's columnar index
//! (cc-index-schema-flat, without warc_record_id, which came in 2026), so queries written for that one read this one.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use data_encoding::BASE32;

use super::replayable::Replayable;
use crate::archive::redirect;
use crate::cli::archive::{Archive, Damage, Entry, Response};
use crate::cli::exit::Exit;
use crate::cli::page::decode;
use crate::cli::selection::{KindArgs, KindChoice, Selection};
use crate::cli::tables::{self, TableArgs};
use crate::cli::{ArchiveArg, OpenArchive};
use crate::clock::Time;
use crate::reading::tree::{TIME_MAX, parse};
use crate::reading::{Fact, Facts, rendered_lines};
use crate::table::{Column, Row, Sink, Table, Type, Value};
use crate::web::charset;
use crate::web::host_name::HostName;
use crate::web::html::is_html;
use crate::web::mime;
use crate::web::surt::surt;
use crate::web::url::CanonicalUrl;

/// A column of the schema.
struct SchemaColumn {
    name: &'static str,
    holds: Type,
    is_required: bool,
}

const fn required(name: &'static str, holds: Type) -> SchemaColumn {
    SchemaColumn { name, holds, is_required: true }
}

const fn optional(name: &'static str, holds: Type) -> SchemaColumn {
    SchemaColumn { name, holds, is_required: false }
}

/// The columns.
const COLUMNS: [SchemaColumn; 33] = [
    required("url_surtkey", Type::Text),
    required("url", Type::Text),
    required("url_host_name", Type::Text),
    optional("url_host_tld", Type::Text),
    optional("url_host_2nd_last_part", Type::Text),
    optional("url_host_3rd_last_part", Type::Text),
    optional("url_host_4th_last_part", Type::Text),
    optional("url_host_5th_last_part", Type::Text),
    optional("url_host_registry_suffix", Type::Text),
    optional("url_host_registered_domain", Type::Text),
    optional("url_host_private_suffix", Type::Text),
    optional("url_host_private_domain", Type::Text),
    optional("url_host_name_reversed", Type::Text),
    required("url_protocol", Type::Text),
    optional("url_port", Type::Int),
    required("url_path", Type::Text),
    optional("url_query", Type::Text),
    required("fetch_time", Type::Time),
    required("fetch_status", Type::Short),
    optional("fetch_redirect", Type::Text),
    optional("content_digest", Type::Text),
    optional("content_mime_type", Type::Text),
    optional("content_mime_detected", Type::Text),
    optional("content_charset", Type::Text),
    optional("content_languages", Type::Text),
    optional("content_truncated", Type::Text),
    required("warc_filename", Type::Text),
    required("warc_record_offset", Type::Int),
    required("warc_record_length", Type::Int),
    required("warc_segment", Type::Text),
    required("crawl", Type::Text),
    required("subset", Type::Text),
    // beyond that schema
    optional("kind", Type::Text),
];

#[derive(Debug, Args)]
#[command(after_help = "\
Columns, their order and their meaning follow Common Crawl's columnar index (schema cc-index-schema-flat), so queries \
written for it can be used: url_surtkey, url, url_host_..., url_protocol, url_port, url_path, url_query, fetch_time, \
fetch_status, fetch_redirect, content_digest (SHA-1 in Base32), content_mime_type, content_charset, content_languages \
(with --languages, one ISO 639-3 code), content_truncated, warc_filename, warc_record_offset, warc_record_length. \
content_mime_detected is empty: this crawler does not look at bodies for it. warc_segment is the directory of the \
value file, crawl the name of the crawl directory or --name, subset is warc (status 200), crawldiagnostics (others) or \
robotstxt. Rows are in the order of the archive. The record is the one that has the content, also if that belongs to \
another page or version; after a 304, fetch_status is its status. The last column, kind, is beyond that schema: \
content, or what came in its place.

Examples:
  crawler export index --output index.parquet
  crawler export index --all --languages --output index.parquet
  duckdb -c \"SELECT fetch_status, count(*) FROM 'index.parquet' GROUP BY 1\"")]
pub(super) struct IndexArgs {
    #[command(flatten)]
    archive: ArchiveArg,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    kind: KindArgs,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
    /// Also the language of the text of HTML pages, which takes most of the time
    #[arg(long)]
    languages: bool,
    /// Name of the crawl in the column crawl; without it, the name of its directory
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    table: TableArgs,
}

impl IndexArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let archive = self.archive.open(open_archive)?;
        let table = self.table()?;
        let mut output = self.table.open(&self.archive.dir.dir)?;
        let sink = tables::begin(&table, &mut output)?;
        let exit = self.write(&*archive, &table, sink, &mut io::stderr())?;
        output.finish()?;
        exit
    }

    fn table(&self) -> anyhow::Result<Table> {
        let column = |of: &SchemaColumn| {
            let column = Column::new(of.name, of.holds);
            if of.is_required { column.required() } else { column }
        };
        self.table.table("ccindex", COLUMNS.iter().map(column).collect())
    }

    fn write(
        &self,
        archive: &dyn Archive,
        table: &Table,
        mut sink: Box<dyn Sink + '_>,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<anyhow::Result<Exit>> {
        let mut damage = Damage::default();
        let crawl = self.name.clone().unwrap_or_else(|| name_of(&self.archive.dir.dir));
        let selection = self.kind.narrow(&self.selection, KindChoice::Unrefused);
        selection.each(archive, self.all, &mut damage, warnings, |entry, damage, warnings| {
            match self.row(archive, &entry, &crawl) {
                Ok(row) => sink.write(table.piece(vec![row]))?,
                Err(e) => damage.note(e, warnings),
            }
            Ok(())
        })?;
        sink.finish()?;
        Ok(damage.or(Exit::Done, warnings))
    }

    fn row(&self, archive: &dyn Archive, entry: &Entry, crawl: &str) -> anyhow::Result<Row> {
        let url = CanonicalUrl::parse(&entry.url)
            .map_err(|e| anyhow::anyhow!("the archive names {}, which cannot be indexed: {e}", entry.url))?;
        let text = |text: &str| Value::Text(text.to_owned());
        let page = Replayable::of(archive, entry)?;
        let payload = page.original.as_ref().unwrap_or(entry);
        let place = archive.place(payload)?;
        let exchange = archive.exchange(payload)?;
        let answer = exchange.last().filter(|stored| stored.record.kind() == "response");
        let truncated = answer.and_then(|stored| stored.record.field("WARC-Truncated"));
        let response = archive.response(entry)?;
        let entry = &page.entry;
        let segment = place.file.rsplit_once('/').map_or("pages", |(dir, _)| dir).to_owned();
        let subset = match (entry.robots, entry.status) {
            (true, _) => "robotstxt",
            (false, 200) => "warc",
            _ => "crawldiagnostics",
        };
        let mut row = vec![text(&surt(&url)), text(url.plain())];
        row.extend(of_host(&url));
        row.extend(of_url(&url));
        row.extend([
            Value::Time(entry.time),
            Value::Integer(entry.status.into()),
            Value::from(redirect(&url, entry.status, &response.headers).map(|target| target.as_str().to_owned())),
            text(&BASE32.encode(&entry.digest_sha1)),
            Value::from(Some(mime::essence(Some(&entry.mime))).filter(|mime| !mime.is_empty())),
            Value::Null,
        ]);
        row.extend(self.of_content(entry, &response));
        row.extend([
            Value::from(truncated.map(str::to_owned)),
            Value::Text(place.file),
            Value::Integer(place.offset.try_into()?),
            Value::Integer(place.bytes.try_into()?),
            Value::Text(segment),
            text(crawl),
            text(subset),
            Value::from(entry.kind_text().map(str::to_owned)),
        ]);
        Ok(row)
    }

    /// Its charset and, where it is wanted, its language.
    fn of_content(&self, entry: &Entry, response: &Response) -> [Value; 2] {
        let content_type = response.content_type();
        let content_type = content_type.as_deref();
        if !is_html(Some(&entry.mime), &response.decoded) {
            let encoding = content_type.and_then(charset::of_content_type);
            return [Value::from(encoding.map(|encoding| encoding.name())), Value::Null];
        }
        let encoding = charset::of_html(&response.decoded, content_type);
        let language = self.languages.then(|| language(response)).flatten();
        [Value::from(Some(encoding.name())), Value::from(language)]
    }
}

/// The name of a directory, also of one that is given as `.`.
fn name_of(dir: &Path) -> String {
    let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    whole.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The language that a page is written in.
fn language(response: &Response) -> Option<String> {
    let tree = parse(&decode(response), TIME_MAX).ok()?;
    let text = rendered_lines(&tree);
    let facts = Facts { tree: &tree, text: &text, base: None, content_language: None, url: None, fetched: Time::ZERO };
    facts.get(Fact::Language).as_str().map(str::to_owned)
}

/// The eleven columns of a host.
fn of_host(url: &CanonicalUrl) -> Vec<Value> {
    let Some(name) = HostName::of(url) else {
        let mut row = vec![Value::Text(url.host().to_owned())];
        row.resize(11, Value::Null);
        return row;
    };
    let label = |place: usize| Value::from(name.labels.get(place).copied());
    let mut row = vec![Value::Text(url.host().trim_end_matches('.').to_owned())];
    row.extend((0..5).map(label));
    row.extend(
        [name.registry_suffix, name.registered_domain, name.private_suffix, name.private_domain].map(Value::from),
    );
    row.push(Value::Text(name.reversed()));
    row
}

/// Protocol, port, path and query.
fn of_url(url: &CanonicalUrl) -> [Value; 4] {
    let (protocol, usual) = if url.is_https() { ("https", 443) } else { ("http", 80) };
    let port = Some(url.port()).filter(|port| *port != usual);
    let query = url.path_and_query().split_once('?').map(|(_, query)| query);
    [
        Value::Text(protocol.to_owned()),
        port.map_or(Value::Null, |port| Value::Integer(port.into())),
        Value::Text(url.path().to_owned()),
        Value::from(query),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::archive::tests::FakeArchive;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: IndexArgs,
    }

    fn index(archive: &FakeArchive, args: &[&str]) -> Vec<serde_json::Value> {
        let args = Cli::parse_from([&["index", "--jsonl"], args].concat()).args;
        let (mut out, table) = (Vec::new(), args.table().unwrap());
        let sink = table.sink(&mut out, None).unwrap();
        args.write(archive, &table, sink, &mut Vec::new()).unwrap().unwrap();
        String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_row_has_the_columns_of_the_schema_with_their_meaning() {
        let mut archive = FakeArchive::default();
        let headers = vec![(b"Content-Type".to_vec(), b"text/html; charset=latin1".to_vec())];
        let page = Response { status: 200, headers, ..Response::default() };
        archive.store("https://www.example.co.uk:8443/Path/i.html?q=a&b", "text/html", page);
        let headers = vec![(b"Location".to_vec(), b"/new".to_vec())];
        archive.store("http://10.0.0.1/", "", Response { status: 301, headers, ..Response::default() });
        let rows = index(&archive, &[]);
        let keys: Vec<_> = rows[0].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.len(), COLUMNS.len());
        let of = |row: usize, column: &str| rows[row][column].clone();
        for (column, value) in [
            ("url_surtkey", "uk,co,example:8443)/path/i.html?b&q=a"),
            ("url_host_name", "www.example.co.uk"),
            ("url_host_tld", "uk"),
            ("url_host_2nd_last_part", "co"),
            ("url_host_4th_last_part", "www"),
            ("url_host_registry_suffix", "co.uk"),
            ("url_host_registered_domain", "example.co.uk"),
            ("url_host_name_reversed", "uk.co.example.www"),
            ("url_protocol", "https"),
            ("url_path", "/Path/i.html"),
            ("url_query", "q=a&b"),
            ("content_mime_type", "text/html"),
            ("content_charset", "windows-1252"),
            ("subset", "warc"),
        ] {
            assert_eq!(of(0, column), value, "{column}");
        }
        assert_eq!((of(0, "url_port"), of(0, "fetch_status")), (8443.into(), 200.into()));
        assert!(of(0, "url_host_5th_last_part").is_null() && of(0, "content_languages").is_null());
        assert_eq!((of(1, "url_host_name"), of(1, "subset")), ("10.0.0.1".into(), "crawldiagnostics".into()));
        assert_eq!(of(1, "fetch_redirect"), "http://10.0.0.1/new");
        assert!(["url_host_tld", "url_host_name_reversed", "url_port", "url_query"].iter().all(|c| of(1, c).is_null()));
    }

    #[test]
    fn the_language_is_there_where_it_is_wanted() {
        let mut archive = FakeArchive::default();
        let page = "<p>Le chat est sur la table et il regarde les oiseaux qui chantent dans le jardin.";
        archive.page("https://a.example/", 200, "text/html", page.as_bytes());
        assert_eq!(index(&archive, &["--languages"])[0]["content_languages"], "fra");
    }
}
