//! `crawler search`: full text search over a crawl's archive.

use std::path::PathBuf;

use clap::Args;

use super::DirArg;
use super::exit::{Exit, UsageError};
use super::selection::KindArgs;
use crate::clock::Time;
use crate::web::warc_date::{since, until};

#[derive(Debug, Args)]
#[command(after_help = "\
Finds pages by their titles, headings, main texts and URLs. Of each URL the newest version counts, if that is a page; \
pages that came in the place of content (--kind) are left out. Case, accents and endings of words do not matter. The \
best pages come first; without words, the newest ones. Pages whose text is nearly the same as that of a better hit are \
left out.

In the words:
  two words           both must be there
  \"a phrase\"          words that follow each other
  -word               pages without it
  one OR other        one of them is enough
  title:word          in the title; url:word in the URL
  site:example.com    a host, with its subdomains
  lang:de             a language (ISO 639-1 or 639-3)
  type:image/*        a media type
  kind:login          a kind of answer, as --kind
  after:2026-11-01    captured on that day (UTC) or later
  before:2026-11-30   captured on that day (UTC) or earlier

The index is in DIR/search. The first search makes it, and each search brings it up to date first: with --no-update it \
does not. It has what the last checkpoint of a running crawl covers. Delete the directory at any time: the next search \
rebuilds it.

Examples:
  crawler search power cut
  crawler search '\"power cut\" -test site:example.com after:2026-11-01'
  crawler search --json --limit 100 checkpoint | jq -r '.hits[].url'")]
pub(super) struct SearchArgs {
    /// Words; quote those that begin with - or have quotes
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    #[command(flatten)]
    dir: DirArg,
    /// Search the index that a sink of the kind `search` keeps here, and no crawl
    #[arg(long, value_name = "PATH", conflicts_with_all = ["dir", "no_update"])]
    index: Option<PathBuf>,
    /// Only this host and its subdomains; may be given several times
    #[arg(long, value_name = "HOST")]
    site: Vec<String>,
    /// Only pages fetched on this day (UTC) or later: 2026-11-21, or 2026-11-21T05:08:44Z
    #[arg(long, value_name = "DATE", value_parser = since)]
    since: Option<Time>,
    /// Only pages fetched on this day (UTC) or earlier
    #[arg(long, value_name = "DATE", value_parser = until)]
    until: Option<Time>,
    /// Only pages in these languages, by their names in ISO 639-1 or 639-3, such as en,deu
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    language: Vec<String>,
    /// Only this MIME type: text/html, or image/* for all image types; may be given several times
    #[arg(long, value_name = "MIME")]
    mime: Vec<String>,
    #[command(flatten)]
    kind: KindArgs,
    /// Hits to show, 1,000 at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Hits to leave out before them
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// Show near duplicates of better hits, too
    #[arg(long)]
    all: bool,
    /// Search what is indexed, without bringing the index up to date
    #[arg(long)]
    no_update: bool,
    /// JSON: total, folded, hits, and counts by host, media type, language, kind, year and month
    #[arg(long)]
    json: bool,
}

#[cfg(not(feature = "search"))]
impl SearchArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        Err(UsageError::because("this build has no search: it was made without the feature `search`"))
    }
}

#[cfg(feature = "search")]
mod asked {
    use std::io::{self, BufWriter, IsTerminal, Write};
    use std::path::Path;

    use super::super::exit::NothingStored;
    use super::*;
    use crate::search::{Error, Filter, Found, Hit, Index, Query, Snippet, Updated, Updater};
    use crate::text::escape::{Escaped, json_line};
    use crate::text::figures::counted;
    use crate::{archive, disk};

    /// Versions between two lines about an update.
    const PROGRESS_VERSIONS: u64 = 10_000;

    impl SearchArgs {
        /// The search of the crawl in `dir` for these words, of which few hits are wanted.
        pub(in crate::cli) fn of_words(dir: &Path, words: Vec<String>) -> SearchArgs {
            SearchArgs {
                words,
                dir: DirArg { dir: dir.to_owned() },
                index: None,
                site: Vec::new(),
                since: None,
                until: None,
                language: Vec::new(),
                mime: Vec::new(),
                kind: KindArgs::default(),
                limit: 3,
                offset: 0,
                all: false,
                no_update: false,
                json: false,
            }
        }

        pub(in crate::cli) fn run(&self) -> anyhow::Result<Exit> {
            let found = self.find()?;
            let mut out = BufWriter::new(io::stdout().lock());
            match self.json {
                true => writeln!(out, "{}", json_line(&found)?)?,
                false => self.print(&found, io::stdout().is_terminal(), &mut out)?,
            }
            out.flush()?;
            Ok(Exit::Done)
        }

        /// Asks the index, as new as it can be had.
        pub(in crate::cli) fn find(&self) -> anyhow::Result<Found> {
            if let Some(index) = &self.index {
                let found = Index::of_documents(index).and_then(|index| index.search(&self.query()));
                return found.map_err(|error| match error {
                    Error::NoIndex(dir) => {
                        UsageError::because(format!("{}: there is no index of documents", dir.display()))
                    }
                    error => passed_on(error),
                });
            }
            let dir = &self.dir.dir;
            let updated = if self.no_update { Ok(()) } else { self.update() };
            let index = match (Index::open(dir), updated) {
                (Ok(index), Ok(())) => index,
                (Ok(index), Err(error)) => {
                    let why = error.to_string();
                    writeln!(io::stderr(), "crawler: searching the index as it is: {}", Escaped(&why))?;
                    index
                }
                (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(passed_on(error)),
            };
            index.search(&self.query()).map_err(passed_on)
        }

        fn query(&self) -> Query {
            let filter = Filter {
                site: self.site.clone(),
                after: self.since,
                before: self.until,
                language: self.language.clone(),
                media_type: self.mime.clone(),
                kind: self.kind.choices().to_vec(),
            };
            let (limit, offset) = (self.limit, self.offset);
            Query { words: self.words.join(" "), filter, limit, offset, fold: !self.all, facets: self.json }
        }

        /// Brings the index up to date, and reports that on standard error.
        fn update(&self) -> Result<(), Error> {
            let Some(mut updater) = Updater::open(&self.dir.dir)? else {
                eprintln!("crawler: another process brings the index up to date: this is what it has now");
                return Ok(());
            };
            let progress = &mut |done: &Updated| {
                if done.versions.is_multiple_of(PROGRESS_VERSIONS) {
                    eprintln!("crawler: indexed {} so far", counted(done.pages, "page"));
                }
            };
            let done = updater.update(u64::MAX, progress)?;
            if done.pages > 0 {
                eprintln!("crawler: indexed {}", counted(done.pages, "page"));
            }
            if done.unreadable > 0 {
                eprintln!("crawler: not indexed, as they cannot be read: {}", counted(done.unreadable, "page"));
            }
            Ok(())
        }

        pub(in crate::cli) fn print(&self, found: &Found, is_terminal: bool, out: &mut dyn Write) -> io::Result<()> {
            let folded = match found.folded {
                0 => String::new(),
                folded => format!(", {folded} nearly the same as better ones (--all shows them)"),
            };
            writeln!(out, "{}{folded}", counted(found.total, "page"))?;
            for (at, hit) in found.hits.iter().enumerate() {
                print_hit(self.offset + at + 1, hit, is_terminal, out)?;
            }
            Ok(())
        }
    }

    fn print_hit(number: usize, hit: &Hit, is_terminal: bool, out: &mut dyn Write) -> io::Result<()> {
        let Hit { url, captured, title, snippet, media_type, language, record_id, digest, .. } = hit;
        writeln!(out, "\n{number}. {}", Escaped(if title.is_empty() { url } else { title }))?;
        writeln!(out, "   {}", Escaped(url))?;
        if !snippet.text.is_empty() {
            writeln!(out, "   {}", marked(snippet, is_terminal))?;
        }
        let language = if language.is_empty() { String::new() } else { format!("  {language}") };
        writeln!(out, "   {captured}  {}{language}  {}  {}", Escaped(media_type), Escaped(record_id), Escaped(digest))
    }

    /// An excerpt for people: on a terminal with its words bold.
    fn marked(snippet: &Snippet, is_terminal: bool) -> String {
        let Snippet { text, marks } = snippet;
        if !is_terminal {
            return Escaped(text).to_string();
        }
        let (mut line, mut at) = (String::new(), 0);
        for mark in marks {
            line += &format!("{}\x1b[1m{}\x1b[0m", Escaped(&text[at..mark.start]), Escaped(&text[mark.clone()]));
            at = mark.end;
        }
        line + &Escaped(&text[at..]).to_string()
    }

    /// The error as the command line knows it, by which it has its exit code.
    fn passed_on(error: Error) -> anyhow::Error {
        match error {
            Error::Query(why) => UsageError::because(why),
            Error::NoIndex(_) => UsageError::because(format!("{error}: run it without --no-update")),
            Error::Archive(archive::Error::NothingStored(dir)) => NothingStored(dir.display().to_string()).into(),
            Error::Archive(error) => error.into(),
            Error::Disk(error) => error.into(),
            Error::Damaged { dir, why } => disk::Error::damaged(&dir, 0, "an index that can be read", why).into(),
            error => error.into(),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn words_are_bold_on_a_terminal_and_what_controls_it_is_not_passed_on() {
            let snippet = Snippet { text: "a \u{1b}[31mred b".to_owned(), marks: vec![0..1, 11..12] };
            assert_eq!(
                marked(&snippet, true),
                "\x1b[1ma\x1b[0m \\u{1b}[31mred \x1b[1mb\x1b[0m".replace("\\u{1b}", &Escaped("\u{1b}").to_string())
            );
            assert!(!marked(&snippet, false).contains('\u{1b}'));
        }
    }
}
