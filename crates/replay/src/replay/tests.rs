//! The replay over an archive in memory.

use std::collections::BTreeMap;

use crawler_web::clock::Time;

use super::*;

/// A capture of a page.
pub(super) fn capture(url: &str, ms: u64) -> Capture {
    Capture {
        id: CaptureId { shard: 0, offset: ms },
        url: url.to_owned(),
        time: Time::from_ms(ms),
        status: 200,
        mime: "text/html".to_owned(),
        bytes: 0,
        is_revisit: false,
    }
}

/// An archive in memory: captures by URL, contents by their place.
#[derive(Default)]
struct Memory {
    captures: BTreeMap<String, Vec<Capture>>,
    contents: BTreeMap<u64, Content>,
    rendered: BTreeMap<u64, String>,
}

impl Captures for Memory {
    fn captures(&self, url: &CanonicalUrl) -> Result<Vec<Capture>, ArchiveFault> {
        Ok(self.captures.get(url.as_str()).cloned().unwrap_or_default())
    }

    fn content(&self, capture: &Capture) -> Result<Content, ArchiveFault> {
        self.contents.get(&capture.id.offset).cloned().ok_or_else(|| ArchiveFault("damaged <here>".to_owned()))
    }

    fn rendered(&self, capture: &Capture) -> Result<Option<String>, ArchiveFault> {
        Ok(self.rendered.get(&capture.id.offset).cloned())
    }

    fn start_pages(&self, max: usize) -> Result<Vec<StartPage>, ArchiveFault> {
        let page = |url: &String| StartPage { url: url.clone(), time: Time::from_ms(YEAR) };
        Ok(self.captures.keys().take(max).map(page).collect())
    }
}

/// 1971-01-01 in milliseconds: the time of captures that no test names.
const YEAR: u64 = 31_536_000_000;
const T: &str = "19710101000000";

impl Memory {
    fn store(&mut self, url: &str, ms: u64, status: u16, fields: &[(&str, &str)], body: &str) {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect();
        let offset = self.contents.len() as u64;
        let found = Capture { status, id: CaptureId { shard: 0, offset }, ..capture(url, ms) };
        self.captures.entry(url.to_owned()).or_default().push(found);
        let content_type = mime::content_type(&fields);
        let body = body.as_bytes().to_vec();
        let content = Content { fields, content_type, content_encoding: None, sent: body.clone(), body };
        self.contents.insert(offset, content);
    }

    fn page(&mut self, url: &str, body: &str) {
        self.store(url, YEAR, 200, &[("Content-Type", "text/html")], body);
    }

    fn ask(self, target: &str, fields: &[(&str, &str)]) -> Reply {
        self.put(&question("GET", target, fields, ""))
    }

    fn put(self, question: &Question) -> Reply {
        Replay::new(Arc::new(self)).answer(question)
    }
}

fn question(method: &str, target: &str, fields: &[(&str, &str)], body: &str) -> Question {
    Question {
        method: method.to_owned(),
        target: target.to_owned(),
        fields: fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: body.as_bytes().to_vec(),
        origins: Origins { home: "http://h:1".to_owned(), replay: "http://r:2".to_owned(), sites: None },
        site: None,
    }
}

fn text(reply: &Reply) -> String {
    String::from_utf8(reply.body.clone()).unwrap()
}

