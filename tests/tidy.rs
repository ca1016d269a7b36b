//! The house rules that a machine can check, read from the source as text.
//!
//! - Imports go one way: a room (a module right below the crate) names only rooms that stand above it in the table of
//!   `src/lib.rs`. Every room is in the table.
//! - There are no circles: modules with the same parent do not need one another, neither two of them nor around
//!   several. What a module has in its folder counts for it; a re-export counts for the file behind it. Between a
//!   parent and those below it nothing is asked.
//! - Lines have 120 columns at most.
//! - Every file says at its top what it owns.
//! - Words that the glossary (docs/GLOSSARY.md) replaces are not used.
//! - Names of types, modules and functions have no private words: see `GONE`.
//! - Doc comments begin with a noun or a verb.
//! - Functions take no tuples, but for a few.
//! - A type has at most 60 methods, in at most three files.
//! - Files are made by those that follow no link.
//!
//! Code that only tests have may name anything. Each check has a test by its side that plants a violation.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/impls.rs"]
mod impls;
#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/lines.rs"]
mod lines;
#[path = "tidy/modules.rs"]
mod modules;
#[path = "tidy/openers.rs"]
mod openers;
#[path = "tidy/signatures.rs"]
mod signatures;
#[path = "tidy/source.rs"]
mod source;
#[path = "tidy/words.rs"]
mod words;

use source::{Source, tree};
use words::Kept;

/// Functions that may take tuples: some are given from outside, as a parser of arguments is.
const TUPLES_MAX: usize = 20;

/// Words that no type, module or function has in its name: each once meant something here that the field calls by
/// another name.
const GONE: &[&str] = &[
    "agenda",
    "arrival",
    "desk",
    "errand",
    "errands",
    "heard",
    "meet",
    "meets",
    "mend",
    "mended",
    "mender",
    "mends",
    "onlooker",
    "onlookers",
    "pulse",
    "rests",
    "seat",
    "seats",
    "told",
    "way",
    "ways",
];

/// Words that no type or module has; functions may, as they say something plain: `has_room`, `hands_over`.
const GONE_FROM_TYPES: &[&str] = &["hands", "room", "rooms", "word"];

/// Names that keep one of these words.
const KEPT: &[Kept] = &[
    Kept { name: "WordTable", reason: "its words are those of a machine" },
    Kept { name: "check_rests", reason: "it checks the files rests.gN" },
];

/// Fails with all `problems`, one a line.
fn none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Fails unless one of `problems` has `words` in it.
fn some(problems: &[String], words: &str) {
    assert!(problems.iter().any(|problem| problem.contains(words)), "no {words:?} in {problems:#?}");
}

fn rust() -> Vec<Source> {
    tree(&["src", "crates", "tests", "benches", "fuzz/targets"], &["rs"])
}

fn prose() -> Vec<Source> {
    tree(&["docs", "README.md"], &["md"])
}

#[test]
fn imports_go_one_way() {
    none(&layers::upward(&rust()));
}

#[test]
fn modules_need_one_another_in_no_circle() {
    none(&layers::circles(&rust()));
}

#[test]
fn lines_have_120_columns_at_most() {
    let mut sources = rust();
    sources.extend(prose());
    none(&lines::long(&sources));
}

#[test]
fn every_file_says_what_it_owns() {
    none(&lines::without_comment(&rust()));
}

#[test]
fn words_of_the_glossary_are_used() {
    let mut sources = tree(&["src", "crates", "docs", "README.md", "config"], &["rs", "md", "toml"]);
    let at = sources.iter().position(|source| source.path == "docs/GLOSSARY.md").unwrap();
    let glossary = sources.remove(at);
    let terms = words::terms(&glossary.text).unwrap();
    none(&words::replaced(&sources, &terms));
}

#[test]
fn names_have_no_private_words() {
    none(&words::private(&rust(), GONE, GONE_FROM_TYPES, KEPT));
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    none(&openers::riddles(&rust()));
}

