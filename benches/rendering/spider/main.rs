//! `spider-chrome URL PAGES`: crawls a site with so many pages in Chrome at the same time, and prints the URL and the
//! bytes of each page. `CHROME_BIN` names the browser.

use std::time::Duration;

use spider::configuration::WaitForIdleNetwork;
use spider::tokio;
use spider::website::Website;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the first argument is a URL");
    let pages = arguments.next().and_then(|text| text.parse().ok()).expect("the second one is how many pages at once");
    let mut website = Website::new(&url);
    website.with_respect_robots_txt(true).with_delay(0).with_concurrency_limit(Some(pages));
    // as the others wait: until nothing was asked for in half a second
    website.with_wait_for_idle_network0(Some(WaitForIdleNetwork::new(Some(Duration::from_secs(30)))));
    let mut received = website.subscribe(64);
    let printed = tokio::spawn(async move {
        while let Ok(page) = received.recv().await {
            println!("{} {}", page.get_url(), page.get_html().len());
        }
    });
    website.crawl().await;
    website.unsubscribe();
    let _ = printed.await;
}
