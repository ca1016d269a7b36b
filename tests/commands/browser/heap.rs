//! The page over two hours of a crawl, in seconds: in the first its charts fill, in the second nothing may grow.

use super::{Open, chromium, slow_site};
use serde_json::json;

/// Bytes and elements that may be there after the second hour beside those of the first: caches of the browser's own.
const BYTES_MORE: i64 = 400_000;
const NODES_MORE: i64 = 200;

/// Bytes of the heap and nodes of documents, with nothing that could be collected.
fn size(browser: &mut chromium::Browser) -> (i64, i64) {
    for _ in 0..3 {
        browser.call("HeapProfiler.collectGarbage", &json!({}));
    }
    let bytes = browser.call("Runtime.getHeapUsage", &json!({}))["usedSize"].as_f64().unwrap() as i64;
    (bytes, browser.call("Memory.getDOMCounters", &json!({}))["nodes"].as_i64().unwrap())
}

#[test]
fn an_hour_of_states_leaves_nothing_in_the_memory_of_the_page() {
    let Some(mut browser) = chromium::start() else { return };
    let site = slow_site("");
    let console = Open::crawl(&site.crawl);
    site.wait_for_requests(30);
    browser.call("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": include_str!("stream.js") }));
    browser.open(&console.url);
    browser.until("document.querySelector('#panel-hosts td')");
    let mut sizes = Vec::new();
    for hour in 1..=2 {
        assert_eq!(browser.value("tell(3600)"), 1, "streams after hour {hour}");
        browser.until("document.getElementById('figure-queued').value < 1e6");
        sizes.push(size(&mut browser));
    }
    println!("bytes and nodes: {sizes:?}");
    let [(bytes, nodes), (bytes_later, nodes_later)] = sizes[..] else { unreachable!() };
    assert!(bytes_later < bytes + BYTES_MORE && nodes_later < nodes + NODES_MORE, "{sizes:?}");
    let points = "document.querySelector('.plot path').getAttribute('d').split(/[ML]/).length";
    assert_eq!(browser.value(points), 721, "60 minutes are shown");
    browser.assert_quiet(&console.origin());
}
