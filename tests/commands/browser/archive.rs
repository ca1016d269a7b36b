//! Our own pages about archived pages, for those who have no mouse, a phone, or weak eyes.

use std::path::PathBuf;

use super::chromium::{self, Browser};
use super::looks::FOCUSED;
use super::{Open, replay};
use crate::serve::{Crawled, Served, crawled as crawled_site};
use crate::site::{Site, ms};
use crate::warc::server::Answer;
use crawler::simweb::SimOptions;

/// Most bytes of a picture that is in the repository.
const BYTES_MAX: usize = 200_000;
/// The right end of what is seen furthest to the right.
const WIDTH: &str = "[document.documentElement.scrollWidth, ...[...document.querySelectorAll('body *')]
    .filter(e => e.checkVisibility() && !e.closest('.hidden, .skip'))
    .map(e => e.getBoundingClientRect().right)].reduce((a, b) => Math.max(a, b))";

/// A crawl of a few hosts, and a page of it.
fn crawled() -> (Site, String) {
    let site =
        Site::new(SimOptions { seed: 5, hosts: 6, pages: 60, latency: ms(0), ..SimOptions::default() }.smooth(), "");
    site.crawl.run(&[]).expect(0, &[]);
    let stored = site.crawl.stored();
    let url = stored.iter().find(|(url, status)| **status == 200 && url.ends_with('/')).unwrap().0.clone();
    (site, url)
}

/// The pages: with which path each is opened.
fn paths(served: &Served, url: &str) -> [String; 6] {
    let calendar = format!("/calendar?url={url}");
    let missing = "/calendar?url=http://nowhere.example/".to_owned();
    let [found, none] = ["/search?q=site:sim0.test", "/search?q=nowhere"].map(str::to_owned);
    ["/".to_owned(), calendar, missing, served.newest(url), found, none]
}

fn open(browser: &mut Browser, served: &Served, path: &str) {
    browser.open(&format!("http://{}{path}", served.home));
    browser.until("document.readyState === 'complete' && document.querySelector('main')");
}

#[test]
fn every_page_has_the_contrast_of_aa_and_is_no_wider_than_a_phone() {
    let Some(mut browser) = chromium::start() else { return };
    let (site, url) = crawled();
    let served = Served::of(&site.crawl);
    for path in paths(&served, &url) {
        browser.resize((1_280, 800), false);
        open(&mut browser, &served, &path);
        for scheme in ["light", "dark"] {
            browser.prefer(scheme);
            let found = browser.value(include_str!("contrast.js"));
            assert!(found["looked"].as_u64() > Some(3), "{path}: {found}");
            assert!(found["bad"].as_array().unwrap().is_empty(), "{path}, {scheme}: {found:#}");
        }
        browser.resize((390, 844), true);
        let width = browser.value(WIDTH).as_f64().unwrap();
        assert!(width <= 390.5, "{path}: {width} px");
    }
}

#[test]
fn from_the_start_to_an_archived_page_by_keyboard() {
    let Some(mut browser) = chromium::start() else { return };
    let (site, url) = crawled();
    let served = Served::of(&site.crawl);
    open(&mut browser, &served, "/");
    browser.press("Tab");
    assert_eq!(browser.text(FOCUSED), "skip");
    browser.press("Enter");
    assert_eq!(browser.text("document.activeElement.id"), "main");
    browser.value("document.getElementById('q').focus()");
    browser.write(&url);
    browser.press("Enter");
    browser.until("document.querySelector('.captures a')");
    for _ in 0..20 {
        browser.press("Tab");
        assert!(!browser.text(FOCUSED).starts_with("UNSEEN"), "{}", browser.text(FOCUSED));
        if browser.value("document.activeElement.matches('.captures a')") == true {
            break;
        }
    }
    browser.press("Enter");
    browser.until("document.getElementById('replay')");
    replay::until(&mut browser, "document.title");
}

/// Number of elements in a result that are no text, and of scripts that have run.
const MARKUP: &str = "document.querySelectorAll('main :is(script, img, iframe, b)').length + (window.hit ? 1 : 0)";

#[test]
fn words_of_hostile_pages_stay_text_in_the_results_of_a_search() {
    let Some(mut browser) = chromium::start() else { return };
    let evil = "<img src=x onerror='hit=1'><script>hit=1</script></mark></a><b>";
    let text = evil.replace('<', "&lt;");
    let page = format!("<title>{text}</title><p lang='{evil}'>lighthouse {text} lighthouse</p>");
    let typed = Answer { content_type: "text/html; x=<img/src=x/onerror=hit=1>", ..Answer::html(page.as_str()) };
    let Crawled { crawl, .. } =
        crawled_site(vec![("/".to_owned(), Answer::html(page)), ("/<script>hit=1</script>".to_owned(), typed)], "");
    let served = Served::of(&crawl);
    let console = Open::directory(&crawl);
    for home in [format!("http://{}", served.home), console.origin()] {
        for query in
            ["lighthouse&all=1", "%3Cscript%3Ehit%3D1%3C%2Fscript%3E", "%22%3E%3Cimg+src%3Dx+onerror%3Dhit%3D1%3E"]
        {
            browser.open(&format!("{home}/search?q={query}"));
            browser.until("document.readyState === 'complete' && document.querySelector('main')");
            assert_eq!(browser.value(MARKUP), 0, "{home} {query}");
        }
        browser.open(&format!("{home}/search?q=lighthouse"));
        browser.until("document.querySelector('.hits mark')?.textContent === 'lighthouse'");
        assert_eq!(browser.text("document.querySelector('.hits h2').textContent"), evil);
    }
    // the box of the console leads there: words by Enter, and whatever it is by its button
    browser.open(&console.url);
    browser.until("document.getElementById('phase').innerText === 'Not running'");
    browser.value("document.getElementById('ask-url').focus()");
    browser.write("lighthouse hit");
    browser.press("Enter");
    browser.until("document.querySelector('.hits mark')");
    assert_eq!(browser.value(MARKUP), 0);
}

#[test]
fn a_picture_for_the_documentation() {
    let Some(into) = std::env::var_os("CONSOLE_PICTURES").map(PathBuf::from) else { return };
    let Some(mut browser) = chromium::start() else { return };
    let (site, url) = crawled();
    let served = Served::of(&site.crawl);
    browser.prefer("light");
    browser.resize((1_280, 800), false);
    open(&mut browser, &served, &served.newest(&url));
    replay::until(&mut browser, "document.title");
    // it is of another process, which paints it a moment later
    browser.value("new Promise((done) => setTimeout(done, 2000))");
    let picture = browser.picture();
    assert!(picture.len() < BYTES_MAX, "it has {} bytes", picture.len());
    std::fs::write(into.join("serve-page.png"), picture).unwrap();
}
