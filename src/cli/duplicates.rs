//! `crawler duplicates`: pages whose main texts are nearly the same, in groups.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::thread;

use clap::Args;
use serde::Serialize;

use super::archive::{Archive, Damage, Entry, Response};
use super::exit::Exit;
use super::ordered::{Named, Ordered};
use super::output::memory;
use super::page::decode;
use super::selection::{KindArgs, KindChoice, Selection};
use super::{ArchiveArg, OpenArchive};
use crate::reading::page::{subject_of, visible_of};
use crate::similar::{Finder, Signature};
use crate::text::escape::{Escaped, json_line};

#[derive(Debug, Args)]
#[command(after_help = "\
Compares the main content of the newest version of every HTML page with status 200, or with the status of --status; of \
a page without main content, or with too many elements to look for it, its whole visible text. Two pages are as \
alike as the share of runs of five words that both have, among all that one of them has. It is estimated, with a \
standard error of 4 %.

Prints one line per page, group by group: number of the group, how alike the page is to the first of its group, and \
its URL. The first page of a group is the one that was stored first, and represents the others; each of them is at \
least as alike to it as --similarity says. Pages that are like no other are not printed.

Memory stays at --memory and four bytes per page; the rest is sorted in temporary files (in TMPDIR, some 500 bytes per \
page).

Examples:
  crawler duplicates
  crawler duplicates --similarity 0.95 --prefix https://example.com/
  crawler duplicates --jsonl | jq -r 'select(.first | not).url'")]
pub(super) struct DuplicatesArgs {
    #[command(flatten)]
    archive: ArchiveArg,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    kind: KindArgs,
    /// Similarity of the pages of a group to its first one, from 0.5 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = share)]
    similarity: f64,
    /// Compare all visible text, not the main content: some five times as fast
    #[arg(long)]
    whole: bool,
    /// Memory for sorting
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = memory)]
    memory: usize,
    /// JSON lines: group, first (whether it represents the group), similarity, url
    #[arg(long, visible_alias = "json")]
    jsonl: bool,
}

/// Reads the similarity that two pages need, from 0.5 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.5..=1.0).contains(share));
    share.ok_or("write a share from 0.5 to 1, such as 0.9".to_owned())
}

#[derive(Serialize)]
struct DuplicateRow<'a> {
    group: u64,
    first: bool,
    similarity: f64,
    url: &'a str,
}

impl DuplicatesArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let archive = self.archive.open(open_archive)?;
        let mut out = BufWriter::with_capacity(256 << 10, io::stdout().lock());
        self.print(&*archive, &mut out, &mut io::stderr())
    }

    fn print(&self, archive: &dyn Archive, out: &mut dyn Write, warnings: &mut dyn Write) -> anyhow::Result<Exit> {
        let mut damage = Damage::default();
        let selection = self.kind.narrow(&self.selection, KindChoice::Unjudged);
        let pages = Pages { archive, selection: &selection, whole: self.whole };
        let finder = Finder::new(self.similarity, self.memory)?;
        let finder = pages.signed(finder, |entry| entry.url.into_bytes(), &mut damage, warnings)?;
        let mut last = None;
        for member in finder.finish()? {
            let member = member?;
            let first = last.replace(member.group) != Some(member.group);
            let similarity = (member.resemblance * 1_000.0).round() / 1_000.0;
            let url = String::from_utf8_lossy(&member.label);
            if self.jsonl {
                writeln!(out, "{}", json_line(&DuplicateRow { group: member.group, first, similarity, url: &url })?)?;
            } else {
                writeln!(out, "{}\t{similarity:.3}\t{}", member.group, Escaped(&url))?;
            }
        }
        out.flush()?;
        damage.or(Exit::Done, warnings)
    }
}

/// Memory for sorting the signatures where nobody says how much.
const MEMORY: usize = 256 << 20;

/// The pages of an archive, as their texts are compared.
pub(super) struct Pages<'a> {
    pub archive: &'a dyn Archive,
    pub selection: &'a Selection,
    /// All visible text, not the main content.
    pub whole: bool,
}

