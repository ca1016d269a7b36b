//! The page for those who have no mouse, a phone, or weak eyes.

use std::collections::BTreeSet;

use super::{Open, chromium, click, site_at};

const TABS: [&str; 8] = ["hosts", "requests", "tree", "seeds", "budgets", "warnings", "disk", "explain"];
/// Script that returns the element with the focus, and the look that says so: its own outline, or its line's in the
/// tree.
pub const FOCUSED: &str = "(() => {
    const focused = document.activeElement;
    if (!focused || focused === document.body) return '';
    const marked = focused.matches('[role=treeitem]') ? focused.querySelector('.line') : focused;
    const { outlineStyle, outlineWidth } = getComputedStyle(marked);
    const { top, bottom, left, right } = marked.getBoundingClientRect();
    const isSeen = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth && marked.checkVisibility();
    const isMarked = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
    const name = focused.id || focused.className || focused.innerText || focused.tagName;
    return (isSeen && isMarked ? '' : 'UNSEEN ') + name;
})()";

#[test]
fn the_middle_of_an_axis_is_half_of_its_end_as_it_is_written() {
    let Some(mut browser) = chromium::start() else { return };
    let (_site, _console) = paused(&mut browser);
    let ends = "import('/assets/chart.js').then(({ roundAbove }) =>
        [1, 2, 3, 5, 7, 9, 11, 25, 30, 999, 12345].map(most => roundAbove(most, { base: 10, least: 2, whole: true })))";
    let ends = browser.value(ends);
    assert_eq!(ends, serde_json::json!([2, 2, 4, 6, 8, 10, 20, 30, 30, 1_000, 20_000]), "{ends}");
}

/// A paused crawl with something in each table, and its page.
fn paused(browser: &mut chromium::Browser) -> (super::Site, Open) {
    // all budgets are met after some 110 requests, and the crawl ends: the page has to be open before
    let site = site_at(6, "[crawl]\ncheckpoint_interval = \"1s\"\n[budget]\npages_per_host = 5\n");
    let console = Open::crawl(&site.crawl);
    browser.resize((1_280, 800), false);
    browser.prefer("light");
    browser.open(&console.url);
    browser.until("document.getElementById('phase').innerText === 'Crawling'");
    site.wait_for_requests(80);
    click(browser, "ctl-pause");
    browser.until("document.getElementById('phase').innerText === 'Paused'");
    (site, console)
}

/// Shows a tab, filled.
#[track_caller]
fn show(browser: &mut chromium::Browser, tab: &str) {
    if tab == "explain" {
        browser.value("location.hash = '#requests'");
        browser.until("document.querySelector('#panel-requests td a')");
        browser.value("document.querySelector('#panel-requests td a').click()");
    } else {
        click(browser, &format!("tab-{tab}"));
    }
    // there may be no warning, which is said
    let filled = if tab == "warnings" { "td, .note:not([hidden])" } else { "td, [role=treeitem], .verdict" };
    browser.until(&format!("document.querySelector('#panel-{tab} :is({filled})')"));
}

#[test]
fn every_text_has_the_contrast_of_aa_and_no_tab_is_wider_than_a_phone() {
    let Some(mut browser) = chromium::start() else { return };
    let (_site, console) = paused(&mut browser);
    for tab in TABS {
        show(&mut browser, tab);
        for scheme in ["light", "dark"] {
            browser.prefer(scheme);
            let found = browser.value(include_str!("contrast.js"));
            assert!(found["looked"].as_u64() > Some(60), "{found}");
            assert!(found["bad"].as_array().unwrap().is_empty(), "{tab}, {scheme}: {found:#}");
        }
        browser.resize((390, 844), true);
        let width = "[document.documentElement.scrollWidth, ...[...document.querySelectorAll('main *')]
            .filter(e => e.checkVisibility() && !e.closest('.hidden, thead, a.url'))
            .filter(e => e.getBoundingClientRect().width > 0)
            .map(e => e.getBoundingClientRect().right)].reduce((a, b) => Math.max(a, b))";
        let width = browser.value(width).as_f64().unwrap();
        assert!(width <= 390.5, "{tab}: {width} px");
        browser.resize((1_280, 800), false);
    }
    for dialog in ["stop", "seeds"] {
        click(&mut browser, &format!("ctl-{dialog}"));
        browser.until(&format!("document.getElementById('{dialog}-dialog').open"));
        for scheme in ["light", "dark"] {
            browser.prefer(scheme);
            let found = browser.value(include_str!("contrast.js"));
            assert!(found["bad"].as_array().unwrap().is_empty(), "{dialog}, {scheme}: {found:#}");
        }
        browser.press("Escape");
    }
    let replay = browser.text("new URL(document.querySelector('iframe').src).origin");
    browser.assert_alone(&[&console.origin(), &replay]);
}

