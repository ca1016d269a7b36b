//! The console's page in a real browser: its figures, its buttons, hostile pages, its looks and its memory.
//!
//! Chromium is driven without a screen (`browser/chromium.rs`); where it is not installed the tests say so and check
//! nothing, except with `CI=true`. Pictures for the documentation are made with
//! `CONSOLE_PICTURES=docs cargo test --test commands browser::pictures -- --nocapture`.

mod archive;
pub mod chromium;
mod freshness;
mod heap;
mod hostile;
mod looks;
mod open;
mod pictures;
mod proxied;
mod rendering;
mod replay;

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::site::{PATIENCE, RUSH, Site, ms};
use chromium::Browser;
use crawler::simweb::SimOptions;
use crawler::text::figures::{count, size};
use open::Open;
use serde_json::Value;

/// A crawl that is not over before a test has looked at it.
fn slow_site(sections: &str) -> Site {
    site_at(20, sections)
}

/// The same with this many requests a second. No crawl of so many pages ends while a test looks at it.
fn site_at(rate: u32, sections: &str) -> Site {
    let options = SimOptions { seed: 7, hosts: 20, pages: 20_000, latency: ms(2), ..SimOptions::default() }.smooth();
    Site::new(options, &format!("{RUSH}requests_per_second = {rate}.0\n{sections}"))
}

/// Returns what `crawler ctl status --json` prints.
#[track_caller]
fn status(site: &Site) -> Value {
    try_status(site).unwrap()
}

/// The same of a crawl that may not have begun to listen.
fn try_status(site: &Site) -> Result<Value, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["ctl", "status", "--json", "--dir", "crawl"]).current_dir(site.crawl.dir.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let told = || serde_json::from_slice::<Value>(&output.stdout).unwrap()["status"].take();
    output.status.success().then(told).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Figures of a status by their ids on the page, with the text that shows them.
fn figures(status: &Value) -> Vec<(&'static str, u64, String)> {
    let (statistics, gauges) = (&status["figures"]["statistics"], &status["figures"]["gauges"]);
    let sum = |counts: &Value| counts.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>();
    let number = |value: &Value| value.as_u64().unwrap();
    let counts = [
        ("pages", number(&statistics["pages_stored"])),
        ("requests", number(&statistics["requests"])),
        ("queued", number(&gauges["queued"])),
        ("hosts", number(&statistics["hosts"])),
        ("in-flight", number(&gauges["in_flight"])),
        ("errors", sum(&statistics["failures"])),
        ("left-out", sum(&statistics["dropped"])),
    ];
    let mut figures: Vec<_> = counts.into_iter().map(|(id, value)| (id, value, count(value))).collect();
    let received = number(&statistics["bytes_received"]);
    figures.push(("received", received, size(received)));
    let checkpoint = number(&status["checkpoint"]);
    let shown = if checkpoint > 0 { count(checkpoint) } else { "none yet".to_owned() };
    figures.push(("checkpoint", checkpoint, shown));
    figures
}

/// The same figures, as the page shows them.
fn shown(browser: &mut Browser, figures: &[(&'static str, u64, String)]) -> Vec<(&'static str, u64, String)> {
    let shown = |&(id, ..): &(&'static str, u64, String)| {
        let figure =
            browser.value(&format!("[document.getElementById('figure-{id}')].map(f => [f.value, f.innerText])[0]"));
        let value = figure[0].as_str().unwrap().parse().unwrap();
        (id, value, figure[1].as_str().unwrap().to_owned())
    };
    figures.iter().map(shown).collect()
}

/// Presses the button of this id, where it can be seen.
#[track_caller]
fn click(browser: &mut Browser, id: &str) {
    let element = format!("document.getElementById('{id}')");
    browser.until(&format!("{element}?.checkVisibility() && {element}.ariaDisabled !== 'true'"));
    browser.value(&format!("{element}.click()"));
}

#[test]
fn the_buttons_pause_resume_and_stop_a_crawl_and_figures_equal_those_of_ctl_status() {
    let Some(mut browser) = chromium::start() else { return };
    let site = slow_site("");
    let console = Open::crawl(&site.crawl);
    browser.open(&console.url);
    browser.until("document.getElementById('phase').innerText === 'Crawling'");
    assert!(!browser.text("location.href").contains("token"), "the token is still in the address");
    site.wait_for_requests(30);

    click(&mut browser, "ctl-pause");
    browser.until("document.getElementById('phase').innerText === 'Paused'");
    let start = Instant::now();
    loop {
        let expected = figures(&status(&site));
        let is_idle = expected.iter().any(|&(id, value, _)| id == "in-flight" && value == 0);
        let there = shown(&mut browser, &expected);
        if is_idle && there == expected {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{there:#?}\n{expected:#?}");
        std::thread::sleep(ms(50));
    }
    let requests = site.log().len();
    // a checkpoint takes its time; no request is made meanwhile
    click(&mut browser, "ctl-checkpoint");
    browser.until("/checkpoint \\d+/.test(document.getElementById('reply').innerText)");
    assert_eq!(site.log().len(), requests);
    click(&mut browser, "ctl-pause");
    browser.until("document.getElementById('phase').innerText === 'Crawling'");
    site.wait_for_requests(requests + 10);

    click(&mut browser, "ctl-seeds");
    browser.value("document.getElementById('seeds-input').focus()");
    browser.write("http://one.example/\nht!tp://two words\n");
    click(&mut browser, "seeds-add");
    browser.until("document.querySelector('#seeds-refused li')");
    assert!(browser.text("document.getElementById('seeds-refused').innerText").contains("ht!tp://two words"));
    assert_eq!(browser.text("document.getElementById('seeds-input').value"), "ht!tp://two words");
    browser.press("Escape");

    click(&mut browser, "ctl-stop");
    browser.until("document.getElementById('stop-dialog').open");
    assert_eq!(browser.text("document.activeElement.innerText"), "Keep crawling");
    browser.press("Enter");
    browser.until("!document.getElementById('stop-dialog').open");
    assert_eq!(status(&site)["phase"], "crawling");
    browser.assert_quiet(&console.origin());
    click(&mut browser, "ctl-stop");
    click(&mut browser, "stop-yes");
    browser.until("/has ended|No connection/.test(document.getElementById('connection').innerText)");
    browser.assert_alone(&[&console.origin()]);
    let (code, said) = console.ended();
    assert_eq!(code, Some(11), "{said}");
}

#[test]
fn without_the_token_there_are_no_buttons_and_a_wrong_one_is_refused() {
    let Some(mut browser) = chromium::start() else { return };
    let site = slow_site("");
    let console = Open::crawl(&site.crawl);
    browser.open(&console.origin());
    browser.until("document.getElementById('phase').innerText === 'Crawling'");
    browser.until("document.getElementById('read-only').checkVisibility()");
    assert_eq!(browser.value("document.getElementById('controls').checkVisibility()"), false);
    browser.assert_quiet(&console.origin());
    browser.open(&format!("{}/#token=0123456789abcdef0123456789abcdef", console.origin()));
    click(&mut browser, "ctl-pause");
    browser.until("document.getElementById('reply').innerText.includes('token')");
    browser.until("!document.getElementById('controls').checkVisibility()");
    assert_eq!(status(&site)["phase"], "crawling");
    browser.assert_alone(&[&console.origin()]);
}