impl Pages<'_> {
    /// The pages that another one represents, by their handles: all but the first of each group. Pages that cannot be
    /// read are in no group, and are reported when they are read again.
    pub(super) fn repeated(&self, similarity: f64) -> anyhow::Result<HashSet<u64>> {
        let finder = Finder::new(similarity, MEMORY)?;
        let label = |entry: Entry| entry.handle.to_be_bytes().to_vec();
        let finder = self.signed(finder, label, &mut Damage::default(), &mut io::sink())?;
        let (mut repeated, mut last) = (HashSet::new(), None);
        for member in finder.finish()? {
            let member = member?;
            let is_first = last.replace(member.group) != Some(member.group);
            let handle = member.label.as_slice().try_into().map(u64::from_be_bytes);
            repeated.extend(handle.ok().filter(|_| !is_first));
        }
        Ok(repeated)
    }

    /// The finder with the signatures of all pages, which are made by all cores.
    fn signed(
        &self,
        mut finder: Finder,
        label: impl Fn(Entry) -> Vec<u8>,
        damage: &mut Damage,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Finder> {
        let whole = self.whole;
        let sign =
            |(response, label): (Response, Vec<u8>)| (text(&response, whole).map(|text| Signature::of(&text)), label);
        thread::scope(|scope| {
            let mut signed = Ordered::start(scope, &sign);
            let mut take = |(_, done): Named<(Option<Option<Signature>>, Vec<u8>)>| match done {
                Some((Some(Some(signature)), label)) => finder.push(&signature, &label),
                _ => Ok(()),
            };
            self.selection.each(self.archive, false, damage, warnings, |entry, damage, warnings| {
                if !self.selection.is_page(self.archive, &entry)? {
                    return Ok(());
                }
                match self.archive.shown(&entry) {
                    Ok(response) => {
                        let response = Response { body: Vec::new(), ..response };
                        let (name, bytes) = (entry.url.clone(), response.decoded.len());
                        let done = signed.push(name, bytes, (response, label(entry)));
                        Ok(done.into_iter().try_for_each(&mut take)?)
                    }
                    Err(e) => {
                        damage.note(e, warnings);
                        Ok(())
                    }
                }
            })?;
            Ok::<(), anyhow::Error>(std::iter::from_fn(|| signed.next()).try_for_each(take)?)
        })?;
        Ok(finder)
    }
}

/// Returns the text of a page that is compared; `None` where it has no tree within the limits.
fn text(response: &Response, whole: bool) -> Option<String> {
    let page = decode(response);
    if whole { visible_of(&page) } else { subject_of(&page) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::archive::tests::FakeArchive;
    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: DuplicatesArgs,
    }

    fn duplicates(archive: &FakeArchive, args: &[&str]) -> String {
        let (mut out, args) = (Vec::new(), Cli::parse_from([&["duplicates"], args].concat()).args);
        args.print(archive, &mut out, &mut Vec::new()).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// A page of a site, with its own text in the navigation that all share.
    fn page(text: &str) -> Vec<u8> {
        let navigation: String = (0..200).map(|at| format!("<li><a href=/{at}>Section {at} of the site</a>")).collect();
        let text = format!("<article><h1>Head</h1><p>{text}</p></article>");
        format!("<title>T</title><nav><ul>{navigation}</ul></nav>{text}<footer>Foot</footer>").into_bytes()
    }

    fn words(seed: u64) -> Vec<String> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..300).map(|_| format!("word{}", random.u32(..5_000))).collect()
    }

    #[test]
    fn pages_with_nearly_the_same_main_text_are_a_group_and_those_of_one_template_are_not() {
        let mut archive = FakeArchive::default();
        let mut edited = words(1);
        edited[150] = "other".to_owned();
        archive.page("https://a.example/1", 200, "text/html", &page(&words(1).join(" ")));
        archive.page("https://a.example/2", 200, "text/html", &page(&words(2).join(" ")));
        archive.page("https://a.example/3", 200, "text/html", &page(&edited.join(" ")));
        archive.page("https://a.example/4", 404, "text/html", &page(&edited.join(" ")));
        archive.page("https://a.example/5", 200, "text/plain", &page(&edited.join(" ")));
        archive.page("https://a.example/6", 200, "text/html", &page(&words(2).join(" ")));
        archive.page("https://a.example/7", 200, "text/html", b"");
        archive.page("https://a.example/8", 200, "text/html", b"");
        let found = duplicates(&archive, &[]);
        let lines: Vec<Vec<&str>> = found.lines().map(|line| line.split('\t').collect()).collect();
        let told: Vec<_> = lines.iter().map(|line| (line[0], line[2])).collect();
        let urls = [("0", "1"), ("0", "3"), ("1", "2"), ("1", "6")];
        let urls = urls.map(|(group, page)| (group, format!("https://a.example/{page}")));
        assert_eq!(told, urls.each_ref().map(|(group, url)| (*group, url.as_str())));
        assert!(lines[0][1] == "1.000" && lines[3][1] == "1.000" && lines[1][1].starts_with("0.9"), "{found}");
        let json = duplicates(&archive, &["--jsonl", "--similarity", "1"]);
        let expected = "{\"group\":0,\"first\":true,\"similarity\":1.0,\"url\":\"https://a.example/2\"}\n\
                        {\"group\":0,\"first\":false,\"similarity\":1.0,\"url\":\"https://a.example/6\"}\n";
        assert_eq!(json, expected);
        // with the navigation all pages are alike
        let whole = duplicates(&archive, &["--whole", "--similarity", "0.5"]);
        assert!(whole.lines().count() == 4 && whole.lines().all(|line| line.starts_with("0\t")), "{whole}");
        assert_eq!(duplicates(&archive, &["--status", "404"]), "");
    }
}