#[test]
fn a_page_begins_with_the_head_script_and_every_url_of_it_leads_into_the_archive() {
    let mut memory = Memory::default();
    let page = "<!doctype html><html><head><script src=a.js></script><link rel=stylesheet href=//c.example/s.css>\
                <a href='https://b.example/x?y#z'>b</a><img src=data:image/png,x><form action=/f></form>";
    memory.page("http://a.example/d/", page);
    let reply = memory.ask(&format!("/{T}/http://a.example/d/"), &[]);
    assert_eq!(reply.status, 200);
    let lead = format!("http://r:2/{T}/");
    let expected = format!(
        "<!doctype html><html><head><script src=\"/replay-head.js\"></script>\
         <script src=\"{lead}http://a.example/d/a.js\"></script>\
         <link rel=stylesheet href=\"{lead}http://c.example/s.css\"><a href=\"{lead}https://b.example/x?y#z\">b</a>\
         <img src=data:image/png,x><form action=\"{lead}http://a.example/f\"></form>"
    );
    assert_eq!(text(&reply), expected);
    assert_eq!(reply.field("memento-datetime"), Some("Fri, 01 Jan 1971 00:00:00 GMT"));
}

#[test]
fn the_head_script_is_first_however_a_page_begins() {
    for (page, before) in [
        ("<script>x</script><head><script>y</script>", ""),
        ("<!doctype html><!-- c --><p>x", "<!doctype html><!-- c -->"),
        ("<html lang=en><script>x</script><head>", "<html lang=en>"),
        ("<html><head><title>x", "<html><head>"),
        ("<html><body onload=x><head>", "<html>"),
        ("text", ""),
        ("<head><script>x</script><iframe srcdoc='<img src=/x>'></iframe>", "<head>"),
    ] {
        let mut memory = Memory::default();
        memory.page("http://a.example/", page);
        let shown = text(&memory.ask(&format!("/{T}/http://a.example/"), &[]));
        assert!(shown.starts_with(&format!("{before}{HEAD}")), "{page}: {shown}");
        assert_eq!(shown.matches("replay-head.js").count(), 1 + page.matches("srcdoc").count(), "{shown}");
    }
}

#[test]
fn another_time_leads_to_the_nearest_capture_but_a_part_is_shown_at_once() {
    let memory = || {
        let mut memory = Memory::default();
        for ms in [YEAR, 2 * YEAR] {
            memory.store("http://a.example/s.css", ms, 200, &[("Content-Type", "text/css")], "a{b:url(/p.png)}");
        }
        memory
    };
    let reply = memory().ask("/1972/http://a.example/s.css", &[]);
    assert_eq!(
        (reply.status, reply.field("location")),
        (302, Some("http://r:2/19720101000000/http://a.example/s.css"))
    );
    let reply = memory().ask("/1971050505/http://a.example/s.css", &[("sec-fetch-dest", "style")]);
    assert_eq!(text(&reply), "a{b:url(\"http://r:2/1971050505/http://a.example/p.png\")}");
    assert_eq!(reply.field("memento-datetime"), Some("Fri, 01 Jan 1971 00:00:00 GMT"));
    let reply = memory().ask("/1971/http://a.example/s.css", &[("sec-fetch-dest", "document")]);
    assert_eq!((reply.status, reply.field("location")), (302, Some("http://h:1/1971/http://a.example/s.css")));
}

#[test]
fn redirects_lead_to_the_capture_of_their_target_and_one_to_itself_to_another_capture() {
    let mut memory = Memory::default();
    memory.store("http://a.example/", YEAR, 301, &[("Location", "//b.example/x#f"), ("Set-Cookie", "a=b")], "");
    memory.store("http://b.example/x", YEAR + 5_000, 200, &[], "x");
    let reply = memory.ask(&format!("/{T}/http://a.example/"), &[]);
    assert_eq!((reply.status, reply.field("location")), (301, Some("http://r:2/19710101000005/http://b.example/x#f")));
    assert!(reply.field("set-cookie").is_none() && reply.body.is_empty());

    let mut memory = Memory::default();
    memory.store("http://a.example/", YEAR, 302, &[("Location", "/")], "");
    memory.store("http://a.example/", YEAR + 1_000, 200, &[], "x");
    let reply = memory.ask(&format!("/{T}/http://a.example/"), &[]);
    assert_eq!(reply.field("location"), Some("http://r:2/19710101000001/http://a.example/"));

    let mut memory = Memory::default();
    memory.store("http://a.example/", YEAR, 302, &[("Location", "javascript:alert(1)")], "body");
    let reply = memory.ask(&format!("/{T}/http://a.example/"), &[]);
    assert_eq!((reply.status, reply.field("location"), &*text(&reply)), (302, None, "body"));
}

