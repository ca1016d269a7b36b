//! `crawler extract`: elements of the archived HTML pages, as a table or as JSON lines.
//!
//! Pages are read one after the other and taken apart by all cores; lines come in the order of the archive, whatever
//! the number of cores. Pages are hostile: a tree can cost time that grows with the square of its depth, and nested
//! elements repeat their content. So a tree has limits of size and steps, and its values a limit of bytes; what breaks
//! one is said.

mod compare;
mod fields;
mod row;

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;

use super::archive::{Archive, Damage, Entry, Response};
use super::columns::Column;
use super::duplicates::{Pages, share};
use super::exit::{Exit, UsageError};
use super::ordered::{Named, Ordered};
use super::selection::{KindArgs, KindChoice, Selection};
use super::tables::{self, TableArgs};
use super::{ArchiveArg, OpenArchive};
use crate::fields::{Field, Form, Origin, Source, fact, selector};
use crate::reading::Fact;
use crate::reading::tree::TIME_MAX;
use crate::table::{Format, Sink, Value};
use crate::text::escape::Escaped;
use crate::text::figures::counted;
use row::{COLUMNS, Keeps, Plan, Row, Text, Wanted};

/// Bytes of a page, its content coding removed.
const PAGE_BYTES_MAX: usize = 32 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Reads the newest version of every HTML page with status 200, or with the status of --status, even if its body is \
stored with another page.

