//! Tests of the URLs that CSS names, by the cases of the standard, and that no bytes and no nesting do harm.

use super::*;

fn named(css: &str) -> Vec<String> {
    let mut found = Vec::new();
    urls(css, &mut |url| found.push(url.to_owned()));
    found
}

/// Cases with the URLs that they name, one blank between them.
fn check(cases: &[(&str, &str)]) {
    for (css, expected) in cases {
        assert_eq!(named(css).join(" "), *expected, "{css}");
    }
}

#[test]
fn urls_are_found_with_and_without_quotes() {
    check(&[
        ("a{background:url(x.png)}", "x.png"),
        ("a{background:URL( x.png )}", "x.png"),
        ("a{background:url('x.png')}", "x.png"),
        ("a{background:url(\"x y.png\")}", "x y.png"),
        ("a{background:url( \n\t'x.png' \n)}", "x.png"),
        ("a{background:url('x.png' crossorigin(\"anonymous\"))}", "x.png"),
        ("a{background:url()}", ""),
        ("a{background:url(x.png),url(y.png) no-repeat}b{cursor:url(z.cur) 1 2,auto}", "x.png y.png z.cur"),
        ("@font-face{src:local('A'),url(a.woff2) format(\"woff2\"),url('a.ttf')format('truetype')}", "a.woff2 a.ttf"),
        ("a{--picture:url(x.png)}", "x.png"),
        ("@media print{a{b:url(x)}}", "x"),
        ("a{b{c:url(x)}&:hover{c:url(y)}}", "x y"),
        ("a{b:[url(x)]}", "x"),
        ("background:url(x)", "x"),
        ("a{filter:url(f.svg#blur)}", "f.svg#blur"),
        ("a{b:url(data:image/png;base64,AA==)}", "data:image/png;base64,AA=="),
    ]);
}

#[test]
fn the_place_of_a_url_is_that_of_its_token() {
    let css = "@import 'x.css';/* url(n) */a{b:url( y.png )}[image-set('z' 1x)]@import\t/**/url(w);{(url(\\76";
    let mut found = Vec::new();
    places(css, &mut |url, place| found.push((url.to_owned(), css[place.range].to_owned(), place.is_sheet)));
    let expected = [
        ("x.css", "'x.css'", true),
        ("y.png", "url( y.png )", false),
        ("z", "'z'", false),
        ("w", "url(w)", true),
        ("v", "url(\\76", false),
    ];
    let expected = expected.map(|(url, token, is_sheet)| (url.to_owned(), token.to_owned(), is_sheet));
    assert_eq!(found, expected);
}