#[test]
fn stored_bytes_are_unchanged_and_run_nowhere() {
    let memory = || {
        let mut memory = Memory::default();
        memory.page("http://a.example/", "<a href=/x>");
        memory.contents.get_mut(&0).unwrap().content_encoding = Some("gzip".to_owned());
        memory
    };
    let path = format!("/{T}id_/http://a.example/");
    let reply = memory().ask(&path, &[]);
    assert_eq!((&*text(&reply), reply.field("content-type")), ("<a href=/x>", Some("text/html")));
    assert_eq!(reply.field("content-encoding"), Some("gzip"));
    assert!(reply.field("content-security-policy").unwrap().starts_with("sandbox; default-src 'none'"));
    for destination in ["document", "iframe", "object"] {
        let reply = memory().ask(&path, &[("sec-fetch-dest", destination)]);
        assert_eq!((reply.status, reply.field("content-type")), (200, Some("text/plain")));
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"));
    }
}

#[test]
fn a_rendered_page_is_shown_without_its_scripts_and_else_the_page_itself() {
    let mut memory = Memory::default();
    memory.page("http://a.example/", "<script>");
    let path = format!("/{T}rd_/http://a.example/");
    let plain = Memory { captures: memory.captures.clone(), contents: memory.contents.clone(), ..Memory::default() };
    assert_eq!(plain.ask(&path, &[]).field("location"), Some(&*format!("http://r:2/{T}/http://a.example/")));
    memory.rendered.insert(0, "<p>done<img src=/x>".to_owned());
    let reply = memory.ask(&path, &[]);
    assert!(text(&reply).ends_with(&format!("<p>done<img src=\"http://r:2/{T}/http://a.example/x\">")));
    assert!(reply.field("content-security-policy").unwrap().contains("script-src 'none'"));
}

