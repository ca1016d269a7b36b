//! `cargo bench --bench wording -- DIR...`: which edits of real pages the digest of their text sees, and which not.
//!
//! Takes HTML files below each directory, at most 400, edits each in each of these ways, and compares the wordings
//! before and after. A line says how many pages have such a place, and how many of them count as changed. Words are
//! drawn by lot, from a fixed seed, of those with five letters or more; so a few are names of months or the like, which
//! are left out on purpose. What that costs is a line of `cargo bench --bench parts -- DIR`.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use crawler::web::html::{Document, Wording};
use regex::Regex;

const PAGES_MAX: usize = 400;
const SEED: u64 = 23;
const WORD_BYTES_MIN: usize = 5;
/// Elements that frame pages of documentation, as the sites name them, and those whose text nobody reads.
const FRAMES: &str = concat!(
    r"(?i)<(nav|aside|footer|head|script|style|noscript|select|template)\b[^>]*>",
    r#"|<(div|ul|section)\b[^>]*(?:class|id|role)=""#,
    r#"(?:navheader|navfooter|related|sphinxsidebar|footer|sidebar|search)"[^>]*>"#,
);

/// Effects that an edit may have to have: it counts as a change, or not.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Seen,
    Ignored,
    /// It is one for people, and is overlooked on purpose.
    Overlooked,
}

/// A page before and after an edit; `None` where the page has no such place.
type Edit = Box<dyn Fn(&str, &mut fastrand::Rng) -> Option<(String, String)>>;

fn main() -> Result<()> {
    let dirs: Vec<PathBuf> = std::env::args_os().skip(1).filter(|arg| arg != "--bench").map(PathBuf::from).collect();
    ensure!(!dirs.is_empty(), "name directories with HTML files: cargo bench --bench wording -- DIR...");
    let sites: Vec<Vec<String>> = dirs.iter().map(|dir| pages(dir)).collect::<Result<_>>()?;
    print!("| edit | wanted |");
    dirs.iter().zip(&sites).for_each(|(dir, site)| print!(" {} ({}) |", dir.display(), site.len()));
    println!("\n|---|---|{}", "---|".repeat(dirs.len()));
    let mut wording = Wording::default();
    for (name, wanted, edit) in edits()? {
        let wanted = match wanted {
            Wanted::Seen => "seen",
            Wanted::Ignored => "ignored",
            Wanted::Overlooked => "overlooked",
        };
        print!("| {name} | {wanted} |");
        for site in &sites {
            let mut random = fastrand::Rng::with_seed(SEED);
            let edited: Vec<_> = site.iter().filter_map(|page| edit(page, &mut random)).collect();
            let seen =
                edited.iter().filter(|(before, after)| words(&mut wording, before) != words(&mut wording, after));
            print!(" {} of {} |", seen.count(), edited.len());
        }
        println!();
    }
    Ok(())
}

fn words(wording: &mut Wording, page: &str) -> Vec<u8> {
    wording.document(Document::Html, page.as_bytes(), Some("text/html; charset=utf-8")).unwrap_or_default().to_vec()
}

/// Up to this many pages below `dir`, from all over it.
fn pages(dir: &Path) -> Result<Vec<String>> {
    let (mut dirs, mut files) = (vec![dir.to_owned()], Vec::new());
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            match path.extension().is_some_and(|extension| extension == "html") {
                true => files.push(path),
                false if path.is_dir() && !path.is_symlink() => dirs.push(path),
                false => {}
            }
        }
    }
    files.sort();
    let step = files.len().div_ceil(PAGES_MAX).max(1);
    let read = |path: &PathBuf| Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned());
    files.iter().step_by(step).map(read).collect()
}

