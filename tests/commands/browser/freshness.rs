//! Tests of what the page shows of a recrawl calendar.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;

use super::{Open, chromium, slow_site, try_status};
use crate::site::{PATIENCE, RUSH, Site, ms};
use crawler::simweb::SimOptions;
use crawler::text::figures::{count, size};

/// Figures of a calendar that stand still while nothing is due: their ids on the page, values, and texts.
fn figures(calendar: &Value) -> Vec<(&'static str, f64, String)> {
    let number = |value: &Value| value.as_u64().unwrap();
    let visits = &calendar["visits"];
    let counts = [
        ("calendar", number(&calendar["pages"])),
        ("due-now", number(&calendar["due_now"])),
        ("due-today", number(&calendar["due_today"])),
        ("visits", number(&visits["visits"])),
        ("changed", number(&visits["changed"])),
    ];
    let mut figures: Vec<_> = counts.into_iter().map(|(id, value)| (id, value as f64, count(value))).collect();
    let saved = number(&visits["not_modified_bytes"]);
    figures.push(("saved", saved as f64, size(saved)));
    let stretch = calendar["stretch"].as_f64().unwrap();
    figures.push(("stretch", stretch, format!("{stretch:.2}")));
    figures
}

/// The same figures, as the page shows them.
fn shown(browser: &mut chromium::Browser, figures: &[(&'static str, f64, String)]) -> Vec<(&'static str, f64, String)> {
    let shown = |&(id, ..): &(&'static str, f64, String)| {
        let figure =
            browser.value(&format!("[document.getElementById('figure-{id}')].map(f => [f.value, f.innerText])[0]"));
        (id, figure[0].as_str().unwrap().parse().unwrap(), figure[1].as_str().unwrap().to_owned())
    };
    figures.iter().map(shown).collect()
}

#[test]
fn a_crawl_with_a_calendar_shows_how_fresh_its_archive_is() {
    let Some(mut browser) = chromium::start() else { return };
    let options = SimOptions { seed: 9, hosts: 20, pages: 240, ..SimOptions::default() }.smooth();
    let recrawl = "\n[recrawl]\nmode = \"fixed\"\ninterval = \"6h\"\n";
    let site = Site::new(options, &format!("{RUSH}{recrawl}"));
    site.crawl.run(&["--until-fresh"]).expect(0, &[]);
    // seeds that are fetched again are visits before their time
    let console = Open::of(site.crawl.start(&["--force", "--console", "127.0.0.1:0"]));
    browser.resize((1_280, 800), false);
    browser.prefer("light");
    browser.open(&console.url);
    browser.until("document.getElementById('freshness-section').checkVisibility()");
    let start = Instant::now();
    loop {
        let Ok(status) = try_status(&site) else {
            assert!(start.elapsed() < PATIENCE);
            continue;
        };
        let calendar = &status["figures"]["gauges"]["calendar"];
        let (visits, seeds) = (calendar["visits"]["visits"].as_u64().unwrap(), site.web.seeds().len() as u64);
        let expected = figures(calendar);
        let there = shown(&mut browser, &expected);
        if visits == seeds && calendar["visits"]["same"] == seeds && there == expected {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{there:#?}\n{expected:#?}\n{calendar:#}");
        std::thread::sleep(ms(50));
    }
    // what moves with the clock is there, and says what it is
    let panel = browser.text("document.getElementById('freshness-section').innerText");
    let same = format!("{} the same", site.web.seeds().len());
    for word in ["next in ", "pages as last fetched", "of newest versions", &same, "without a body"] {
        assert!(panel.contains(word), "{word:?} is missing in\n{panel}");
    }
    let fresh: f64 = browser.text("document.getElementById('figure-fresh').value").parse().unwrap();
    assert!((0.9..=1.0).contains(&fresh), "{fresh}");
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        let found = browser.value(include_str!("contrast.js"));
        assert!(found["bad"].as_array().unwrap().is_empty(), "{scheme}: {found:#}");
        save(&mut browser, &format!("console-freshness-{scheme}.png"));
    }
    browser.resize((390, 844), true);
    let width = "Math.max(...[...document.querySelectorAll('#freshness-section *')]
        .map(e => e.getBoundingClientRect().right))";
    let width = browser.value(width).as_f64().unwrap();
    assert!(width <= 390.5, "{width} px");
    browser.value("document.getElementById('freshness-section').scrollIntoView()");
    save(&mut browser, "console-freshness-phone.png");
    browser.assert_quiet(&console.origin());
}

/// Keeps a picture, where somebody wants them.
fn save(browser: &mut chromium::Browser, name: &str) {
    if let Some(into) = std::env::var_os("CONSOLE_PICTURES").map(PathBuf::from) {
        fs::write(into.join(name), browser.picture()).unwrap();
    }
}

#[test]
fn a_crawl_without_a_calendar_shows_nothing_of_one() {
    let Some(mut browser) = chromium::start() else { return };
    let site = slow_site("");
    let console = Open::crawl(&site.crawl);
    browser.open(&console.url);
    browser.until("document.getElementById('phase').innerText === 'Crawling'");
    assert_eq!(browser.value("document.getElementById('freshness-section').checkVisibility()"), false);
    browser.assert_quiet(&console.origin());
}
