//! Requests of a page: each is paused by the browser and answered by the [`crate::browser::Network`].

use std::sync::Arc;

use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Page, text};
use crate::browser::{Asked, Denied, Ended, Fulfilled, RefusedKind, Reply, ResourceKind};

/// Fields of a response that say something of its connection, of the coding of its body, or of other places to ask.
const DROPPED_FIELDS: &[&str] = &[
    "alt-svc",
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "nel",
    "proxy-authenticate",
    "report-to",
    "reporting-endpoints",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request of the browser that is paused, and what it counts for.
struct Paused {
    session: String,
    request: String,
    is_main: bool,
    /// True if it is the first main document or a redirect of it.
    is_first: bool,
    counts: bool,
}

impl Page {
    /// Takes a paused request in.
    pub(super) fn paused(self: &Arc<Page>, session: &str, params: &Value) {
        let request = &params["request"];
        let (id, url) = (text(&params["requestId"]), text(&request["url"]));
        match url.split(':').next().unwrap_or_default() {
            "http" | "https" => {}
            // what is in the browser already
            "data" | "blob" | "about" => {
                self.connection().send(session, "Fetch.continueRequest", &json!({ "requestId": id }));
                return;
            }
            _ => {
                self.refuse(RefusedKind::Scheme, &url);
                self.connection().send(session, "Fetch.failRequest", &failed(&id, "AccessDenied"));
                return;
            }
        }
        let kind = kind(params);
        let body = match body(request) {
            Ok(body) => body,
            Err(NotReported) => {
                self.connection().send(session, "Fetch.failRequest", &failed(&id, "Failed"));
                return;
            }
        };
        let (paused, asked) = {
            let mut state = self.state();
            let redirect = params["redirectedRequestId"].as_str();
            let redirected_from = redirect.and_then(|from| state.urls.get(from).cloned());
            let is_main = kind == ResourceKind::Document && params["frameId"] == state.target.as_str();
            if is_main && redirect.is_none() {
                state.documents += 1;
            }
            let is_first = is_main && state.documents <= 1;
            // what nobody waits for keeps no page from being quiet
            let counts = !matches!(kind, ResourceKind::Ping | ResourceKind::Prefetch);
            let goes_too_far = is_main && state.documents > self.options.navigations_max.saturating_add(1);
            let is_frame_too_many = kind == ResourceKind::Document && !is_main && !state.lets_frame_load(&url);
            if goes_too_far {
                state.refuse(RefusedKind::Navigation, &url);
            }
            if is_frame_too_many {
                state.refuse(RefusedKind::Frame, &url);
            }
            state.requests += 1;
            if state.requests > self.options.requests_max {
                state.over.get_or_insert(Ended::Requests);
            }
            let paused = Paused { session: session.to_owned(), request: id.clone(), is_main, is_first, counts };
            if state.is_closed || state.over.is_some() || goes_too_far || is_frame_too_many {
                drop(state);
                self.fail(&paused, Denied::Refused);
                return;
            }
            state.urls.insert(id, url.clone());
            state.network_changed = Instant::now();
            state.open += u32::from(counts);
            let asked = Asked {
                id: u64::from(state.requests),
                url,
                method: text(&request["method"]),
                headers: fields(&request["headers"]),
                body,
                kind,
                is_main_document: is_main,
                redirected_from,
            };
            (paused, asked)
        };
        let page = self.clone();
        self.network.request(asked, Reply::new(move |answer| page.answer(&paused, answer)));
    }

    /// Brings an answer to the browser.
    fn answer(&self, paused: &Paused, answer: Result<Fulfilled, Denied>) {
        let answer = {
            let mut state = self.state();
            state.open -= u32::from(paused.counts);
            state.network_changed = Instant::now();
            let bytes = answer.as_ref().map_or(0, |fulfilled| fulfilled.body.len() as u64);
            let is_too_much = state.bytes + bytes > self.options.bytes_max;
            if is_too_much {
                state.over.get_or_insert(Ended::Bytes);
            } else {
                state.bytes += bytes;
            }
            let answer = if is_too_much { Err(Denied::Refused) } else { answer };
            if paused.is_first {
                state.denied = answer.as_ref().err().copied();
            }
            answer
        };
        match answer {
            Ok(fulfilled) if (200..600).contains(&fulfilled.status) => self.fulfill(paused, &fulfilled),
            Ok(_) => self.fail(paused, Denied::Failed),
            Err(denied) => self.fail(paused, denied),
        }
        self.changed.notify_one();
    }

    fn fulfill(&self, paused: &Paused, fulfilled: &Fulfilled) {
        let fields: Vec<Value> = fulfilled.headers.iter().filter_map(|(name, value)| field(name, value)).collect();
        let fulfill = json!({
            "requestId": paused.request,
            "responseCode": fulfilled.status,
            "responseHeaders": fields,
            "body": BASE64.encode(&fulfilled.body),
        });
        // what the browser does not take must not stay open
        let fail = failed(&paused.request, "Failed");
        self.connection().send_or(&paused.session, "Fetch.fulfillRequest", &fulfill, "Fetch.failRequest", fail);
    }

    fn fail(&self, paused: &Paused, denied: Denied) {
        let reason = match denied {
            // the page stays where it is, in place of a page of the browser about an error
            _ if paused.is_main && !paused.is_first => "Aborted",
            Denied::Refused => "BlockedByClient",
            Denied::NameNotResolved => "NameNotResolved",
            Denied::Unreachable => "ConnectionFailed",
            Denied::TimedOut => "TimedOut",
            Denied::Failed => "Failed",
        };
        self.connection().send(&paused.session, "Fetch.failRequest", &failed(&paused.request, reason));
    }
}

fn failed(request: &str, reason: &str) -> Value {
    json!({ "requestId": request, "errorReason": reason })
}

/// A field of a response as the browser takes it, unless it is not for it.
fn field(name: &str, value: &str) -> Option<Value> {
    let is_dropped = DROPPED_FIELDS.iter().any(|dropped| dropped.eq_ignore_ascii_case(name));
    let is_token =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    let is_line = !value.contains(['\r', '\n', '\0']);
    (!is_dropped && is_token && is_line).then(|| json!({ "name": name, "value": value }))
}

/// Fields of a request.
fn fields(headers: &Value) -> Vec<(String, String)> {
    let fields = headers.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// The browser does not report what is sent, such as a file.
struct NotReported;

fn body(request: &Value) -> Result<Option<Vec<u8>>, NotReported> {
    if request["hasPostData"] != true && request["postData"].is_null() {
        return Ok(None);
    }
    if let Some(entries) = request["postDataEntries"].as_array() {
        let bytes = entries.iter().map(|entry| BASE64.decode(entry["bytes"].as_str()?.as_bytes()).ok());
        return bytes.collect::<Option<Vec<_>>>().map(|parts| Some(parts.concat())).ok_or(NotReported);
    }
    request["postData"].as_str().map(|text| Some(text.as_bytes().to_vec())).ok_or(NotReported)
}

fn kind(params: &Value) -> ResourceKind {
    let is_early = |name: &String| name.eq_ignore_ascii_case("purpose") || name.eq_ignore_ascii_case("sec-purpose");
    if params["request"]["headers"].as_object().is_some_and(|headers| headers.keys().any(is_early)) {
        return ResourceKind::Prefetch;
    }
    match params["resourceType"].as_str().unwrap_or_default() {
        "Document" => ResourceKind::Document,
        "Stylesheet" => ResourceKind::Stylesheet,
        "Script" => ResourceKind::Script,
        "Image" => ResourceKind::Image,
        "Font" => ResourceKind::Font,
        "Media" | "TextTrack" => ResourceKind::Media,
        "XHR" | "Fetch" | "EventSource" => ResourceKind::Fetch,
        "Ping" | "CSPViolationReport" => ResourceKind::Ping,
        "Prefetch" => ResourceKind::Prefetch,
        _ => ResourceKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_describe_a_connection_or_break_a_message_are_left_out() {
        for (name, value) in [
            ("Content-Encoding", "br"),
            ("content-length", "5"),
            ("ALT-SVC", "h3=\":443\""),
            ("Report-To", "{}"),
            ("bad name", "x"),
            ("", "x"),
            ("X-Line", "a\r\nSet-Cookie: b"),
        ] {
            assert_eq!(field(name, value), None, "{name}");
        }
        assert_eq!(field("Set-Cookie", "a=b"), Some(json!({ "name": "Set-Cookie", "value": "a=b" })));
    }

    #[test]
    fn a_body_comes_whole_or_the_request_is_not_made() {
        let body = |value: Value| body(&value).map_err(|_| ());
        assert_eq!(body(json!({ "method": "GET" })), Ok(None));
        let entries = json!({ "hasPostData": true, "postDataEntries": [{ "bytes": "YWI=" }, { "bytes": "Yw==" }] });
        assert_eq!(body(entries), Ok(Some(b"abc".to_vec())));
        assert_eq!(body(json!({ "hasPostData": true, "postDataEntries": [{ "bytes": "YWI=" }, {}] })), Err(()));
        assert_eq!(body(json!({ "hasPostData": true })), Err(()));
    }

    #[test]
    fn what_may_be_needed_later_is_seen_by_its_fields() {
        let asked =
            |purpose: &str| json!({ "resourceType": "Fetch", "request": { "headers": { (purpose): "prefetch" } } });
        assert_eq!(kind(&asked("Purpose")), ResourceKind::Prefetch);
        assert_eq!(kind(&asked("Sec-Purpose")), ResourceKind::Prefetch);
        assert_eq!(kind(&asked("Accept")), ResourceKind::Fetch);
    }
}
