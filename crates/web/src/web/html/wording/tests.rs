//! Tests of what counts as the same page, and what does not.

use super::*;

fn wording(html: &str) -> String {
    let mut wording = Wording::default();
    let words = wording.document(Document::Html, html.as_bytes(), Some("text/html; charset=utf-8")).unwrap();
    String::from_utf8(words.to_vec()).unwrap()
}

const PAGE: &str = "<!doctype html><html><head><title>The Page</title><meta name=csrf content=abc>\
    <script>var built = 1;</script></head><body><!-- made at 10:00 --><nav>Home News</nav>\
    <div class='page with-sidebar'><h1>Harbour opens</h1><p>The new harbour was opened by the mayor.\
    <time datetime=x>3 minutes ago</time> <span>Posted 12 hours ago, 1,024 views</span></p>\
    <form><input type=hidden name=token value=f00ba4></form><div class='ad-slot top'>Buy soap <div>now</div></div>\
    <p>Ships come in.</p></div><footer>© 2025 Somebody</footer></body></html>";

#[test]
fn the_words_of_a_page_are_its_text_and_its_title() {
    assert_eq!(wording(PAGE), "the page harbour opens the new harbour was opened by the mayor posted ships come in ");
}

#[test]
fn what_changes_by_itself_changes_nothing() {
    for (from, to) in [
        ("content=abc", "content=xyz"),
        ("built = 1", "built = 2"),
        ("made at 10:00", "made at 11:00"),
        ("3 minutes ago", "on Friday"),
        ("12 hours ago", "yesterday"),
        ("12 hours ago", "an hour ago"),
        ("12 hours ago", "just now"),
        ("12 hours ago", "Mon, 3rd of March 2025, 10:11 am UTC"),
        ("12 hours ago", "vor 3 Minuten"),
        ("1,024 views", "2.1k views"),
        ("f00ba4", "aa55aa"),
        ("Buy soap <div>now</div>", "Rent a car"),
        ("2025 Somebody", "2026 Somebody else"),
        ("Home News", "Home News Sport"),
        ("<p>Ships", "\n\n<p  class=x>Ships"),
        ("Harbour opens", "HARBOUR opens"),
        ("Harbour opens", "<b>Harbour</b>&nbsp;opens"),
        ("by the mayor", "by the&#32;mayor 8f3a2b"),
    ] {
        // "of" is a word like others
        let to = to.replace(" of ", " ");
        let changed = PAGE.replace(from, &to);
        assert_ne!(changed, PAGE, "{from}");
        // "on" and "else" are where nobody looks
        assert_eq!(wording(&changed), wording(PAGE), "{from} -> {to}");
    }
}

#[test]
fn what_people_write_changes_the_wording() {
    for (from, to) in [
        ("Ships come in", "Ships go out"),
        ("The Page", "Another page"),
        ("the mayor", "the queen"),
        ("<p>Ships come in.</p>", ""),
        ("opened by", "not opened by"),
    ] {
        assert_ne!(wording(&PAGE.replace(from, to)), wording(PAGE), "{from} -> {to}");
    }
}

#[test]
fn a_page_that_is_all_frame_is_compared_by_it() {
    let links = "<a href=1>Apples</a> <a href=2>Pears</a> <a href=3>Plums and many other kinds of fruit</a>";
    let page = format!("<body><div id=sidebar><ul>{links}</ul></div>Up</body>");
    assert_eq!(wording(&page), "apples pears plums and many other kinds of fruit up ");
}

#[test]
fn a_frame_that_is_not_closed_hides_nothing() {
    let page = "<div class=ads>Buy<p>The long text of the page, which nobody must lose sight of.";
    assert!(wording(page).ends_with("which nobody must lose sight of "), "{}", wording(page));
    let nested = "<p>The text of a page that is long enough.<aside>x<aside>y</aside>z</aside>end";
    assert_eq!(wording(nested), "the text of page that is long enough end ");
}

#[test]
fn numbers_go_out_of_scripts_without_blanks_and_the_sentence_stays() {
    assert_eq!(wording("<p>今日は2026年11月22日です。晴れ</p>"), "今日は年月日です 晴れ ");
}

#[test]
fn feeds_and_plain_text_have_a_wording_too() {
    let feed = "<?xml version='1.0'?><rss><channel><lastBuildDate>Sun, 22 Nov 2026 10:00:00 GMT</lastBuildDate>\
                <item><title>One &amp; two</title><description><![CDATA[<p>Three]]></description></item>\
                </channel></rss>";
    let mut wording = Wording::default();
    let of = |wording: &mut Wording, text: &str| {
        wording.document(Document::Xml, text.as_bytes(), Some("application/rss+xml")).unwrap().to_vec()
    };
    assert_eq!(of(&mut wording, feed), b"one two p three ");
    assert_eq!(of(&mut wording, &feed.replace("22 Nov", "23 Dec")), b"one two p three ");
    assert_eq!(wording.plain(b"Read me\n\n2026-11-22: Second\tline", Some("text/plain")), b"read me line ");
    assert!(wording.document(Document::Css, b"a{}", None).is_none());
}

#[test]
fn only_types_that_are_text_are_plain_text() {
    for (content_type, expected) in [
        ("text/plain; charset=utf-8", true),
        ("text/markdown", true),
        ("application/json", true),
        ("application/ld+json", true),
        ("text/css", false),
        ("text/javascript", false),
        ("image/png", false),
        ("application/pdf", false),
    ] {
        assert_eq!(is_plain_text(Some(content_type)), expected, "{content_type}");
    }
    assert!(!is_plain_text(None));
}

#[test]
fn no_bytes_make_it_panic_and_all_give_the_same_twice() {
    let seed = 23;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut wording = Wording::default();
    for round in 0..2_000 {
        let mut bytes = PAGE.as_bytes().to_vec();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(..bytes.len());
            match random.u8(..3) {
                0 => bytes[at] = random.u8(..),
                1 => drop(bytes.drain(at..(at + random.usize(..40)).min(bytes.len()))),
                _ => bytes.insert(at, b"<>&/'\"="[random.usize(..7)]),
            }
        }
        for document in [Document::Html, Document::Xhtml, Document::Xml] {
            let first = wording.document(document, &bytes, None).unwrap().to_vec();
            assert_eq!(wording.document(document, &bytes, None).unwrap(), first, "seed {seed}, round {round}");
        }
    }
}