#[test]
fn escapes_and_comments_are_read_by_the_standard() {
    check(&[
        (r"a{b:u\72l(x)}", "x"),
        (r"a{b:\75 rl(x)}", "x"),
        (r"a{b:\000075rl(x)}", "x"),
        (r"a{b:url(x\29y)}", "x)y"),
        (r"a{b:url(x\)y)}", "x)y"),
        (r"a{b:url(x\ y)}", "x y"),
        (r#"a{b:url("x\"y")}"#, "x\"y"),
        ("a{b:url('x\\\ny')}", "xy"),
        (r"a{b:url(\d800 x)}", "\u{fffd}x"),
        ("a{b:url(x\0y)}", "x\u{fffd}y"),
        ("/*url(x)*/a{b:url(/*x*/)}", "/*x*/"),
        ("a{b:url/**/(x)}", ""),
        ("a{b:/* url(x) */url(y)/**/}", "y"),
        ("/*# sourceMappingURL=x.map */a{b:url(y)}", "y"),
        ("a{b:url(x", "x"),
        ("a{b:url('x", "x"),
        ("/* url(x)", ""),
        (r"@\69mport 'x';", "x"),
        (r"@import 'x\2e css';", "x.css"),
        ("<!-- @import 'x'; -->", "x"),
        ("\u{feff}@import 'x';", "x"),
    ]);
}

#[test]
fn what_the_standard_calls_bad_names_nothing() {
    check(&[
        ("a{b:url(x y)}c{d:url(z)}", "z"),
        ("a{b:url(x'y)}c{d:url(z)}", "z"),
        ("a{b:url(x(y)}c{d:url(z)}", "z"),
        ("a{b:url(x\u{1}y)}c{d:url(z)}", "z"),
        ("a{b:url(x\\\ny)}c{d:url(z)}", "z"),
        ("a{b:url(x y\\) url(n)}c{d:url(z)}", "z"),
        ("a{b:url('x\n)}c{d:url(z)}", "z"),
        ("a{b:url('x\ny')}c{d:url(z)}", ""),
        ("a{b:url('x\n'y')}c{d:url(z)}", "z"),
        ("a{b:'url(x)'}c{d:\"url(y)\"}", ""),
        ("a{b:myurl(x)}c{d:url-prefix(y)}", ""),
        ("a{b:foo('url(x)')}", ""),
    ]);
}

#[test]
fn imports_are_found_in_all_their_forms() {
    check(&[
        ("@import 'x.css';", "x.css"),
        ("@IMPORT\"x.css\"", "x.css"),
        ("@import url(x.css);", "x.css"),
        ("@import url('x.css') screen and (min-width:1px);", "x.css"),
        ("@import/**/ 'x' /**/ print;", "x"),
        ("@import 'x' layer(base) supports(display:grid) screen;@import 'y' layer;", "x y"),
        ("@import url(x) supports(background:url(n));a{b:url(y)}", "x y"),
        ("@import 'x' 'n';@import 'y';", "x y"),
        ("@import x 'n';@import 'y'", "y"),
        ("@import;a{b:url(y)}", "y"),
        ("@import{b:url(y)}", "y"),
        ("@import('n');@import 'y'", "y"),
        ("@charset \"utf-8\";@import 'x';", "x"),
        ("@layer a, b;@import 'x';a{b:url(y)}@import 'late';", "x y late"),
        ("@media print{@import 'x'}a{b:url(y)}", "x y"),
    ]);
}

#[test]
fn image_sets_name_their_strings() {
    check(&[
        ("a{b:image-set('x.png' 1x,\"y.png\" 2x)}", "x.png y.png"),
        ("a{b:-webkit-image-set(url(x.png) 1x, url('y.png') 2x)}", "x.png y.png"),
        ("a{b:IMAGE-SET('x.avif' type('image/avif'),'y.png' type(\"image/png\"))}", "x.avif y.png"),
        ("a{b:cross-fade(image-set('x' 1x),url(y) 5%)}", "x y"),
        ("a{b:foo(image-set('x'),'n')}c{d:'n'}", "x"),
        ("a{b:image-set('x' 1x}'y'", "x y"),
    ]);
}

#[test]
fn conditions_and_namespaces_name_without_fetching() {
    check(&[
        ("@namespace url(http://n);a{b:url(x)}", "x"),
        ("@namespace svg 'http://n';a{b:url(x)}", "x"),
        ("@supports (background:url(n)){a{b:url(x)}}", "x"),
        ("@supports not (a:image-set('n' 1x)) {a{b:url(x)}}c{d:url(y)}", "x y"),
        ("@-moz-document url(http://n),url-prefix('n'){a{b:url(x)}}", "x"),
        ("@container style(--a:url(n)){a{b:url(x)}}", "x"),
        ("@media{@supports (a:url(n))}a{b:url(x)}", "x"),
        ("@supports (a:{b;c:url(n)}) {d{e:url(x)}}", "x"),
    ]);
}

#[test]
fn brackets_that_close_nothing_change_nothing() {
    check(&[("}])a{b:url(x)}", "x"), ("a{b:image-set('x' ]} 1x,'y')}c{d:'n'}", "x y"), ("a{b:[}url(x)", "x")]);
}

#[test]
fn css_that_names_nothing_is_told_by_its_bytes() {
    for css in ["", "a{b:c}", "a{color:rgb(1,2,3)}", "@media print{a{b:calc(1px)}}", "curl", "@impor", "(@"] {
        assert!(!may_name(css.as_bytes()), "{css}");
    }
    for css in ["url(x)", "URL(", "a:-webkit-image-set(", "@Import 'x'", "\\"] {
        assert!(may_name(css.as_bytes()), "{css}");
    }
}

const PIECES: &[&str] = &[
    "url(",
    "URL(",
    ")",
    "(",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "\n",
    "/*",
    "*/",
    "@import",
    "@import ",
    ";",
    ",",
    "image-set(",
    "@supports",
    "@namespace ",
    "x",
    " ",
    "<!--",
    "-->",
    "#",
    "\0",
    "é",
    "1e3",
    "u+1",
    "\u{feff}",
    "\r",
    "data:",
    "!",
    "-",
    "\\75 rl(",
    "foo(",
    "\u{1}",
    ":",
    "a{b:",
    "\x0c",
    "%",
    ".5",
    "@",
    "\\\n",
];

#[test]
fn no_text_makes_it_panic_and_what_is_passed_over_names_nothing() {
    for seed in 0..30_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let css: String = (0..random.usize(..30)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
        let found = named(&css);
        assert!(found.iter().map(String::len).sum::<usize>() <= 3 * css.len(), "seed {seed}: {css:?}");
        let mut bytes: Vec<u8> = css.into_bytes();
        if let Some(at) = bytes.len().checked_sub(1) {
            bytes[random.usize(..=at)] = random.u8(..);
        }
        named(&String::from_utf8_lossy(&bytes));
    }
}

/// Sheets that the fast path sorts out would have named nothing by their tokens either.
#[test]
fn the_fast_path_says_no_only_where_the_tokens_do() {
    for seed in 0..30_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let css: String = (0..random.usize(..12)).map(|_| PIECES[random.usize(..PIECES.len())]).collect();
        if !may_name(css.as_bytes()) {
            // an escape at the end opens the slow path and changes nothing before it
            assert_eq!(named(&format!("{css} \\")), Vec::<String>::new(), "seed {seed}: {css:?}");
        }
    }
}

/// Sheets whose pieces are next to or within one another as often as `n`: none needs stack, and none hands out more
/// than its own bytes, whatever it leaves open.
#[test]
fn nesting_needs_no_stack_and_gives_no_more_than_the_text() {
    let scan = || {
        let n = 60_000;
        for piece in PIECES.iter().chain(&["a{b:url(x)", "image-set('", "url(\"", "((", "@import'", "\\("]) {
            let css = format!("\\{}", piece.repeat(n));
            let mut bytes = 0;
            urls(&css, &mut |url| bytes += url.len());
            assert!(bytes <= 3 * css.len(), "{piece}");
        }
        let nested = |n| named(&format!("url(y){}url(x){}", "a{(".repeat(n), ")}".repeat(n)));
        assert_eq!(nested(DEPTH_MAX / 2), ["y", "x"]);
        assert_eq!(nested(n), ["y"]);
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(scan).unwrap().join().unwrap();
}