#[test]
fn few_functions_take_tuples() {
    let found = signatures::with_tuples(&tree(&["src", "crates"], &["rs"]));
    assert!(found.len() <= TUPLES_MAX, "{} functions, more than {TUPLES_MAX}:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_type_has_few_methods_in_few_files() {
    none(&impls::large(&tree(&["src", "crates"], &["rs"])));
}

#[test]
fn files_are_made_where_no_link_is_followed() {
    none(&files::made_elsewhere(&rust()));
}

/// A tree of two rooms, `lower` above `upper` in the table, with `files` beside.
fn planted(files: &[(&str, &str)]) -> Vec<Source> {
    const LIB: &str = "//! | module | owns |\n//! |---|---|\n//! | [`lower`] | x |\n//! | `upper` | y |\n";
    let lib = ("src/lib.rs", LIB);
    [lib].iter().chain(files).map(|(path, text)| Source::new(path, text)).collect()
}

#[test]
fn an_import_against_the_table_is_found_wherever_it_stands() {
    let clean = ("src/upper.rs", "use crate::lower::{Thing, other::{self, More as Less}};");
    none(&layers::upward(&planted(&[
        clean,
        ("src/lower.rs", "//! Not crate::upper.\nconst A: &str = \"crate::upper\";"),
    ])));
    for code in [
        "use crate::upper::Own;",
        "use crate::{upper::Own};",
        "fn f<'a>() -> crate::upper::Own<'a> {}",
        "use super::upper;",
        "const A: char = '\"'; use crate::upper; const B: &str = r#\"\"\"#;",
    ] {
        some(&layers::upward(&planted(&[clean, ("src/lower.rs", code)])), "upper stands below lower");
    }
    let inside = ("src/lower/inner/deep.rs", "\nfn f() { super::super::super::upper::run() }");
    some(
        &layers::upward(&planted(&[clean, ("src/lower/mod.rs", ""), ("src/lower/inner.rs", ""), inside])),
        "deep.rs:2:",
    );
}

#[test]
fn tests_may_name_any_room_and_code_behind_them_may_not() {
    let inline = "#[cfg(test)]\nmod tests { use crate::upper::Thing; }\n";
    let upper = ("src/upper.rs", "");
    let apart = ("src/lower.rs", "#[cfg(test)]\nmod tests;");
    let file = ("src/lower/tests.rs", "use crate::upper::Thing;");
    none(&layers::upward(&planted(&[upper, apart, file])));
    none(&layers::upward(&planted(&[upper, ("src/lower.rs", inline)])));
    let behind = format!("{inline}use crate::upper::Thing;");
    some(&layers::upward(&planted(&[upper, ("src/lower.rs", &behind)])), "src/lower.rs:3:");
}

#[test]
fn a_room_that_is_not_in_the_table_and_a_row_without_a_room_are_found() {
    let problems = layers::upward(&planted(&[("src/lower.rs", ""), ("src/third/mod.rs", "")]));
    some(&problems, "third is not in the table");
    some(&problems, "no module upper");
}

#[test]
fn a_circle_is_found_between_two_around_three_and_through_a_reexport() {
    let none_yet = ("src/lower/a.rs", "use super::b::Thing; use super::Own;");
    let parent = ("src/lower/mod.rs", "mod a; mod b; mod c; pub use c::Shown; use a::Part; pub struct Own;");
    none(&layers::circles(&planted(&[parent, none_yet, ("src/lower/b.rs", "use super::Own;")])));
    let two = ("src/lower/b.rs", "fn f() -> super::a::Part {}");
    some(&layers::circles(&planted(&[parent, none_yet, two])), "in lower: b needs a");
    let (second, third) = (("src/lower/b.rs", "use super::Shown;"), ("src/lower/c.rs", "use crate::lower::a::Part;"));
    some(&layers::circles(&planted(&[parent, none_yet, second, third])), "in lower: b needs c");
    let folder = ("src/lower/b/inner.rs", "use super::super::a::Part;");
    some(&layers::circles(&planted(&[parent, none_yet, ("src/lower/b.rs", ""), folder])), "in lower: b needs a");
    let (lower, upper) = (("src/lower.rs", "use crate::upper::X;"), ("src/upper.rs", "use crate::lower::Y;"));
    some(&layers::circles(&planted(&[lower, upper])), "in the crate: lower needs upper");
}

#[test]
fn a_file_that_is_made_elsewhere_is_found_and_one_of_a_test_is_not() {
    let code = "// File::create(x)\nfn f() {\n    fs::write(path, text)\n}\n\
                #[cfg(test)]\nmod tests {\n    fn g() {\n        File::create(path)\n    }\n}\n";
    let problems = files::made_elsewhere(&planted(&[("src/upper/mod.rs", code), ("tests/x.rs", code)]));
    assert_eq!(problems.len(), 1, "{problems:?}");
    some(&problems, "src/upper/mod.rs:3: fs::write(");
}

#[test]
fn long_lines_and_silent_files_are_found() {
    let long = "word ".repeat(25);
    for (path, text) in [("src/a.rs", long.clone()), ("docs/A.md", format!("```\n{long}\n```\n- {long}"))] {
        some(&lines::long(&[Source::new(path, &text)]), "columns, more than 120");
    }
    let table = format!("| {long} |\n\n    {long}\n\n```text\n{long}\n```\n");
    none(&lines::long(&[Source::new("docs/A.md", &table), Source::new("src/a.rs", &"ä".repeat(120))]));
    some(&lines::without_comment(&[Source::new("src/a.rs", "use std::io;\n")]), "src/a.rs");
}

#[test]
fn a_doc_comment_that_begins_with_a_riddle_is_found() {
    let found = |text: &str| openers::riddles(&[Source::new("src/a.rs", text)]);
    some(&found("//! A file.\n\n/// Whether it is.\nfn f() {}"), "src/a.rs:3: begins with Whether");
    some(&found("//! What it is."), "src/a.rs:1:");
    none(&found("/// Returns the first.\n/// What follows is no opening.\n// Where plain comments may.\nfn f() {}"));
    none(&found("const A: &str = \"\n/// Of a crate that a test makes.\n\";"));
}

#[test]
fn a_tuple_among_parameters_is_found_wherever_it_stands() {
    let found = |text: &str| signatures::with_tuples(&[Source::new("src/a.rs", text)]);
    for code in [
        "fn f((a, b): (u8, u8)) {}",
        "fn f<T: Fn(u8) -> u8>(t: T, pair: &'a mut (u8, T)) {}",
        "fn f(\n    list: Vec<(u8, u8)>,\n    pair: (u8, u8),\n) {}",
        "impl A { pub(crate) fn f(&self, pair: &(u8, u8)) -> bool { true } }",
    ] {
        some(&found(code), " f takes a tuple");
    }
    none(&found("fn f(list: &[(u8, u8)], of: &(dyn Fn(u8, u8) -> u8 + Sync), unit: ()) -> (u8, u8) { (of(1, 2), 3) }"));
    none(&found("#[cfg(test)]\nmod tests {\n    fn f(pair: (u8, u8)) {}\n}"));
}

#[test]
fn a_type_with_too_many_methods_or_files_is_found() {
    let methods = |count: usize| {
        let methods =
            (0..count).map(|number| format!("    pub(super) fn m{number}(&self) {{\n        if x {{}}\n    }}\n"));
        format!("impl<'a, T: Fn() -> u8> Large<'a, T> {{\n{}}}\n", methods.collect::<String>())
    };
    let of_a_trait = "impl Show for Large {\n    fn show(&self) {}\n}\n\
                      #[cfg(test)]\nmod tests {\nimpl Large {\n    fn x() {}\n}\n}\n";
    let just = Source::new("src/a/mod.rs", &format!("{}{of_a_trait}", methods(60)));
    let elsewhere = Source::new("src/b.rs", &methods(1));
    none(&impls::large(&[just, elsewhere]));
    let many = [Source::new("src/a/mod.rs", &methods(61))];
    some(&impls::large(&many), "a: Large has Size { methods: 61, files: 1 }");
    let files = ["src/a/mod.rs", "src/a/b.rs", "src/a/c/d.rs", "src/a/e.rs"].map(|path| Source::new(path, &methods(1)));
    some(&impls::large(&files), "a: Large has Size { methods: 4, files: 4 }");
}

#[test]
fn a_replaced_word_is_found_in_prose_and_not_in_code() {
    let head = "# Glossary\n\n| term | meaning | where | say it instead of |\n|---|---|---|---|\n";
    let terms = words::terms(&format!("{head}| endpoint | where it listens | `x` | desk, what listens |\n")).unwrap();
    let found = |path: &str, text: &str| words::replaced(&[Source::new(path, text)], &terms);
    some(&found("docs/A.md", "one\nThe Desk.\n"), "docs/A.md:2: say endpoint instead of desk");
    some(&found("config/a.toml", "a = 1 # what listens"), "instead of what listens");
    some(&found("src/a.rs", "/// A\n/// desk of it.\nfn f() {}"), "src/a.rs:2:");
    some(&found("src/a.rs", "fn f() { say(\"no desk here\") }"), "src/a.rs:1:");
    none(&found("docs/A.md", "`desk`, desktop\n```text\ndesk\n```\n"));
    none(&found("src/a.rs", "/// [`desk`]\nfn desk() -> &str { \"desk\" }"));
    assert!(words::terms("| term | meaning |\n").is_err());
    assert!(words::terms(&format!("{head}| a | b | c |\n")).is_err());
}

#[test]
fn a_private_word_is_found_in_names_and_not_in_those_of_tests() {
    let kept = [Kept { name: "seat_of", reason: "a theatre has seats" }];
    let found = |text: &str| words::private(&[Source::new("src/a.rs", text)], &["seat", "told"], &["room"], &[]);
    some(&found("\nstruct SeatPlan;"), "src/a.rs:2: SeatPlan has the private word seat");
    some(&found("pub(super) mod seat;"), "seat");
    some(&found("enum DnsSeat { A }"), "DnsSeat");
    some(&found("const fn is_told() {}"), "told");
    some(&found("type Room = u8;"), "room");
    some(&found("#[inline]\nfn told() {}"), "told");
    none(&found("fn has_room() {}\nstruct Seating;\n/// fn told\nfn f() { say(\"struct Seat\"); told() }"));
    none(&found("#[test]\nfn a_seat_is_told() {}\n#[tokio::test(flavor = \"x\")]\nasync fn seat() {}"));
    none(&words::private(&[Source::new("src/a.rs", "fn seat_of() {}")], &["seat"], &[], &kept));
    some(&words::private(&[Source::new("src/a.rs", "fn f() {}")], &["seat"], &[], &kept), "no name is seat_of");
}