With --select: one line per value, URL and value; with --jsonl, one line per page, {\"url\", \"values\": [...]}. \
Pages without a match print nothing.

Without --select: a header line, then one line per page: URL, title, the fields of --fields, with --text the \
visible text of the page, and with --main and --markdown its main content, without navigation, banners and footers, \
as text and as Markdown. A field is the text of the first element that its selector matches. Example of a --fields \
file:
  heading = \"h1\"
  author  = { css = \"a[rel~=author]\", attr = \"href\" }
  tags    = { css = \".tag\", all = true }               all of them, a JSON list
  lead    = { css = \"p.lead\", html = true }            as HTML
  next    = { css = \"a[rel=next]\", attr = \"href\", absolute = true }
  price   = { css = \".price\", regex = '([0-9.]+)' }    the first group
  id      = { regex = 'data-id=\"([0-9]+)\"' }           in the source of the page
  server  = { header = \"server\" }                      a header field
  lang    = { fact = \"language\" }                      one of --facts
  offer   = { json-ld = \"offers.price\" }                in its JSON-LD
  cost    = { css = \".price\", type = \"number\" }        or text, date

A number is the first one in the value, 1.299,00 and 1,299.00 alike; a date is one of ISO 8601, of mail or of RSS, \
from 1990 on. In sqlite and parquet both have types of their own; what is neither is empty.

Facts: language (of the text, ISO 639-3; where that is not sure, the one that the page states), stated-language, \
words, direction (ltr or rtl), json-ld, open-graph, microdata, feeds, published and modified (dates in ISO 8601).

With --compare: a line for each page that the earlier table has not (new), has otherwise (changed) or has alone \
(gone), in the order of URLs. The column change comes first, then the columns of the table, then before: as JSON, what \
the earlier table had in the columns that differ. Columns that only one of both has are not compared; pages that a \
filter leaves out are gone.

Formats: tsv, csv, jsonl, sqlite (a database with the table pages) and parquet; sqlite needs --output. Lists and \
facts such as json-ld are JSON where a format has no lists. In tsv tabs, line ends and control characters are written \
as \\t, \\n, \\x1b; csv keeps tabs and line ends. In both a text that a spreadsheet would take for a formula begins \
with ': one that starts with =, +, - or @ and is not a number. The other formats have it as it is. Some pages are \
skipped with a message: pages of more than 32 MiB or a million nodes, with elements nested by the thousands, or that \
take longer than 10 s.

Examples:
  crawler extract                  a table of all titles
  crawler extract --select h1 --text
  crawler extract --select 'a[rel~=author]' --attr href --jsonl
  crawler extract --fields fields.toml --prefix https://example.com/docs/
  crawler extract --text --jsonl   url, title and text of every page
  crawler extract --markdown --jsonl   url, title and main content as Markdown
  crawler extract --main --language eng,deu --min-words 100 --jsonl
  crawler extract --field price=json-ld:offers.price --columns time,digest
  crawler extract --field price=.price --output new.csv --compare old.csv
  crawler extract --facts language,words --output pages.parquet")]
pub(super) struct ExtractArgs {
    #[command(flatten)]
    archive: ArchiveArg,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    kind: KindArgs,
    /// CSS selector of the elements to print
    #[arg(long, value_name = "CSS")]
    select: Option<String>,
    /// TOML file of fields to print for each page, with lines such as heading = "h1"
    #[arg(long, value_name = "FILE", conflicts_with_all = ["select", "attr"])]
    fields: Option<PathBuf>,
    /// Print this field of each page: name=SELECTOR, name=/EXPRESSION/ in its source, name=json-ld:offers.price, or
    /// name={ header = "x" }, a table as in --fields; may be given several times
    #[arg(long = "field", value_name = "FIELD", value_parser = Field::parse, conflicts_with_all = ["select", "attr"])]
    more: Vec<Field>,
    /// Add these facts of each page, separated by commas, such as language,words,json-ld
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = fact, conflicts_with = "select")]
    facts: Vec<Fact>,
    /// Add these columns of crawler list, separated by commas, such as time,digest,record
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "select")]
    columns: Vec<Column>,
    /// Only pages in these languages, by their names in ISO 639-3, such as eng,deu; see --facts
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    language: Vec<String>,
    /// Only pages with at least this many words
    #[arg(long, value_name = "N")]
    min_words: Option<u64>,
    /// Only pages with at most this many words
    #[arg(long, value_name = "N")]
    max_words: Option<u64>,
    /// Print this attribute of the selected elements
    #[arg(long, value_name = "NAME", conflicts_with = "text", requires = "select")]
    attr: Option<String>,
    /// With --select: print text with runs of blanks joined, instead of HTML. Without --select: add the text of the
    /// page, with a line for each block and preformatted text as it is
    #[arg(long)]
    text: bool,
    /// Add the main content of the page, as text with its line breaks
    #[arg(long, conflicts_with = "select")]
    main: bool,
    /// Add the main content of the page, as Markdown: headings, lists, tables, code and links are kept
    #[arg(long, conflicts_with = "select")]
    markdown: bool,
    /// Keep only the first of pages whose main texts are nearly the same, as `crawler duplicates` finds them: reads the
    /// archive twice
    #[arg(
        long,
        value_name = "SIMILARITY",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0.8",
        value_parser = share
    )]
    unique: Option<f64>,
    /// Write only what has changed since this table, a CSV file that extract wrote: pages that are new, gone, or have
    /// other values in the columns of both
    #[arg(long, value_name = "OLD.csv", conflicts_with = "select")]
    compare: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
}

impl ExtractArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let plan = self.plan()?;
        let archive = self.archive.open(open_archive)?;
        let mut output = self.table.open(&self.archive.dir.dir)?;
        let sink = match &self.compare {
            Some(earlier) => compare::begin(&plan.table, earlier, &mut output)?,
            None => tables::begin(&plan.table, &mut output)?,
        };
        let exit = self.print(&*archive, &plan, sink, &mut io::stderr())?;
        output.finish()?;
        Ok(exit)
    }

    /// The table of the titles of the crawl in `dir`.
    pub(super) fn of_titles(dir: &Path) -> Self {
        ExtractArgs {
            archive: ArchiveArg::of(dir),
            selection: Selection::default(),
            kind: KindArgs::default(),
            select: None,
            fields: None,
            more: Vec::new(),
            facts: Vec::new(),
            columns: Vec::new(),
            language: Vec::new(),
            min_words: None,
            max_words: None,
            attr: None,
            text: false,
            main: false,
            markdown: false,
            unique: None,
            compare: None,
            table: TableArgs::default(),
        }
    }

    /// Writes what is wanted of `archive` to `out`, and what was left out to `warnings`.
    pub(super) fn print_to(
        &self,
        archive: &dyn Archive,
        out: &mut (dyn Write + Send),
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let plan = self.plan()?;
        self.print(archive, &plan, plan.table.sink(out, None)?, warnings)
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        let wanted = match &self.select {
            Some(css) => Wanted::Values(self.values(css)?),
            None => {
                // the URL is there already
                let columns = self.columns.iter().copied().filter(|column| *column != Column::Url).collect();
                Wanted::Table { columns, fields: self.fields()?, texts: self.texts() }
            }
        };
        let format = self.table.format();
        if self.compare.is_some() && format != Format::Csv {
            return Err(UsageError::because("--compare writes CSV: add --format csv, or an --output of that name"));
        }
        let table = self.table.table("pages", wanted.columns(format))?;
        // a value a line is for pipes
        let pipe = self.select.is_some() && format == Format::Tsv;
        let table = if pipe { table.without_heading() } else { table };
        let languages = self.language.clone();
        let keeps = Keeps { languages, words_min: self.min_words, words_max: self.max_words };
        Ok(Plan { wanted, keeps, table, time_max: TIME_MAX })
    }

    /// All elements that `css` selects.
    fn values(&self, css: &str) -> anyhow::Result<Field> {
        let selector = selector(css).map_err(|problem| UsageError::because(format!("--select {problem}")))?;
        let form = match &self.attr {
            Some(name) => Form::Attr(name.to_ascii_lowercase()),
            None if self.text => Form::Text,
            None => Form::Html,
        };
        let source = Source::Elements(selector, form);
        Ok(Field { all: true, ..Field::of("values", source) })
    }

    /// The fields of the file, of the command line, and the facts.
    fn fields(&self) -> anyhow::Result<Vec<Field>> {
        let read = |path: &Path| fields::read(path, &COLUMNS);
        let mut all = self.fields.as_deref().map_or(Ok(Vec::new()), read)?;
        all.extend(self.more.iter().cloned());
        all.extend(self.facts.iter().map(|fact| Field::fact(*fact)));
        Ok(all)
    }

    /// The texts that are wanted of each page, in the order of their columns.
    fn texts(&self) -> Vec<Text> {
        let texts = [(self.text, Text::Seen), (self.main, Text::Main), (self.markdown, Text::Markdown)];
        texts.into_iter().filter_map(|(wanted, text)| wanted.then_some(text)).collect()
    }

    fn print(
        &self,
        archive: &dyn Archive,
        plan: &Plan,
        mut sink: Box<dyn Sink + '_>,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let mut damage = Damage::default();
        let selection = self.kind.narrow(&self.selection, KindChoice::Unjudged);
        let pages = Pages { archive, selection: &selection, whole: false };
        let repeated = self.unique.map_or(Ok(HashSet::new()), |share| pages.repeated(share))?;
        let take = |(entry, response, columns): (Entry, Response, Vec<Value>)| {
            plan.take(Origin { url: &entry.url, time: entry.time }, &response, columns)
        };
        let mut left_out = 0;
        thread::scope(|scope| {
            let mut rows = Ordered::start(scope, &take);
            selection.each(archive, false, &mut damage, warnings, |entry, damage, warnings| {
                if repeated.contains(&entry.handle) || !selection.is_page(archive, &entry)? {
                    return Ok(());
                }
                match archive.shown(&entry) {
                    Ok(response) => {
                        let response = Response { body: Vec::new(), ..response };
                        let bytes = response.decoded.len();
                        if bytes > PAGE_BYTES_MAX {
                            let (mib, url) = (PAGE_BYTES_MAX >> 20, Escaped(&entry.url));
                            return Ok(writeln!(warnings, "crawler: left out, it is longer than {mib} MiB: {url}")?);
                        }
                        let columns = plan.columns(archive, &entry)?;
                        rows.push(entry.url.clone(), bytes, (entry, response, columns))
                            .into_iter()
                            .try_for_each(|row| write(row, &mut *sink, &mut left_out, warnings))
                    }
                    Err(e) => {
                        damage.note(e, warnings);
                        Ok(())
                    }
                }
            })?;
            std::iter::from_fn(|| rows.next()).try_for_each(|row| write(row, &mut *sink, &mut left_out, warnings))
        })?;
        if left_out > 0 {
            let what = counted(left_out, "page");
            writeln!(warnings, "crawler: left out: {what}, by --language, --min-words or --max-words")?;
        }
        sink.finish()?;
        damage.or(Exit::Done, warnings)
    }
}

/// Writes what became of a page.
fn write(
    (url, row): Named<Row>,
    sink: &mut dyn Sink,
    left_out: &mut u64,
    warnings: &mut dyn Write,
) -> anyhow::Result<()> {
    let broke =
        || Row { warning: Some(format!("left out, its tree broke the parser: {}", Escaped(&url))), ..Row::default() };
    let row = row.unwrap_or_else(broke);
    *left_out += u64::from(row.is_left_out);
    if let Some(warning) = row.warning {
        writeln!(warnings, "crawler: {warning}")?;
    }
    Ok(row.piece.map_or(Ok(()), |piece| sink.write(piece))?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::super::archive::tests::FakeArchive;
    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: ExtractArgs,
    }

    const PAGE: &[u8] = b"<title>T</title><h1>One\n  <b>big</b>\theading</h1><a href='/x' REL=me>x</a><a>no</a>";

    fn extract(args: &[&str], archive: &FakeArchive, time_max: Duration) -> (String, String) {
        let cli = Cli::parse_from([&["extract"], args].concat());
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        let plan = Plan { time_max, ..cli.args.plan().unwrap() };
        let sink = plan.table.sink(&mut out, None).unwrap();
        cli.args.print(archive, &plan, sink, &mut warnings).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(warnings).unwrap())
    }

    fn of_page(args: &[&str], content_type: &str, body: &[u8]) -> String {
        let mut archive = FakeArchive::default();
        let headers = vec![(b"Content-Type".to_vec(), content_type.as_bytes().to_vec())];
        let response = Response { status: 200, headers, decoded: body.to_vec(), ..Response::default() };
        archive.store("https://a.example/", content_type, response);
        extract(args, &archive, Duration::MAX).0
    }

    #[test]
    fn pages_are_taken_by_language_and_length_and_how_many_are_not_is_said() {
        let mut archive = FakeArchive::default();
        let english = "<p>The cat sits on the table and looks at the birds that sing in the garden of the house.";
        let german = "<p>Die Katze sitzt auf dem Tisch und schaut den V\u{f6}geln zu, die im Garten singen.";
        for (path, page) in [("en", english), ("de", german), ("none", "<p>12 34"), ("refused", english)] {
            let robots = if path == "refused" { "<meta name=robots content=noai>" } else { "" };
            let page = format!("<html><head>{robots}<title>{path}</title></head>{page}");
            archive.page(&format!("https://a.example/{path}"), 200, "text/html", page.as_bytes());
        }
        let titles = |args: &[&str]| {
            let (out, warnings) = extract(args, &archive, Duration::MAX);
            let titles: Vec<String> = out.lines().skip(1).map(|l| l.split('\t').nth(1).unwrap().to_owned()).collect();
            (titles.join(","), warnings)
        };
        let left_out = |pages: &str| format!("crawler: left out: {pages}, by --language, --min-words or --max-words\n");
        assert_eq!(titles(&[]), ("en,de,none,refused".to_owned(), String::new()));
        assert_eq!(titles(&["--language", "deu,fra"]), ("de".to_owned(), left_out("3 pages")));
        assert_eq!(titles(&["--min-words", "3"]), ("en,de,refused".to_owned(), left_out("1 page")));
        assert_eq!(titles(&["--max-words", "2"]), ("none".to_owned(), left_out("3 pages")));
        let (taken, said) = titles(&["--respect-preferences", "ai-train=n"]);
        assert_eq!(taken, "en,de,none");
        assert!(said.starts_with("crawler: left out: 1 page, by what they or their robots.txt state"), "{said}");
    }

    #[test]
    fn columns_of_the_list_and_typed_values_of_json_ld_are_in_a_row() {
        let page = br#"<title>T</title><script type="application/ld+json">{"@graph": [{"@type": "Product",
            "offers": [{"price": "1.299", "priceCurrency": "EUR"}], "releaseDate": "2026-11-26"}]}</script>
            <b class=price>1.299,00 EUR</b>"#;
        let json = of_page(
            &[
                "--jsonl",
                "--columns",
                "status,url,bytes",
                "--field",
                "currency=json-ld:offers.priceCurrency",
                "--field",
                "price={ json-ld = 'offers.price', type = 'number' }",
                "--field",
                "shown={ css = '.price', type = 'number' }",
                "--field",
                "date={ json-ld = 'releaseDate', type = 'date' }",
                "--field",
                "none={ json-ld = 'offers.none', type = 'number' }",
            ],
            "text/html",
            page,
        );
        let row: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!({
            "url": "https://a.example/", "title": "T", "status": 200, "bytes": row["bytes"], "currency": "EUR",
            "price": 1.299, "shown": 1299.0, "date": "2026-11-26T00:00:00.000Z", "none": null,
        });
        assert_eq!(row, expected);
    }

    #[test]
    fn text_attributes_and_html_are_selected() {
        let text = of_page(&["--select", "h1", "--text", "--jsonl"], "text/html", PAGE);
        assert_eq!(text, "{\"url\":\"https://a.example/\",\"values\":[\"One big heading\"]}\n");
        let attr = of_page(&["--select", "a", "--attr", "HREF"], "text/html; charset=utf-8", PAGE);
        assert_eq!(attr, "https://a.example/\t/x\n");
        let html = of_page(&["--select", "b, h1"], "text/html", PAGE);
        let heading = "<h1>One\\n  <b>big</b>\\theading</h1>";
        assert_eq!(html, format!("https://a.example/\t{heading}\nhttps://a.example/\t<b>big</b>\n"));
    }

    #[test]
    fn fields_title_and_text_make_a_table_with_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fields.toml");
        let fields = "heading = 'h1'\nlinks = { css = 'a', attr = 'href', all = true }\n\
                      none = 'h2'\nbold = { css = 'b', html = true }";
        std::fs::write(&path, fields).unwrap();
        let args = ["--fields", path.to_str().unwrap(), "--text"];
        let table = of_page(&args, "text/html", PAGE);
        let expected = "url\ttitle\theading\tlinks\tnone\tbold\ttext\n\
                        https://a.example/\tT\tOne big heading\t[\"/x\"]\t\t<b>big</b>\tOne big heading\\nxno\n";
        assert_eq!(table, expected);
        let json = of_page(&[&args[..], &["--jsonl"]].concat(), "text/html", PAGE);
        let expected = "{\"url\":\"https://a.example/\",\"title\":\"T\",\"heading\":\"One big heading\",\
                        \"links\":[\"/x\"],\"none\":null,\"bold\":\"<b>big</b>\",\"text\":\"One big heading\\nxno\"}\n";
        assert_eq!(json, expected);
    }

    #[test]
    fn fields_are_urls_matches_and_header_fields() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fields.toml");
        let fields = "next = { css = 'a', attr = 'href', absolute = true, all = true }\n\
                      price = { css = 'b', regex = '([0-9.]+) EUR' }\nyear = { regex = '20[0-9]{2}', all = true }\n\
                      type = { header = 'Content-Type', regex = 'charset=(.*)' }\nnone = { header = 'X-No' }";
        std::fs::write(&path, fields).unwrap();
        let page = b"<base href='/dir/'><a href=' x?a#b '></a><a href=//c.example></a><a href='http://[' ></a>\
                     <b>none</b><b>now 5.99 EUR</b><!-- 2024 --><p>2026";
        let args = ["--fields", path.to_str().unwrap(), "--jsonl"];
        let json = of_page(&args, "text/html; charset=utf-8", page);
        let expected = "{\"url\":\"https://a.example/\",\"title\":null,\
                        \"next\":[\"https://a.example/dir/x?a#b\",\"https://c.example/\"],\"price\":\"5.99\",\
                        \"year\":[\"2024\",\"2026\"],\"type\":\"utf-8\",\"none\":null}\n";
        assert_eq!(json, expected);
    }

    #[test]
    fn fields_of_the_command_line_and_facts_are_columns() {
        let page = b"<html lang=en><p>This is a page of a few words that somebody wrote to say what it is for.\
                     <script type=application/ld+json>{\"@type\": \"Thing\"}</script>";
        let args = ["--field", "p=p", "--field", "type=/@type\": \"([A-Za-z]+)/", "--field", "any=/@([a-z]+)/"];
        let facts = ["--facts", "language,words,json-ld,feeds", "--facts", "stated-language,direction"];
        let args = [&args[..], &facts].concat();
        let table = of_page(&args, "text/html", page);
        let expected = "url\ttitle\tp\ttype\tany\tlanguage\twords\tjson-ld\tfeeds\tstated-language\tdirection\n\
                        https://a.example/\t\tThis is a page of a few words that somebody wrote to say what it is for.\
                        {\"@type\": \"Thing\"}\tThing\ttype\teng\t17\t[{\"@type\":\"Thing\"}]\t[]\ten\tltr\n";
        assert_eq!(table, expected);
        let json = of_page(&[&args[..], &["--jsonl"]].concat(), "text/html", page);
        assert!(json.contains("\"words\":17,\"json-ld\":[{\"@type\":\"Thing\"}],\"feeds\":[]"), "{json}");
        let cli = Cli::parse_from(["extract", "--field", "title=h1"]);
        assert!(cli.args.plan().is_err_and(|e| e.is::<UsageError>()));
    }

    #[test]
    fn no_date_of_a_page_is_later_than_its_fetch() {
        let page = |date: &str| format!("<meta property=article:published_time content={date}>");
        let of = |date: &str| of_page(&["--facts", "published,modified"], "text/html", page(date).as_bytes());
        assert_eq!(of("2005-04-27"), "url\ttitle\tpublished\tmodified\nhttps://a.example/\t\t2005-04-27\t\n");
        assert_eq!(of("2005-04-30"), "url\ttitle\tpublished\tmodified\nhttps://a.example/\t\t\t\n");
    }

    #[test]
    fn main_content_is_there_as_text_and_as_markdown_and_not_for_a_page_without_any() {
        let body = "Enough words, one, two, and three, that this is what the page is about. ".repeat(12);
        let page = format!(
            "<title>T</title><nav><a href=/>Home</a> <a href=/a>About</a></nav><article><h2>Head</h2><p>{body}\
             <a href=/x>more</a></p><ul><li>one<li>two</ul><pre><code>a\n  b</code></pre></article>\
             <footer>Foot</footer>"
        );
        let json = of_page(&["--main", "--markdown", "--jsonl"], "text/html", page.as_bytes());
        let page: serde_json::Value = serde_json::from_str(&json).unwrap();
        let (main, markdown) = (page["main"].as_str().unwrap(), page["markdown"].as_str().unwrap());
        for text in [main, markdown] {
            assert!(text.contains("Enough words") && !text.contains("Home") && !text.contains("Foot"), "{text}");
            assert!(text.contains("a\n  b"), "{text:?}");
        }
        assert!(markdown.contains("## Head\n"), "{markdown}");
        assert!(markdown.contains("[more](https://a.example/x)") && markdown.contains("- two"), "{markdown}");
        let table = of_page(&["--main"], "text/html", b"<title>T</title>");
        assert_eq!(table, "url\ttitle\tmain\nhttps://a.example/\tT\t\n");
    }

    #[test]
    fn without_a_selector_there_is_a_table_of_titles() {
        let table = of_page(&[], "text/html", PAGE);
        assert_eq!(table, "url\ttitle\nhttps://a.example/\tT\n");
        assert_eq!(of_page(&["--jsonl"], "text/html", b"<p>"), "{\"url\":\"https://a.example/\",\"title\":null}\n");
    }

    #[test]
    fn lines_come_in_the_order_of_the_archive_whatever_a_page_costs() {
        let mut archive = FakeArchive::default();
        let mut expected = String::from("url\ttitle\n");
        for n in 0..200_usize {
            let url = format!("https://a.example/{n}");
            let page = format!("<title>{n}</title>{}", "<p>x".repeat(n * 7_919 % 200 * 20));
            archive.page(&url, 200, "text/html", page.as_bytes());
            expected += &format!("{url}\t{n}\n");
        }
        assert_eq!(extract(&[], &archive, Duration::MAX), (expected, String::new()));
    }

    #[test]
    fn only_good_html_pages_with_a_match_print_a_line() {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/404", 404, "text/html", PAGE);
        archive.page("https://a.example/t", 200, "text/plain", PAGE);
        archive.page("https://a.example/none", 200, "text/html", b"<p>nothing");
        archive.page("https://a.example/old", 200, "text/html", PAGE);
        archive.page("https://a.example/old", 410, "text/html", PAGE);
        assert_eq!(extract(&["--select", "h1"], &archive, Duration::MAX), (String::new(), String::new()));
        archive.page("https://a.example/yes", 200, "Text/HTML;charset=utf-8", PAGE);
        assert_eq!(extract(&["--select", "h1"], &archive, Duration::MAX).0.lines().count(), 1);
        assert_eq!(extract(&["--select", "h1", "--status", "4xx"], &archive, Duration::MAX).0.lines().count(), 2);
        assert_eq!(extract(&["--select", "h1", "--prefix", "https://b."], &archive, Duration::MAX).0, "");
    }

    #[test]
    fn of_pages_that_are_nearly_the_same_the_first_is_there_once() {
        let mut archive = FakeArchive::default();
        let text = |seed| (0..100).map(|n| format!("word{} ", n * seed % 97)).collect::<String>();
        for (url, seed) in [("1", 3), ("2", 5), ("3", 3), ("4", 5)] {
            archive.page(&format!("https://a.example/{url}"), 200, "text/html", text(seed).as_bytes());
        }
        archive.page("https://a.example/5", 200, "text/html", b"");
        let urls = |args: &[&str]| extract(args, &archive, Duration::MAX).0.matches("https://").count();
        assert_eq!((urls(&[]), urls(&["--unique"]), urls(&["--unique=1"])), (5, 3, 3));
        assert!(Cli::try_parse_from(["extract", "--unique=0.1"]).is_err());
    }

    #[test]
    fn a_page_is_read_in_its_encoding() {
        let args = ["--select", "p", "--text"];
        for (content_type, body) in [
            ("text/html; charset=ISO-8859-1", &b"<p>\xfc"[..]),
            ("text/html", b"<meta charset='windows-1252'><p>\xfc"),
            ("text/html", b"<meta content='text/html; CHARSET = \"latin1\"'><p>\xfc"),
            ("text/html", b"<p>\xfc"),
            ("text/html", b"<p>\xc3\xbc"),
            ("text/html; charset=nonsense", b"\xef\xbb\xbf<p>\xc3\xbc"),
            ("text/html; charset=latin1", b"\xef\xbb\xbf<p>\xc3\xbc"),
        ] {
            let line = of_page(&args, content_type, body);
            assert!(line.ends_with("\t\u{fc}\n"), "{content_type} {body:?} {line}");
        }
    }

    #[test]
    fn a_page_that_takes_too_long_is_left_out_and_named() {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/\x1b", 200, "text/html", PAGE);
        let (out, warnings) = extract(&["--select", "h1"], &archive, Duration::ZERO);
        assert_eq!(out, "");
        assert!(warnings.contains("left out") && warnings.contains("https://a.example/\\x1b"), "{warnings}");
    }

    #[test]
    fn a_page_that_is_too_long_is_left_out_and_named() {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/", 200, "text/html", &vec![b' '; PAGE_BYTES_MAX + 1]);
        archive.page("https://a.example/b", 200, "text/html", PAGE);
        let (out, warnings) = extract(&["--select", "h1", "--text"], &archive, Duration::MAX);
        assert_eq!(out, "https://a.example/b\tOne big heading\n");
        assert_eq!(warnings, "crawler: left out, it is longer than 32 MiB: https://a.example/\n");
    }

    #[test]
    fn what_is_no_selector_is_a_usage_error() {
        let Err(error) = Cli::parse_from(["extract", "--select", "a[["]).args.plan() else { panic!("it is none") };
        assert!(error.is::<UsageError>() && error.to_string().contains("a[["), "{error}");
    }
}
