//! Tests of the selection of main content.

use std::time::Duration;

use super::main_content::main_text;

const SENTENCE: &str = "Lighthouses stand where the coast is dark, and their keepers know the sea. ";

/// The main content of a page, with its text as `TEXT` and one blank for any number of them.
fn found(body: &str) -> String {
    let text = SENTENCE.repeat(8);
    let page = format!("<title>T</title><body>{}", body.replace("TEXT", &text));
    let main = main_text(page.as_bytes(), None, Duration::MAX).unwrap().unwrap_or_default();
    let main = main.split_whitespace().collect::<Vec<_>>().join(" ");
    main.replace(text.trim(), "TEXT")
}

#[test]
fn what_says_that_it_is_the_text_is_the_main_content() {
    for body in [
        "<div>A word.</div><div class=entry-content><p>TEXT</div><div>Another.</div>",
        "<div>A word.</div><div itemprop=articleBody><p>TEXT</div><div>Another.</div>",
        "<div>A word.</div><article><p>TEXT</article><div>Another.</div>",
        "<div>A word.</div><article><h2>No</h2><div class=post-text><p>TEXT</div></article>",
        "<div>A word.</div><div role=main><p>TEXT</div><div>Another.</div>",
    ] {
        assert_eq!(found(body), "TEXT", "{body}");
    }
}

#[test]
fn of_a_page_that_says_nothing_the_element_with_most_of_the_words_is_taken() {
    assert_eq!(found("<div>A word.</div><div><div><p>TEXT</div></div><div>Another.</div>"), "TEXT");
    assert_eq!(found("<table><tr><td>A word.<td><p>TEXT<tr><td>more<td>Another.</table>"), "TEXT");
    assert_eq!(found("<div><p>TEXT</div><div><p>TEXT</div>"), "TEXT TEXT");
    assert_eq!(found("<table><tr><td>TEXT<tr><td>TEXT</table>no"), "TEXT TEXT");
}

#[test]
fn boilerplate_within_the_text_is_left_out() {
    for part in [
        "<div class=related-posts>Another story, told at length.</div>",
        "<div class=c-share>Share it</div>",
        "<p class=hint style='display: none'>hidden</p>",
        "<aside>Aside.</aside>",
        "<ul><li><a href=/1>One other story</a><li><a href=/2>Two other stories</a></ul>",
        "<div><h3>Read on</h3><ul><li><a href=/1>One other story</a></ul></div>",
        "<h3>Read on</h3><p><a href=/1>One other story</a></p>",
        "<div class=teaser><a href=/1>Another story</a> of which there is a sentence or two.</div>",
        "<figure><img src=/p.png><figcaption>A tower.</figcaption></figure>",
        "<h3>Below this is nothing</h3>",
        "<div><h3><a href=/1>Another story</a></h3>of which there are some sentences, and more, all of it.</div>",
        "<form>Your name, please.</form>",
        "<address>A road, a town.</address>",
        "<span itemprop=author>A. Writer</span>",
    ] {
        assert_eq!(found(&format!("<article><p>TEXT</p>{part}</article>")), "TEXT", "{part}");
    }
}

#[test]
fn what_only_sounds_like_boilerplate_is_kept() {
    for body in [
        "<div class=comments><div class=post-body><p>TEXT</div></div>",
        "<div class=sidebar-left><p>TEXT</div>",
        "<article class='has-sidebar tag-social category-comments'><p>TEXT</article>",
        "<div class='elementor-widget'><p>TEXT</div>",
    ] {
        assert_eq!(found(body), "TEXT", "{body}");
    }
    let link = "<article><p>TEXT</p><p>See <a href=/1>the next tower</a>, which is as old, and taller.</p></article>";
    assert_eq!(found(link), "TEXT See the next tower, which is as old, and taller.");
}

#[test]
fn of_what_says_that_it_is_the_text_the_element_with_most_of_the_words_is_taken() {
    let main = |inner: &str| format!("<div>A word.</div><main><div>Above.</div>{inner}<div>Below.</div></main>");
    for inner in ["<div><p>TEXT</div>", "<section><div><p>TEXT</div></section>"] {
        assert_eq!(found(&main(inner)), "TEXT", "{inner}");
    }
    assert_eq!(found("<article><div>TEXT</div><p>Half. TEXT</p></article>"), "TEXT Half. TEXT");
}

#[test]
fn notes_at_the_end_are_left_out() {
    let link = "<a href=/more>the tower that is taller, and all the others of this coast</a>";
    for note in [
        "<p><b>Read on</b></p>".to_owned(),
        "<div><strong>Photographs:</strong> <em>A. Writer</em></div>".to_owned(),
        format!("<p><em>If you have liked this, you may read on about {link}, or about one of the keepers.</em></p>"),
        "<p><b>Sources</b></p><p><i>The book of towers</i></p>".to_owned(),
    ] {
        assert_eq!(found(&format!("<article><p>TEXT</p>{note}</article>")), "TEXT", "{note}");
        let before = found(&format!("<article>{note}<p>TEXT</p></article>"));
        assert!(before.len() > "TEXT".len(), "{note}: {before}");
    }
    let said =
        "In italics, a whole last sentence that has no link, as a thought of one of the keepers: the sea is wide.";
    assert_eq!(found(&format!("<article><p>TEXT</p><p><i>{said}</i></p></article>")), format!("TEXT {said}"));
    assert_eq!(found("<article><p>TEXT</p><p>It is <b>bold</b></p></article>"), "TEXT It is bold");
}

#[test]
fn a_table_keeps_its_rows_of_links() {
    let table = "<table><tr><td>Tower<td><a href=/1>Eddystone</a><tr><td><a href=/2>Skerryvore</a></table>";
    assert_eq!(
        found(&format!("<article><p>TEXT</p>{table}<p>And so on.</article>")),
        "TEXT Tower Eddystone Skerryvore And so on."
    );
}

#[test]
fn an_introduction_comes_along() {
    let lead = "An introduction of some words says what the whole story is about, and for whom.";
    for body in [
        format!(
            "<article><h1>T</h1><div class=article-intro>{lead}</div><div class=article-body><p>TEXT</div></article>"
        ),
        format!("<article><h1>T</h1><p>{lead}</p><div class=article-body><p>TEXT</div></article>"),
        format!("<article><h1>T</h1><h2>{lead}</h2><div class=article-body><p>TEXT</div></article>"),
        format!("<div><h1>T</h1><p>{lead}</p><div><p>TEXT</div></div>"),
    ] {
        assert_eq!(found(&body), format!("{lead} TEXT"), "{body}");
    }
    let other = format!("<article><div class=article-body><p>TEXT</div><div class=intro>{lead}</div></article>");
    assert_eq!(found(&other), "TEXT");
}

#[test]
fn a_page_of_a_few_words_or_of_links_has_all_of_them() {
    assert_eq!(found("<nav><a href=/>Home</a></nav><p>A few words."), "A few words.");
    assert_eq!(found("<ul><li><a href=/1>one</a><li><a href=/2>two</a></ul>"), "one two");
    assert_eq!(found("<p>A few words.</p><p>A few more.</p><aside>And a note."), "A few words. A few more.");
}
