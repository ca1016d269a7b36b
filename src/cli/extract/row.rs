//! The rows of a table that are taken from one page.

use std::time::Duration;

use crate::cli::archive::{Archive, Entry, Response};
use crate::cli::columns::Column as ListColumn;
use crate::cli::page::{decode, title_of};
use crate::fields::{Field, Head, Limits, Origin, Page, Source, VALUES_BYTES_MAX};
use crate::reading::tree::parse;
use crate::reading::{Fact, Form, GivenUp, MainContents, main_content, main_contents};
use crate::table::{self, Column, Format, Piece, Table, Type, Value};
use crate::text::escape::Escaped;

/// Columns that no field may be named like.
pub(super) const COLUMNS: [&str; 5] = ["url", "title", "text", "main", "markdown"];

/// The values that are taken from each page.
pub(super) enum Wanted {
    /// All elements of one selector. Nothing is written of a page that has none.
    Values(Field),
    /// Title, columns of `list` and fields of every page, and the texts of the page that are wanted.
    Table { columns: Vec<ListColumn>, fields: Vec<Field>, texts: Vec<Text> },
}

/// A text of a whole page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// All that a reader sees.
    Seen,
    /// The main content.
    Main,
    /// The main content as Markdown.
    Markdown,
}

impl Text {
    /// The name of its column.
    fn name(self) -> &'static str {
        match self {
            Text::Seen => "text",
            Text::Main => "main",
            Text::Markdown => "markdown",
        }
    }
}

impl Wanted {
    /// The columns of its table: all values of a page in one where a line is a page, else each in a separate row.
    pub(super) fn columns(&self, format: Format) -> Vec<Column> {
        let url = Column::new("url", Type::Text);
        match self {
            Wanted::Values(_) if format == Format::JsonLines => vec![url, Column::new("values", Type::List)],
            Wanted::Values(_) => vec![url, Column::new("value", Type::Text)],
            Wanted::Table { columns, fields, texts } => {
                let title = Column::new("title", Type::Text);
                let columns = columns.iter().map(|column| column.of_table());
                let fields = fields.iter().map(|field| Column::new(&field.name, holds(field)));
                let texts = texts.iter().map(|text| Column::new(text.name(), Type::Text));
                [url, title].into_iter().chain(columns).chain(fields).chain(texts).collect()
            }
        }
    }
}

/// Returns the type of the column of a field.
fn holds(field: &Field) -> Type {
    match field.source {
        Source::Fact(Fact::Words) => Type::Integer,
        Source::Fact(Fact::JsonLd | Fact::OpenGraph | Fact::Microdata | Fact::Feeds) => Type::Json,
        Source::Fact(Fact::Language | Fact::StatedLanguage | Fact::Direction) => Type::Text,
        // days, and moments with an offset: no column of moments has both
        Source::Fact(Fact::Published | Fact::Modified) => Type::Text,
        _ if field.all => Type::List,
        _ => field.holds.column(),
    }
}

/// The pages that are taken, by what their text shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Keeps {
    /// Languages of the pages, by their names in ISO 639-3; any where there are none.
    pub languages: Vec<String>,
    /// Least number of words.
    pub words_min: Option<u64>,
    /// Most words.
    pub words_max: Option<u64>,
}

impl Keeps {
    fn takes(&self, page: &Page<'_>) -> bool {
        let words = || page.fact(Fact::Words).as_u64().unwrap_or(0);
        let is_of_language = || {
            let language = page.fact(Fact::Language);
            self.languages.iter().any(|wanted| language == wanted.as_str())
        };
        self.words_min.is_none_or(|least| words() >= least)
            && self.words_max.is_none_or(|most| words() <= most)
            && (self.languages.is_empty() || is_of_language())
    }
}

/// The values that are taken, the pages, the form of the output, and the time that a page may take.
pub(super) struct Plan {
    pub wanted: Wanted,
    pub keeps: Keeps,
    pub table: Table,
    pub time_max: Duration,
}

/// The result of a page.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Row {
    /// Its rows, if it has any.
    pub piece: Option<Piece>,
    /// Warning about the page, if there is any.
    pub warning: Option<String>,
    /// True if it is not among the pages that are taken.
    pub is_left_out: bool,
}

impl Plan {
    /// Takes what is wanted of a page, of which these values of columns are known.
    pub(super) fn take(&self, origin: Origin<'_>, response: &Response, columns: Vec<Value>) -> Row {
        let url = origin.url;
        let text = decode(response);
        let mut limits = Limits::new(self.time_max);
        let tree = match parse(&text, self.time_max) {
            Ok(tree) => tree,
            Err(why) => {
                let warning = Some(format!("left out, {why}: {}", Escaped(url)));
                return Row { warning, ..Row::default() };
            }
        };
        let head = Head::of(response.status, &response.headers, &response.payload_headers);
        let page = Page::new(&tree, &text, head, origin);
        if !self.keeps.takes(&page) {
            return Row { is_left_out: true, ..Row::default() };
        }
        let mut no_main = None;
        let rows = match &self.wanted {
            Wanted::Values(field) => self.values(url, limits.values(&page, field)),
            Wanted::Table { fields, texts, .. } => {
                let mut row = vec![Value::Text(url.to_owned()), Value::from(title_of(&tree))];
                row.extend(columns);
                row.extend(fields.iter().map(|field| limits.cell(&page, field)));
                let main = self.main(&text, url, texts).unwrap_or_else(|why| {
                    no_main = Some(format!("without its main content, {why}: {}", Escaped(url)));
                    MainContents::default()
                });
                row.extend(texts.iter().map(|wanted| {
                    Value::from(match wanted {
                        Text::Seen => Some(page.seen().to_owned()),
                        Text::Main => main.text.clone(),
                        Text::Markdown => main.markdown.clone(),
                    })
                }));
                vec![row]
            }
        };
        let limit = || {
            let (mib, time) = (VALUES_BYTES_MAX >> 20, self.time_max);
            format!("its first values only, as many as the limits allow ({mib} MiB, {time:?}): {}", Escaped(url))
        };
        let piece = (!rows.is_empty()).then(|| self.table.piece(rows));
        Row { piece, warning: limits.are_broken().then(limit).or(no_main), is_left_out: false }
    }