#[test]
fn everything_is_reached_and_done_by_keyboard() {
    let Some(mut browser) = chromium::start() else { return };
    let (_site, console) = paused(&mut browser);
    show(&mut browser, "hosts");
    browser.value("document.activeElement.blur()");
    browser.value("getSelection().collapse(document.body, 0)");
    browser.press("Tab");
    assert_eq!(browser.text(FOCUSED), "skip");
    browser.press("Enter");
    assert_eq!(browser.text("document.activeElement.id"), "main");

    let wanted = ["ctl-pause", "ctl-checkpoint", "ctl-seeds", "ctl-reload", "ctl-stop", "tab-hosts", "panel-hosts"];
    let mut met = BTreeSet::new();
    for _ in 0..40 {
        browser.press("Tab");
        let focused = browser.text(FOCUSED);
        assert!(!focused.starts_with("UNSEEN"), "{focused}");
        met.insert(focused);
    }
    let missing: Vec<_> = wanted.iter().filter(|id| !met.contains(**id)).collect();
    assert!(missing.is_empty() && met.contains("plot"), "{missing:?} of {met:?}");

    // charts: the cursor moves, and what it says is there for those who hear
    browser.value("document.querySelector('.plot').focus()");
    browser.until("document.querySelector('.plot').ariaValueText");
    browser.press("Home");
    assert_eq!(browser.text("document.querySelector('.plot').ariaValueNow"), "0");
    assert!(browser.text("document.querySelector('.plot').ariaValueText").contains("pages"));

    // tabs
    browser.value("document.getElementById('tab-hosts').focus()");
    browser.press("ArrowRight");
    assert_eq!(browser.text("document.activeElement.id"), "tab-requests");
    browser.press("End");
    assert_eq!(browser.value("document.getElementById('panel-explain').checkVisibility()"), true);
    browser.press("ArrowRight");
    assert_eq!(browser.text("document.activeElement.id"), "tab-hosts");

    // the tree: open a domain and a host, go back up, and open the explanation of a page
    show(&mut browser, "tree");
    browser.until("document.querySelectorAll('[role=treeitem]').length > 1");
    browser.value("document.querySelector('[role=treeitem]').focus()");
    for level in 2..=3 {
        browser.press("ArrowRight");
        browser.until("document.activeElement.ariaExpanded === 'true'");
        browser.press("ArrowRight");
        browser.until(&format!("document.activeElement.ariaLevel === '{level}'"));
        assert!(!browser.text(FOCUSED).starts_with("UNSEEN"));
    }
    browser.press("ArrowLeft");
    browser.until("document.activeElement.ariaLevel === '2'");
    browser.press("ArrowLeft");
    browser.until("document.activeElement.ariaExpanded === 'false'");
    browser.press("End");
    browser.press("Home");
    assert_eq!(browser.text("document.activeElement.ariaPosInSet"), "1");

    // the switch of the theme outlasts the page
    browser.value("document.getElementById('theme').focus()");
    browser.press("Enter");
    browser.press("Enter");
    assert_eq!(browser.text("document.documentElement.dataset.theme"), "dark");
    browser.open(&console.origin());
    browser.until("document.documentElement.dataset.theme === 'dark'");
    browser.assert_quiet(&console.origin());
}
