//! Pictures of the console for the documentation, of a synthetic crawl in progress.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Open, chromium, click};
use crate::site::{Site, ms};
use crawler::simweb::SimOptions;

/// Most bytes of a picture that is in the repository.
const BYTES_MAX: usize = 200_000;

/// A web that takes some minutes, with delays as a real one has them.
fn site() -> Site {
    let options = SimOptions { seed: 11, hosts: 150, pages: 20_000, latency: ms(40), ..SimOptions::default() };
    let politeness = "delay_factor = 4.0\ndelay_min = \"400ms\"\ndelay_per_ip = \"0s\"\n";
    let limits = "[crawl]\nmax_pages = 15000\nmax_time = \"30m\"\ncheckpoint_interval = \"30s\"\n";
    Site::new(options, &format!("{politeness}{limits}"))
}

#[test]
fn pictures_for_the_documentation() {
    let Some(into) = std::env::var_os("CONSOLE_PICTURES").map(PathBuf::from) else { return };
    let Some(mut browser) = chromium::start() else { return };
    let site = site();
    let console = Open::crawl(&site.crawl);
    browser.prefer("light");
    browser.resize((1_280, 800), false);
    browser.open(&console.url);
    // enough of a curve to show what the charts are for
    browser.until("document.querySelector('.plot')?.ariaValueMax >= 45");
    let save = |name: &str, picture: Vec<u8>| {
        println!("{name}: {} bytes", picture.len());
        assert!(picture.len() < BYTES_MAX, "{name} has {} bytes", picture.len());
        fs::write(Path::new(&into).join(name), picture).unwrap();
    };
    click(&mut browser, "tab-hosts");
    browser.until("document.querySelectorAll('#panel-hosts tbody tr').length > 5");
    save("console-desktop.png", browser.picture());
    browser.prefer("dark");
    click(&mut browser, "tab-requests");
    browser.until("document.querySelectorAll('#panel-requests tbody tr').length > 5");
    save("console-dark.png", browser.picture());
    browser.prefer("light");
    browser.resize((390, 844), true);
    browser.value("document.activeElement.blur(); scrollTo(0, 0)");
    // the charts are drawn anew for their width
    browser.until("document.querySelector('.plot svg').viewBox.baseVal.width < 390");
    save("console-phone.png", browser.picture());
    browser.assert_quiet(&console.origin());
}
