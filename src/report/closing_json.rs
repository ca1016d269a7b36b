//! The closing statistics for programs: one JSON object, whose names stay as they are from version to version.
//!
//! docs/OPERATING.md lists them. Statuses, errors and reasons are keyed as in `crawler status --json`.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::closing::{Closing, resume_line};
use crate::disk::{Aside, Error, Result};
use crate::record::{Finish, Gauges, Statistics};
use crate::text::escape::json_escaped;

/// Version of the object: it rises when a name goes or changes its meaning, and not when one is added.
const VERSION: u16 = 1;

/// The object.
pub fn object(statistics: &Statistics, gauges: &Gauges, finish: Finish, closing: &Closing<'_>) -> Value {
    json!({
        "version": VERSION,
        "finish": finish,
        "finish_text": finish.to_string(),
        "can_resume": finish.can_resume(),
        "resume_with": finish.can_resume().then(|| resume_line(closing, finish)),
        "dir": closing.dir.to_string_lossy(),
        "elapsed_s": statistics.elapsed.as_secs_f64(),
        "pages": statistics.pages(),
        "requisites": statistics.requisites_stored,
        "redirects": statistics.redirects_stored,
        "requests": statistics.requests,
        "retries": statistics.retries,
        "bytes_received": statistics.bytes_received,
        "bytes_stored": statistics.bytes_stored,
        "statuses": statistics.statuses,
        "errors": statistics.failures,
        "errors_total": statistics.failures_total(),
        "left_out": statistics.dropped,
        "left_out_total": statistics.dropped_total(),
        "links_found": statistics.links_found,
        "links_new": statistics.unique,
        "same_content": statistics.revisits,
        "fetched_again": statistics.refetched,
        "not_modified": statistics.not_modified,
        "robots_fetched": statistics.robots_fetched,
        "robots_unreachable": statistics.robots_unreachable,
        "robots_denied": statistics.robots_denied,
        "sitemaps": statistics.sitemaps,
        "hosts": statistics.hosts,
        "depth_reached": statistics.depth_max,
        "queued": gauges.queued,
        "calendar": gauges.calendar,
        "rounds": gauges.rounds,
        "rendering": gauges.rendering,
        "memory_peak_bytes": closing.memory_bytes,
        "coverage": closing.coverage.map(|got| &got.figures),
    })
}

/// Writes the object to the file at `path`, which is replaced as a whole, or to standard output for `-`.
pub fn write(object: &Value, path: &Path) -> Result<()> {
    let text = json_escaped(&object.to_string()) + "\n";
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        return match written {
            // a reader that went away has what it wanted
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::io("write", path, error)),
            _ => Ok(()),
        };
    }
    Aside::put(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Failure, Reason};
    use crate::report::closing::LineOptions;

    #[test]
    fn the_names_are_those_that_the_documentation_has() {
        let mut statistics = Statistics { pages_stored: 7, requisites_stored: 2, ..Statistics::default() };
        statistics.count_status(404);
        statistics.count_failure(Failure::Timeout);
        statistics.count_dropped(Reason::Scope);
        let urls = ["https://example.com/?a=1&b=2".to_owned()];
        let closing = Closing {
            dir: Path::new("crawl"),
            seeds: None,
            urls: &urls,
            config: None,
            options: LineOptions::default(),
            store: None,
            memory_bytes: None,
            coverage: None,
        };
        let object = object(&statistics, &Gauges::default(), Finish::StoppedBySignal, &closing);
        assert_eq!((&object["finish"], &object["pages"]), (&json!("stopped-by-signal"), &json!(5)));
        assert_eq!((&object["statuses"]["404"], &object["errors"]["Timeout"]), (&json!(1), &json!(1)));
        assert_eq!(object["left_out"]["Scope"], 1);
        assert_eq!(object["resume_with"], "crawler 'https://example.com/?a=1&b=2' --dir crawl");
        let operating = include_str!("../../docs/OPERATING.md");
        for name in object.as_object().unwrap().keys() {
            assert!(operating.contains(&format!("`{name}`")), "docs/OPERATING.md does not name {name}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.json");
        for _ in 0..2 {
            write(&object, &path).unwrap();
            let read: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            assert_eq!(read, object);
        }
    }
}