#[test]
fn a_link_of_a_rendered_page_names_its_host_only_where_it_did() {
    let mut memory = Memory::default();
    memory.page("http://a.example/b/c.html?q=1", "<script>");
    let links =
        ["d.html", "./d.html#f", "../e", "/f?g", "c:h", "./c:h", "http://a.example/b/d.html", "//x.example/", "?q=2"];
    memory.rendered.insert(0, links.map(|link| format!("<a href=\"{link}\">")).concat());
    let reply = memory.ask(&format!("/{T}rd_/http://a.example/b/c.html?q=1"), &[]);
    let page = text(&reply);
    let found: Vec<&str> = page.split("<a href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let at = |url: &str| format!("http://r:2/{T}/{url}");
    let same = at("http://a.example/b/d.html");
    let colon = format!("http://r:2/{T}rd_/http://a.example/b/c:h");
    let other = at("http://x.example/");
    assert_eq!(found[..4], ["d.html", "d.html#f", "../e", "../f?g"], "{page}");
    assert_eq!(found[5..], [&*colon, &same, &other, "?q=2"], "{page}");
}

#[test]
fn a_missing_url_is_404_and_names_what_is_nearly_the_same() {
    let mut memory = Memory::default();
    memory.page("https://a.example/x", "x");
    memory.page("http://a.example/", "x");
    let reply = memory.ask(&format!("/{T}/http://a.example/x?<script>"), &[]);
    assert_eq!(reply.status, 404);
    let page = text(&reply);
    assert!(page.contains("http://a.example/x?%3Cscript%3E") && !page.contains("x?<script>"), "{page}");
    assert!(page.contains(&format!("href=\"http://r:2/{T}/http://a.example/\"")), "{page}");
}

#[test]
fn a_post_finds_the_answer_under_its_body_and_a_get_does_not() {
    let memory = || {
        let mut memory = Memory::default();
        let address = "http://a.example/api#~POST&content-type:application/json&&{%22a%22:1}";
        let address = CanonicalUrl::parse(address).unwrap();
        memory.store(address.as_str(), YEAR, 200, &[("Content-Type", "application/json")], "[1]");
        memory
    };
    let ask = |mime: &str, body: &str| {
        memory().put(&question("POST", "/1999/http://a.example/api", &[("content-type", mime)], body))
    };
    assert_eq!(text(&ask("application/json", "{\"a\":1}")), "[1]");
    assert_eq!(text(&ask("application/json;charset=UTF-8", "{\"a\":1}")), "[1]");
    assert_eq!(ask("application/json", "{\"a\":2}").status, 404);
    assert_eq!(ask("text/plain", "{\"a\":1}").status, 404);
    assert_eq!(memory().ask("/1999/http://a.example/api", &[]).status, 404);
}

#[test]
fn a_time_gate_leads_by_the_date_that_is_asked_for() {
    let memory = || {
        let mut memory = Memory::default();
        for year in 1..4 {
            memory.store("http://a.example/", year * YEAR, 200, &[], "x");
        }
        memory
    };
    let to = |fields: &[(&str, &str)]| {
        let reply = memory().ask("/timegate/http://a.example/", fields);
        assert_eq!((reply.status, reply.field("vary")), (302, Some("accept-datetime")));
        reply.field("location").unwrap().to_owned()
    };
    assert_eq!(
        to(&[("accept-datetime", "Fri, 01 Jan 1971 00:00:00 GMT")]),
        format!("http://r:2/{T}/http://a.example/")
    );
    assert!(to(&[]).contains("/19721231000000/"));
    assert_eq!(memory().ask("/timegate/http://a.example/", &[("accept-datetime", "soon")]).status, 400);
    assert_eq!(memory().ask("/timegate/http://b.example/", &[]).status, 404);
    let map = memory().ask("/timemap/link/http://a.example/", &[]);
    assert_eq!((map.field("content-type"), text(&map).matches("memento\"").count()), (Some(LINK_FORMAT), 3));
    assert_eq!(memory().ask("/timemap/json/http://b.example/", &[]).status, 404);
}

#[test]
fn media_are_sent_in_parts() {
    let mut memory = Memory::default();
    memory.store("http://a.example/v", YEAR, 200, &[("Content-Type", "video/mp4")], "0123456789");
    let reply = memory.ask("/1971/http://a.example/v", &[("range", "bytes=2-4"), ("sec-fetch-dest", "video")]);
    assert_eq!((reply.status, &*text(&reply)), (206, "234"));
}

#[test]
fn hostile_paths_methods_and_types_are_answered_within_the_policy() {
    let long = format!("/{T}/http://a.example/{}", "x".repeat(60_000));
    for target in [
        "/../../etc/passwd",
        "/2026/../../etc/passwd",
        "/2026/..%2f..%2fetc%2fpasswd",
        "/2026/javascript:alert(1)",
        "/2026/data:text/html,<script>alert(1)</script>",
        "/2026/file:///etc/passwd",
        "/2026/http://%00/",
        "/2026/http://a.example/\0",
        "/2026/http://[::1",
        "/20261301999999/http://\u{202e}/",
        "/timegate/javascript:x",
        "/timemap/link/http://",
        "/%",
        "/2026/http%3A%2F%2F%zz",
        "//evil.example/",
        "",
        &*long,
    ] {
        for method in ["GET", "POST", "PUT", "get"] {
            let reply = Memory::default().put(&question(method, target, &[], "x"));
            assert!(matches!(reply.status, 404 | 405), "{method} {target:.80}: {}", reply.status);
            assert!(reply.field("content-security-policy").unwrap().starts_with("default-src 'none'"));
            assert_eq!(reply.field("referrer-policy"), Some("no-referrer"));
            assert!(reply.fields.iter().all(|(_, value)| is_plain(value)), "{:?}", reply.fields);
            assert!(!text(&reply).contains("<script>alert"));
        }
    }
    let mut memory = Memory::default();
    memory.store("http://a.example/w.js", YEAR, 200, &[("Content-Type", "text/javascript")], "x");
    let reply = memory.ask(&format!("/{T}/http://a.example/w.js"), &[("service-worker", "script")]);
    assert_eq!(reply.status, 403, "an archived script as the worker of the origin");
    let mut memory = Memory::default();
    memory.store("http://a.example/", YEAR, 200, &[("Content-Type", "text/html; x=\"\u{e9}\"")], "<p>");
    assert!(memory.ask(&format!("/{T}/http://a.example/"), &[]).field("content-type").is_none_or(is_plain));
    let mut memory = Memory::default();
    memory.page("http://a.example/", "x");
    memory.contents.clear();
    let reply = memory.ask(&format!("/{T}/http://a.example/"), &[]);
    assert!(reply.status == 500 && text(&reply).contains("damaged &lt;here&gt;"));
}

#[test]
fn feeds_are_text_as_documents_and_themselves_as_parts() {
    let feed = "<?xml version='1.0'?><rss><channel><link>http://b/</link></channel></rss>";
    let memory = || {
        let mut memory = Memory::default();
        memory.store("http://a.example/f", YEAR, 200, &[("Content-Type", "application/rss+xml")], feed);
        memory
    };
    let path = format!("/{T}/http://a.example/f");
    let of =
        |destination| memory().ask(&path, &[("sec-fetch-dest", destination)]).field("content-type").unwrap().to_owned();
    assert_eq!((&*of("iframe"), &*of("empty")), ("text/plain; charset=utf-8", "application/rss+xml"));
}

/// Asks for a URL where the archive is in the place of the web.
fn proxied(memory: Memory, question: &Question) -> Reply {
    Proxied::new(Arc::new(memory), None).answer(question)
}

#[test]
fn in_the_place_of_the_web_a_capture_is_as_its_server_sent_it() {
    let memory = || {
        let mut memory = Memory::default();
        let page = "<script src=/a.js></script><a href=//b.example/x>";
        let fields = [("Content-Type", "text/html; charset=x"), ("Set-Cookie", "a=b"), ("Alt-Svc", "h3")];
        memory.store("http://a.example/", YEAR, 200, &fields, "old");
        memory.store("http://a.example/", 2 * YEAR, 404, &fields, page);
        memory
    };
    let url = "http://a.example/";
    let reply = proxied(memory(), &question("GET", url, &[], ""));
    assert_eq!((reply.status, &*text(&reply)), (404, "<script src=/a.js></script><a href=//b.example/x>"));
    assert_eq!(reply.field("content-type"), Some("text/html;charset=x"));
    assert_eq!((reply.field("set-cookie"), reply.field("alt-svc")), (Some("a=b"), None));
    assert_eq!((reply.field("x-archive-orig-alt-svc"), reply.field("cache-control")), (Some("h3"), Some("no-store")));
    assert_eq!(reply.field("memento-datetime"), Some("Sat, 01 Jan 1972 00:00:00 GMT"));
    let date = [("accept-datetime", "Fri, 01 Jan 1971 00:00:00 GMT"), ("range", "bytes=1-")];
    let reply = proxied(memory(), &question("GET", url, &date, ""));
    assert_eq!((reply.status, &*text(&reply)), (206, "ld"));
    let earlier = Proxied::new(Arc::new(memory()), moment::parse("1971")).answer(&question("GET", url, &[], ""));
    assert_eq!(text(&earlier), "old");
    assert_eq!(proxied(memory(), &question("GET", url, &[("accept-datetime", "soon")], "")).status, 400);
    let missing = proxied(memory(), &question("GET", "https://a.example/", &[], ""));
    assert_eq!((missing.status, &*text(&missing)), (404, "https://a.example/ is not in the archive.\n"));
    for (method, target, fields, status) in [
        ("PUT", url, vec![], 405),
        ("OPTIONS", url, vec![], 405),
        ("GET", url, vec![("upgrade", "websocket")], 501),
        ("GET", "ftp://a.example/", vec![], 404),
        ("GET", "/2026/http://a.example/", vec![], 404),
    ] {
        assert_eq!(proxied(memory(), &question(method, target, &fields, "")).status, status, "{method} {target}");
    }
}

#[test]
fn in_the_place_of_the_web_redirects_lead_to_urls_and_one_to_itself_is_the_page_behind_it() {
    let mut memory = Memory::default();
    memory.store("http://a.example/", YEAR, 301, &[("Location", "//b.example/x#f")], "moved");
    let reply = proxied(memory, &question("GET", "http://a.example/", &[], ""));
    assert_eq!((reply.status, reply.field("location"), &*text(&reply)), (301, Some("//b.example/x#f"), "moved"));
    let mut memory = Memory::default();
    memory.store("http://a.example/", YEAR, 301, &[("Location", "/\u{e9}")], "");
    let reply = proxied(memory, &question("GET", "http://a.example/", &[], ""));
    assert_eq!(reply.field("location"), Some("http://a.example/%C3%A9"));
    let mut memory = Memory::default();
    memory.store("http://a.example/", YEAR, 200, &[], "x");
    memory.store("http://a.example/", YEAR + 1_000, 302, &[("Location", "/")], "");
    let reply = proxied(memory, &question("GET", "http://a.example/", &[], ""));
    assert_eq!((reply.status, &*text(&reply)), (200, "x"));
}

#[test]
fn in_the_place_of_the_web_every_page_may_read_every_answer_and_posts_find_theirs() {
    let memory = || {
        let mut memory = Memory::default();
        let address = CanonicalUrl::parse("http://a.example/api#~POST&content-type:application/json&&{%22a%22:1}");
        let fields = [("Access-Control-Allow-Origin", "http://c.example")];
        memory.store(address.unwrap().as_str(), YEAR, 200, &fields, "[1]");
        memory
    };
    let fields = [("content-type", "application/json"), ("origin", "http://b.example")];
    for (body, status) in [("{\"a\":1}", 200), ("{\"a\":2}", 404)] {
        let reply = proxied(memory(), &question("POST", "http://a.example/api", &fields, body));
        assert_eq!((reply.status, reply.field("access-control-allow-origin")), (status, Some("http://b.example")));
        assert_eq!(reply.fields.iter().filter(|(name, _)| name == "access-control-allow-origin").count(), 1);
    }
    let asked = [
        ("origin", "http://b.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type"),
    ];
    let reply = proxied(memory(), &question("OPTIONS", "http://a.example/api", &asked, ""));
    assert_eq!((reply.status, reply.field("access-control-allow-headers")), (204, Some("content-type")));
    assert_eq!(reply.field("access-control-allow-methods"), Some("POST"));
}

#[test]
fn the_home_page_frames_the_replay_origin_alone_and_shows_captures_by_month() {
    let home = || {
        let mut memory = Memory::default();
        memory.page("http://a.example/?a='\"<b>", "x");
        memory.page("http://a.example/", "x");
        memory.store("http://a.example/", 2 * YEAR, 404, &[], "x");
        Home::new(Arc::new(memory))
    };
    let ask = |target: &str| home().answer(&question("GET", target, &[], ""));
    let start = ask("/");
    assert!(text(&start).contains(&format!("<a href=\"/{T}/http://a.example/\">http://a.example/</a>")));
    let calendar = ask("/calendar?url=a.example%2F");
    assert!(
        text(&calendar).contains("<h2>1972-01</h2>") && text(&calendar).contains("1972-01-01 00:00:00</a> <span>404")
    );
    assert_eq!(ask("/calendar?url=b.example").status, 404);
    assert_eq!(ask("/calendar?url=%22%3E%3Cscript%3E").status, 404);
    assert!(!text(&ask("/calendar?url=%22%3E%3Cscript%3E")).contains("<script>"));
    let frame = ask(&format!("/{T}/http://a.example/?a='\"<b>"));
    let page = text(&frame);
    assert!(page.contains("sandbox=\"allow-scripts allow-same-origin allow-forms allow-modals\""), "{page}");
    assert!(!page.contains("<b>") && !page.contains("a='"), "{page}");
    let policy = frame.field("content-security-policy").unwrap();
    assert!(policy.contains("frame-src http://r:2;") && policy.starts_with("default-src 'none'"), "{policy}");
    assert_eq!(ask("/nothing").status, 404);
    assert_eq!(home().answer(&question("POST", "/", &[], "")).status, 405);
}

/// A question to the origin that `name` has of its own.
fn question_at(name: &str, target: &str, fields: &[(&str, &str)]) -> Question {
    let asked = question("GET", target, fields, "");
    let origins = Origins { sites: Some("token.localhost:2".to_owned()), ..asked.origins.clone() };
    Question { origins, site: Some(name.to_owned()), ..asked }
}

#[test]
fn an_archived_origin_has_an_origin_of_its_own_with_the_paths_that_it_had() {
    let memory = || {
        let mut memory = Memory::default();
        let body = "<base href=/b/><a href=x>a</a><img src=http://b.example/i>\
                    <script>location.host;import('//b.example/m')</script>";
        memory.page("http://a.example/p", body);
        memory.store("http://a.example/r", YEAR, 302, &[("Location", "https://b.example/")], "");
        memory.store("http://a.example/s.js", YEAR, 200, &[("Content-Type", "text/javascript")], "top");
        memory
    };
    let ask = |target: &str, fields: &[(&str, &str)]| memory().put(&question_at("a.example.http.1972", target, fields));
    let page = ask("/p", &[("sec-fetch-dest", "iframe"), ("origin", "null")]);
    let site = |host: &str| format!("http://{host}.1972.token.localhost:2");
    let (own, other) = (site("a.example.http"), site("b.example.http"));
    let head = format!("<script src=\"/replay-head.js\" data-time=\"{T}\"></script>");
    let body = format!(
        "{head}<base href=\"{own}/b/\"><a href=x>a</a><img src=\"{other}/i\">\
         <script>replayLocation.host;import('{other}/m')</script>"
    );
    assert_eq!((page.status, String::from_utf8(page.body.clone()).unwrap()), (200, body));
    let policy = page.field("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'self' http://*.token.localhost:2 data: blob: 'unsafe-inline'; "),
        "{policy}"
    );
    assert_eq!(page.field("access-control-allow-origin"), Some("null"));
    let led = ask("/r", &[]);
    assert_eq!((led.status, led.field("location")), (302, Some(&*(site("b.example.https") + "/"))));
    assert_eq!(ask("/s.js", &[("sec-fetch-dest", "script")]).body, b"replayTop");
    assert!(ask("/s.js", &[("sec-fetch-dest", "worker")]).body.ends_with(b"catch{}replayTop"));
    assert_eq!(ask("/s.js", &[("service-worker", "script")]).status, 403);
    assert_eq!(ask("/none", &[]).status, 404);
    let opened = ask("/p", &[("sec-fetch-dest", "document")]);
    assert_eq!(opened.field("location"), Some("http://h:1/1972/http://a.example/p"));
    let go = |target: &str| memory().put(&question_at("go", target, &[])).field("location").map(str::to_owned);
    assert_eq!(go("/1980/http://a.example/p"), Some(format!("http://a.example.http.{T}.token.localhost:2/p")));
    assert_eq!(go("/x"), None);
}
