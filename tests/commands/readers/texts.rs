//! The text of pages as `extract --text` gives it, held against the `innerText` of Chromium: the same, but for the
//! amount of white space.

use std::collections::HashMap;

use serde_json::Value;

use super::expected_failure;
use super::site::Site;
use crate::browser::chromium;

/// A body of a page, and whether its text is known to be another one (45.19).
struct Case {
    name: &'static str,
    html: &'static str,
    fails: bool,
}

const fn same(name: &'static str, html: &'static str) -> Case {
    Case { name, html, fails: false }
}

const fn other(name: &'static str, html: &'static str) -> Case {
    Case { name, html, fails: true }
}

const CASES: &[Case] = &[
    same("blocks", "<p>one</p><p>two</p><div>three<div>four</div>five</div><section>six</section>seven"),
    same("inline", "<p>a<b>b</b>c <i>d</i><span> e</span><a href=/x>f</a>g<code>h</code>i<sub>2</sub><q>j</q></p>"),
    same("br", "<p>one<br>two<br/>three</p><h2>four<br>five</h2>"),
    same("pre", "<pre>line 1\n  line 2</pre><pre><code>a<br>b</code></pre><pre><span>s</span><span>t</span>\n</pre>"),
    same("pre-divs", "<pre><div>l1</div><div>l2</div></pre>"),
    same("code-br", "<p>see <code><span>x<br>y</span></code></p>"),
    same("lists", "<ul><li>one<li>two<ol><li>three<li>four</ol></ul><dl><dt>t1<dd>d1<dt>t2<dd>d2</dl>"),
    same(
        "table",
        "<table><caption>cap</caption><tr><th>A<br>B<th>C<tr><td>1<td>2<tr><td><p>p</p><p>q</p><td>3</table>",
    ),
    same("headings", "<h1>one</h1><h2>two</h2>text<h3>three</h3><hgroup><h4>four</h4><p>five</p></hgroup>"),
    same(
        "quote",
        "<blockquote>one<br>two</blockquote><address>three</address><figure>f<figcaption>c</figcaption></figure>",
    ),
    same("link-blocks", "<p>before</p><a href=/x><h3>Head</h3><div>in link</div></a><a href=/y>one<br>two</a>"),
    same("center", "<center>one</center><center>two</center><main>three</main><article>four</article>"),
    same("rule", "<p>a</p><hr><p>b</p>c<hr>d"),
    same("time", "<p>It came on <time datetime=2026-11-21>21 November</time>, and left.</p>"),
    same("ruby", "<p>the <ruby>\u{6f22}<rt>kan</rt>\u{5b57}<rt>ji</rt></ruby> here</p>"),
    other("math", "<p>a set of <math><mi>N</mi></math> objects <math><msub><mi>x</mi><mn>1</mn></msub></math> end</p>"),
    same("custom", "<p>a <my-word>custom</my-word> element, <nobr>not broken</nobr>, <unknown>not known</unknown></p>"),
    same("hidden", "<p>seen</p><p hidden>not seen</p><span hidden>nor this</span><div hidden><p>nor that</p></div>"),
    same(
        "display-none",
        "<p>seen</p><p style='display:none'>not seen</p><span style='color: red; display: none'>nor</span>",
    ),
    same("details", "<details open><summary>head</summary>body</details><details><summary>a</summary>b</details>c"),
    same("select", "<p>x <select><option>one<option>two<optgroup label=l><option>three</optgroup></select> y</p>"),
    same("not-loaded", "<p>a<object>fallback</object>b<iframe>i</iframe>c<canvas>cv</canvas>d<meter>me</meter>e</p>"),
    same("dialogs", "<div>a<dialog>b</dialog>c<dialog open>d</dialog>e</div>"),
    same("taken-out", "<div>a<span style='float:left'>b</span>c<i style='visibility:hidden'>d<b>e</b></i></div>"),
    // the letters of formulas are other characters in Chromium, and each is on its own line
    same(
        "media",
        "<p>a <img src=/i.png alt=picture> b<svg><title>t</title></svg> c<wbr>d&shy;e</p><video>not played</video>",
    ),
    same("scripts", "<script>var a</script><style>p{}</style><template>t</template><noscript>n</noscript><p>seen</p>"),
    same("forms", "<form><label>name <input value=v></label><button>send</button><textarea>t</textarea></form>"),
    same("blanks", "<p> a  b\n c&nbsp;d </p> e <p>\tf</p><span>g</span> <span>h</span>\n<b>i</b><i>j</i>"),
    same(
        "fieldset",
        "<fieldset><legend>one</legend>two</fieldset><nav>three</nav><aside>four</aside><footer>five</footer>",
    ),
];

/// Returns the text with one blank for any white space.
fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_text_of_a_page_is_that_which_a_browser_shows() {
    let Some(mut browser) = chromium::start() else { return };
    let page = |case: &Case| {
        let text = format!("<!doctype html><meta charset=utf-8><title>{}</title><body>{}", case.name, case.html);
        (format!("/{}", case.name), text)
    };
    let site = Site::start(CASES.iter().map(page).collect());
    let urls: Vec<String> = CASES.iter().map(|case| site.url(&format!("/{}", case.name))).collect();
    std::fs::write(site.path("seeds.txt"), urls.join("\n")).unwrap();
    site.crawl("crawl", &[]);
    let extracted = String::from_utf8(site.run(&["extract", "--jsonl", "--text"]).stdout).unwrap();
    let texts = extracted.lines().map(|line| {
        let page: Value = serde_json::from_str(line).unwrap();
        (page["url"].as_str().unwrap().to_owned(), collapsed(page["text"].as_str().unwrap()))
    });
    let texts: HashMap<String, String> = texts.collect();
    assert_eq!(texts.len(), CASES.len());
    let mut wrong = Vec::new();
    for (case, url) in CASES.iter().zip(&urls) {
        browser.open(url);
        browser.until("document.readyState === 'complete'");
        let shown = collapsed(&browser.text("document.body.innerText"));
        match case.fails {
            true => expected_failure(19, || assert_eq!(texts[url], shown, "{}", case.name)),
            false if texts[url] != shown => wrong.push((case.name, &texts[url], shown)),
            false => {}
        }
    }
    assert!(wrong.is_empty(), "other texts than a browser shows: {wrong:#?}");
}