    /// The values of the columns of `list` of an entry.
    pub(super) fn columns(&self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Vec<Value>> {
        match &self.wanted {
            Wanted::Values(_) => Ok(Vec::new()),
            Wanted::Table { columns, .. } => columns.iter().map(|column| column.cell(archive, entry)).collect(),
        }
    }

    /// The main content of the page `text` in the forms that are wanted, by one search.
    fn main(&self, text: &str, url: &str, texts: &[Text]) -> Result<MainContents, GivenUp> {
        let url = Some(url);
        match (texts.contains(&Text::Main), texts.contains(&Text::Markdown)) {
            (true, true) => main_contents(text, url, self.time_max),
            (true, false) => Ok(MainContents {
                text: main_content(text, url, Form::Text, self.time_max)?,
                ..MainContents::default()
            }),
            (false, true) => Ok(MainContents {
                markdown: main_content(text, url, Form::Markdown, self.time_max)?,
                ..MainContents::default()
            }),
            (false, false) => Ok(MainContents::default()),
        }
    }

    /// A row a value, or one of them all.
    fn values(&self, url: &str, values: Vec<String>) -> Vec<table::Row> {
        let url = || Value::Text(url.to_owned());
        match self.table.format() {
            _ if values.is_empty() => Vec::new(),
            Format::JsonLines => vec![vec![url(), Value::List(values)]],
            _ => values.into_iter().map(|value| vec![url(), Value::Text(value)]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Time;
    use crate::fields::{Form, selector};

    fn all(css: &str, form: Form) -> Plan {
        let source = Source::Elements(selector(css).unwrap(), form);
        plan(Wanted::Values(Field { all: true, ..Field::of("values", source) }), Format::Tsv)
    }

    fn plan(wanted: Wanted, format: Format) -> Plan {
        let table = Table::new(format, "pages", wanted.columns(format)).unwrap();
        Plan { wanted, keeps: Keeps::default(), table, time_max: Duration::MAX }
    }

    fn lines(row: &Row) -> &str {
        match &row.piece {
            Some(Piece::Lines(lines)) => lines,
            None => "",
            other => panic!("{other:?}"),
        }
    }

    fn from(url: &str) -> Origin<'_> {
        Origin { url, time: Time::ZERO }
    }

    fn html(body: &str) -> Response {
        Response { decoded: body.as_bytes().to_vec(), ..Response::default() }
    }

    #[test]
    fn no_value_forges_a_line_or_a_column() {
        let page = html("<p title='a&#9;b&#10;c&#27;[2J'>x</p>");
        let row = all("p", Form::Attr("title".to_owned())).take(from("https://a.example/"), &page, Vec::new());
        assert_eq!(lines(&row), "https://a.example/\ta\\tb\\nc\\x1b[2J\n");
    }

    #[test]
    fn n24_no_page_puts_a_formula_into_a_table() {
        let page = html("<title>=HYPERLINK(\"//x\")</title><p>-5<p>@SUM(1)<p> +1+1<p>\"=1");
        let row = all("p", Form::Text).take(from("https://a.example/"), &page, Vec::new());
        let values: Vec<_> = lines(&row).lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
        assert_eq!(values, ["-5", "'@SUM(1)", "'+1+1", "'\"=1"]);
        let table = |format| {
            let wanted = Wanted::Table { columns: Vec::new(), fields: Vec::new(), texts: vec![Text::Seen] };
            lines(&plan(wanted, format).take(from("https://a.example/"), &page, Vec::new())).to_owned()
        };
        let columns = table(Format::Tsv);
        assert!(columns.starts_with("https://a.example/\t'=HYPERLINK("), "{columns}");
        let columns = table(Format::Csv);
        assert!(columns.starts_with("https://a.example/,\"'=HYPERLINK("), "{columns}");
        // JSON has the values as they are
        let json = table(Format::JsonLines);
        assert!(json.contains("\"title\":\"=HYPERLINK("), "{json}");
    }

    #[test]
    fn nested_elements_do_not_multiply_without_a_bound() {
        let row = all("div", Form::Html).take(from("u"), &html(&"<div>0123456789abcdef".repeat(4_000)), Vec::new());
        assert!(lines(&row).len() < 2 * VALUES_BYTES_MAX, "{}", lines(&row).len());
        assert!(row.warning.unwrap().contains("first values only"));
    }

    #[test]
    fn elements_so_nested_that_walking_over_them_has_no_end_are_left_out() {
        let row = all("div", Form::Text).take(from("u"), &html(&"<div>".repeat(2_000)), Vec::new());
        assert_eq!((lines(&row).lines().count(), row.warning), (2_000, None));
        let row = all("div", Form::Text).take(from("u"), &html(&"<div>".repeat(100_000)), Vec::new());
        let warning = Some("left out, its elements are nested too deeply: u".to_owned());
        assert_eq!(row, Row { warning, ..Row::default() });
    }
}