/// All edits, by name.
fn edits() -> Result<Vec<(&'static str, Wanted, Edit)>> {
    use Wanted::{Ignored, Overlooked, Seen};
    let both = |before: &str, after: &str| at_the_end(before.to_owned(), after.to_owned());
    Ok(vec![
        ("another word in a paragraph", Seen, word_in(r"(?is)<p\b[^>]*>(.{40,}?)</p>")?),
        ("another word in a heading", Seen, word_in(r"(?is)<h[1-4]\b[^>]*>(.*?)</h[1-4]>")?),
        ("another word in a sample of code", Seen, word_in(r"(?is)<pre\b[^>]*>(.*?)</pre>")?),
        ("another word in a cell of a table", Seen, word_in(r"(?is)<td\b[^>]*>(.*?)</td>")?),
        ("another word in an item of a list", Seen, word_in(r"(?is)<(?:li|dd)\b[^>]*>(.*?)</(?:li|dd)>")?),
        ("a paragraph more", Seen, paragraph(true)?),
        ("a paragraph less", Seen, paragraph(false)?),
        ("another word in the frame of the page", Ignored, word_in_frame()?),
        (
            "the date that the page has in its footer",
            Ignored,
            replaced(r"Last updated (?:on )?[A-Z0-9][\w-]*(?: [\d:]+)?(?:, \d+)?", "Last updated on March 03, 2027")?,
        ),
        (
            "the program and its version that made the page",
            Ignored,
            replaced(r"(Created using .{0,60}?)\d+\.\d+\.\d+", "${1}9.9.9")?,
        ),
        (
            "another date behind the text",
            Ignored,
            both("<p>Last modified: 2026-11-23 10:15 CET</p>", "<p>Last modified: 1 March 2027 09:12 UTC</p>"),
        ),
        ("another time since then", Ignored, both("<p>Posted 3 minutes ago</p>", "<p>Posted yesterday</p>")),
        ("another number of a build", Ignored, both("<p>Build 4711, 3fe29ab1</p>", "<p>Build 4712, 88ac01d2</p>")),
        ("another counter", Ignored, both("<p>1,234 views, 17 comments</p>", "<p>1.3k views, 18 comments</p>")),
        (
            "another year of the copyright",
            Ignored,
            both("<p>&copy; 2001-2025 Somebody</p>", "<p>&copy; 2001-2026 Somebody</p>"),
        ),
        (
            "another advertisement",
            Ignored,
            both("<div class=\"ad-slot\">Buy soap</div>", "<div class=\"ad-slot\">Rent a <b>car</b></div>"),
        ),
        (
            "another advertisement, filled by a script",
            Ignored,
            both("<ins class=adsbygoogle>Soap</ins>", "<ins class=adsbygoogle>Cars</ins>"),
        ),
        ("other recommendations", Ignored, both("<aside>Read on: apples</aside>", "<aside>Read on: pears</aside>")),
        (
            "another token in a form",
            Ignored,
            both("<form><input type=hidden value=f00ba4></form>", "<form><input type=hidden value=ab12></form>"),
        ),
        ("another comment", Ignored, both("<!-- made by host one -->", "<!-- made by host two -->")),
        (
            "another script",
            Ignored,
            both("<script>var served = 'one';</script>", "<script>var served = 'two';</script>"),
        ),
        ("another name of a style sheet", Ignored, replaced(r#"(<link[^>]*\.css)""#, "${1}?v=8ac01d\"")?),
        ("all white space", Ignored, replaced(r"</p>\s*", "</p>\n\n  ")?),
        ("another number in a paragraph", Overlooked, number_in(r"(?is)<p\b[^>]*>(.{40,}?)</p>")?),
    ])
}

const MORE: &str = "<p>The harbour was opened by the mayor.</p>";

/// Two versions of a piece before the end of the page.
fn at_the_end(before: String, after: String) -> Edit {
    Box::new(move |page, _| {
        let end = page.rfind("</body>").unwrap_or(page.len());
        let with = |piece: &str| format!("{}{piece}{}", &page[..end], &page[end..]);
        Some((with(&before), with(&after)))
    })
}

/// All matches replaced.
fn replaced(pattern: &str, by: &'static str) -> Result<Edit> {
    let pattern = Regex::new(pattern)?;
    Ok(Box::new(move |page, _| {
        let after = pattern.replace_all(page, by).into_owned();
        (after != page).then(|| (page.to_owned(), after))
    }))
}

/// A word drawn by lot of the first groups of all matches outside of frames.
fn word_in(pattern: &str) -> Result<Edit> {
    let (pattern, opening) = (Regex::new(pattern)?, Regex::new(FRAMES)?);
    Ok(Box::new(move |page, random| {
        let frames = frames(page, &opening);
        let places = pattern.captures_iter(page).filter_map(|found| found.get(1)).map(|found| found.range());
        let is_word = |word: &str| word.len() >= WORD_BYTES_MIN && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        let words = places
            .filter(|place| !is_framed(place, &frames))
            .flat_map(|place| runs(page, place))
            .filter(|word| is_word(&page[word.clone()]));
        put(page, drawn(words, random)?, "zebras")
    }))
}

/// The same of numbers.
fn number_in(pattern: &str) -> Result<Edit> {
    let pattern = Regex::new(pattern)?;
    Ok(Box::new(move |page, random| {
        let places = pattern.captures_iter(page).filter_map(|found| found.get(1)).map(|found| found.range());
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let numbers = places.flat_map(|place| runs(page, place)).filter(|word| is_number(&page[word.clone()]));
        put(page, drawn(numbers, random)?, "77")
    }))
}

/// A word drawn by lot of the parts that frame the page.
fn word_in_frame() -> Result<Edit> {
    let opening = Regex::new(FRAMES)?;
    Ok(Box::new(move |page, random| {
        let unread = |place: &Range<usize>| {
            let names = ["<head", "<script", "<style", "<noscript", "<select", "<template"];
            names.iter().any(|name| page[place.clone()].to_ascii_lowercase().starts_with(name))
        };
        let places = frames(page, &opening).into_iter().filter(|place| !unread(place));
        let is_word = |word: &str| word.len() >= WORD_BYTES_MIN && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        let words = places.flat_map(|place| runs(page, place)).filter(|word| is_word(&page[word.clone()]));
        put(page, drawn(words, random)?, "zebras")
    }))
}

/// Returns the ranges of such elements, each from its start tag to its end tag.
fn frames(page: &str, opening: &Regex) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for tag in opening.captures_iter(page) {
        let whole = tag.get(0).expect("a match has all of itself");
        if found.last().is_some_and(|frame| frame.contains(&whole.start())) {
            continue;
        }
        let name = tag.get(1).or(tag.get(2)).map_or("", |name| name.as_str());
        let (mut open, mut at) = (0, whole.start());
        while let Some(next) = page[at..].find('<') {
            let rest = &page[at + next..];
            let named = |from: usize| rest.get(from..from + name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
            open += i32::from(named(1));
            open -= i32::from(rest.starts_with("</") && named(2));
            at += next + 1;
            if open == 0 {
                break;
            }
        }
        found.push(whole.start()..at);
    }
    found
}

fn drawn(places: impl Iterator<Item = Range<usize>>, random: &mut fastrand::Rng) -> Option<Range<usize>> {
    let places: Vec<_> = places.collect();
    random.choice(places)
}

fn put(page: &str, place: Range<usize>, word: &str) -> Option<(String, String)> {
    Some((page.to_owned(), format!("{}{word}{}", &page[..place.start], &page[place.end..])))
}

/// One more paragraph behind one that is drawn by lot, or one less.
fn paragraph(is_more: bool) -> Result<Edit> {
    let (pattern, opening) = (Regex::new(r"(?is)<p\b[^>]*>[^<]{20,}.*?</p>")?, Regex::new(FRAMES)?);
    Ok(Box::new(move |page, random| {
        let frames = frames(page, &opening);
        let places = pattern.find_iter(page).map(|found| found.range());
        let place = drawn(places.filter(|place| !is_framed(place, &frames)), random)?;
        let instead = if is_more { format!("{}{MORE}", &page[place.clone()]) } else { String::new() };
        put(page, place, &instead)
    }))
}

fn is_framed(place: &Range<usize>, frames: &[Range<usize>]) -> bool {
    frames.iter().any(|frame| place.start < frame.end && frame.start < place.end)
}

/// Runs of letters and digits in the text of `place`, tags and references left out.
fn runs(page: &str, place: Range<usize>) -> Vec<Range<usize>> {
    let (mut found, mut in_tag, mut start) = (Vec::new(), false, None);
    let bytes = page.as_bytes();
    for at in place.clone().chain([place.end]) {
        let byte = if at < place.end { bytes[at] } else { b' ' };
        let is_part = !in_tag && (byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80);
        if is_part {
            start.get_or_insert(at);
        } else if let Some(from) = start.take()
            && bytes[from.saturating_sub(1)] != b'&'
            && bytes[from.saturating_sub(1)] != b'#'
        {
            found.push(from..at);
        }
        match byte {
            b'<' => in_tag = true,
            b'>' => in_tag = false,
            _ => {}
        }
    }
    found
}
