//! Answers of OpenSearch that a node gives seldom.

use std::sync::{Arc, Mutex};

use crawler_sinks::sink::{Batch, Failure, Sink};
use serde_json::json;

use crate::contract::http::{Reply, Request, serve};
use crate::contract::{delete, opened, upsert};

/// A sink into a server that has the index, and gives `reply` to bulk requests; and what it was asked.
fn sink(mut reply: impl FnMut() -> Reply + Send + 'static) -> (Box<dyn Sink>, Arc<Mutex<Vec<Request>>>) {
    let asked = Arc::<Mutex<Vec<Request>>>::default();
    let noted = asked.clone();
    let url = serve(move |request| {
        noted.lock().unwrap().push(request.clone());
        if request.method == "HEAD" { Reply::new(200, "") } else { reply() }
    });
    let sink = opened(&format!("kind = 'opensearch'\nurl = '{url}'\nindex = 'i'"), None);
    (sink, asked)
}

#[test]
fn each_item_of_an_answer_counts_for_itself() {
    let items = |status: [u64; 7]| {
        let error = json!({"type": "t", "reason": "r", "caused_by": {"reason": "c"}});
        let item = |status: u64| json!({"index": {"status": status, "error": error}});
        json!({ "items": status.map(item) }).to_string()
    };
    let (mut sink, asked) = sink(move || Reply::new(200, items([201, 429, 400, 503, 404, 403, 404])));
    let mut changes: Vec<_> = (0..6).map(|number| upsert(number, 1)).collect();
    changes.push(delete(6));
    let applied = sink.apply(Batch { number: 1, changes: &changes }).unwrap();
    let refused: Vec<_> = applied.refused.iter().map(|refused| (refused.at, &*refused.why)).collect();
    assert_eq!(refused, [(2, "400 t: r (c)")]);
    assert_eq!(applied.postponed.unwrap().at, [1, 3, 4, 5]);
    // the index was not there: it is asked for again
    sink.apply(Batch { number: 1, changes: &changes }).unwrap();
    let asked = asked.lock().unwrap();
    let methods: Vec<_> = asked.iter().map(|request| &*request.method).collect();
    assert_eq!(methods, ["HEAD", "POST", "HEAD", "POST"]);
    assert!(asked[1].target.starts_with("/i/_bulk?filter_path="), "{}", asked[1].target);
    let lines: Vec<&str> = asked[1].body.lines().collect();
    assert_eq!(lines.len(), 13);
    assert!(lines[0].starts_with("{\"index\":{\"_id\":\"0000") && lines[12].starts_with("{\"delete\":{\"_id\":\""));
    assert!(!lines[12].contains("url") && lines[1].contains("\"digest\":\"sha1:0v1\""));
}

#[test]
fn an_answer_to_the_whole_batch_says_if_it_may_be_tried_again() {
    let busy = || Reply { head: "Retry-After: 7\r\n", ..Reply::new(429, "busy") };
    let fate = |reply: fn() -> Reply| {
        let (mut sink, _) = sink(reply);
        sink.apply(Batch { number: 1, changes: &[upsert(1, 1)] }).unwrap_err()
    };
    let wait = Some(std::time::Duration::from_secs(7));
    let failure = fate(busy);
    assert!(
        matches!(&failure, Failure::Again { why, wait: asked } if why.contains("busy") && *asked == wait),
        "{failure:?}"
    );
    assert!(matches!(fate(|| Reply::new(503, "")), Failure::Again { wait: None, .. }));
    assert!(matches!(fate(|| Reply::new(413, "")), Failure::Refused { .. }));
    assert!(matches!(fate(|| Reply::new(401, "who?")), Failure::Broken { .. }));
    assert!(matches!(fate(|| Reply::new(302, "")), Failure::Broken { .. }));
    // none of these says that it was stored
    assert!(matches!(fate(|| Reply::new(200, "<html>")), Failure::Again { .. }));
    assert!(matches!(fate(|| Reply::new(200, "{\"items\": []}")), Failure::Again { .. }));
    let mut away = opened("kind = 'opensearch'\nurl = 'http://127.0.0.1:1'", None);
    let failure = away.apply(Batch { number: 1, changes: &[upsert(1, 1)] });
    assert!(matches!(failure, Err(Failure::Again { .. })));
}
