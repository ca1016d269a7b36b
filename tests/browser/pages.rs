//! The results of a page: its DOM, its links, its requests.

use crawler::browser::{Denied, Ended, RenderFailure, ResourceKind};

use crate::network::{Answer, Web};
use crate::{Test, options};

#[tokio::test(flavor = "multi_thread")]
async fn a_static_page_is_what_it_was_and_asks_for_its_parts() {
    let Some(test) = Test::start().await else { return };
    let page = "<!doctype html><html lang=en><title>T</title><link rel=stylesheet href=/s.css><p>some <b>text</b>\
                <a href=/next?x=1#f>next</a><a href='//other.example/'>other</a><img src=/i.png>\
                <script src=/s.js></script>";
    let web = Web::of(&[
        ("http://site.example/", Answer::html(page)),
        (
            "http://site.example/s.css",
            Answer::of("text/css", "@font-face{font-family:f;src:url(/f.woff)}p{font-family:f}"),
        ),
        ("http://site.example/s.js", Answer::script("document.title = 'by script'")),
    ]);
    let rendered = test.rendered(&web, "http://site.example/", &options()).await;
    assert_eq!(rendered.ended, Ended::Quiet);
    assert_eq!(rendered.url, "http://site.example/");
    assert!(
        rendered.dom.starts_with("<!DOCTYPE html>\n<html lang=\"en\"><head><title>by script</title>"),
        "{}",
        rendered.dom
    );
    assert!(rendered.dom.ends_with("</html>"), "{}", rendered.dom);
    assert_eq!(rendered.links, ["http://site.example/next?x=1#f", "http://other.example/"]);
    assert_eq!(rendered.text_length, "sometextnextother".len());
    assert!(rendered.refused.is_empty(), "{:?}", rendered.refused);
    assert!(rendered.cpu.as_millis() > 0 && rendered.peak_memory > 5 << 20, "{rendered:?}");
    let kinds = [
        ("", ResourceKind::Document),
        ("s.css", ResourceKind::Stylesheet),
        ("s.js", ResourceKind::Script),
        ("i.png", ResourceKind::Image),
        ("f.woff", ResourceKind::Font),
        ("favicon.ico", ResourceKind::Other),
    ];
    for (path, kind) in kinds {
        let url = format!("http://site.example/{path}");
        if path == "favicon.ico" && !web.was_asked(&url) {
            continue;
        }
        let asked = web.request(&url);
        assert_eq!((asked.kind, asked.is_main_document), (kind, path.is_empty()), "{url}");
        assert_eq!(asked.method, "GET");
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_asked_for_hop_by_hop() {
    let Some(test) = Test::start().await else { return };
    let web = Web::of(&[
        ("http://site.example/a", Answer::redirect("/b")),
        ("http://site.example/b", Answer::redirect("https://other.example/c")),
        ("https://other.example/c", Answer::html("<p>here<img src=/from>")),
        ("https://other.example/from", Answer::redirect("/to")),
    ]);
    let rendered = test.rendered(&web, "http://site.example/a", &options()).await;
    assert_eq!(rendered.url, "https://other.example/c");
    for (url, from) in [
        ("http://site.example/a", None),
        ("http://site.example/b", Some("http://site.example/a")),
        ("https://other.example/c", Some("http://site.example/b")),
        ("https://other.example/to", Some("https://other.example/from")),
    ] {
        assert_eq!(web.request(url).redirected_from.as_deref(), from, "{url}");
    }
    assert!(web.request("https://other.example/c").is_main_document);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_does_not_come_is_told_with_the_reason() {
    let Some(test) = Test::start().await else { return };
    let binary = Answer::of("application/octet-stream", "x").with("Content-Disposition", "attachment");
    let web = Web::of(&[
        ("http://site.example/refused", Answer::Denied(Denied::Refused)),
        ("http://site.example/download", binary),
        ("http://site.example/nothing", Answer::Found { status: 204, headers: Vec::new(), body: Vec::new() }),
        (
            "http://site.example/error",
            Answer::Found { status: 500, headers: Vec::new(), body: b"<p>oh".to_vec() }
                .with("Content-Type", "text/html"),
        ),
        ("http://site.example/never", Answer::Never),
    ]);
    let document = |why: &str| Some(RenderFailure::Document(why.to_owned()));
    for (path, failure) in [
        ("refused", document("Refused")),
        ("download", document("it is a download")),
        ("nothing", document("net::ERR_ABORTED")),
        ("error", None),
        ("never", document("it took too long")),
    ] {
        let url = format!("http://site.example/{path}");
        assert_eq!(test.render(&web, &url, &options()).await.err(), failure, "{url}");
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_that_a_browser_takes_to_open_a_page_is_not_the_pages() {
    let Some(test) = Test::start().await else { return };
    let web = Web::of(&[("http://site.example/", Answer::html("<title>here</title><p>text"))]);
    let at_once = crawler::browser::RenderOptions { deadline: std::time::Duration::from_millis(1), ..options() };
    let rendered = test.rendered(&web, "http://site.example/", &at_once).await;
    assert_eq!((rendered.ended, rendered.url.as_str()), (Ended::Deadline, "http://site.example/"));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_come_from_shadow_roots_and_frames_also_of_other_sites() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<!doctype html><div id=open></div><div id=closed></div>
        <iframe src=/same></iframe><iframe src="https://other.example/cross"></iframe>
        <iframe srcdoc="<a href='/in-srcdoc'>x</a>"></iframe>
        <script>
          const open = document.getElementById('open').attachShadow({ mode: 'open' });
          open.innerHTML = '<p>in the shade <a href="/shadow">x</a></p><my-inner></my-inner>';
          open.querySelector('my-inner').attachShadow({ mode: 'open' }).innerHTML = '<a href="/deep">y</a>';
          document.getElementById('closed').attachShadow({ mode: 'closed' }).innerHTML = '<a href="/closed">z</a>';
        </script>"#;
    let web = Web::of(&[
        ("https://site.example/", Answer::html(page)),
        ("https://site.example/same", Answer::html("<a href=/of-frame>x</a>")),
        (
            "https://other.example/cross",
            Answer::html("<p>foreign<a href=/of-other>x</a><script>fetch('/data')</script>"),
        ),
    ]);
    let rendered = test.rendered(&web, "https://site.example/", &options()).await;
    let mut links = rendered.links.clone();
    links.sort_unstable();
    let expected = [
        "https://other.example/cross",
        "https://other.example/of-other",
        "https://site.example/deep",
        "https://site.example/in-srcdoc",
        "https://site.example/of-frame",
        "https://site.example/same",
        "https://site.example/shadow",
    ];
    assert_eq!(links, expected);
    assert!(rendered.dom.contains("<template shadowrootmode=\"open\"><p>in the shade"), "{}", rendered.dom);
    assert!(!rendered.dom.contains("foreign"), "{}", rendered.dom);
    assert!(!web.request("https://other.example/cross").is_main_document);
    assert_eq!(web.request("https://other.example/data").kind, ResourceKind::Fetch);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_cannot_fake_what_is_read_and_odd_texts_do_no_harm() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<!doctype html><img name=querySelectorAll><img id=crawler><form name=documentElement></form>
        <a href=/true>x</a>
        <p id=half></p><a id=odd>odd</a>
        <script>
          Document.prototype.querySelectorAll = () => [];
          Element.prototype.getHTML = () => 'fake';
          Object.defineProperty(Element.prototype, 'shadowRoot', { get() { throw new Error('no') } });
          Array.prototype.map = JSON.stringify = performance.now = () => { throw new Error('no') };
          String.prototype.slice = () => 'fake';
          half.textContent = '\ud83d';
          odd.setAttribute('href', '/\ud83d');
          console.log('\ude00');
          history.pushState({}, '', '/pushed');
        </script>"#;
    let web = Web::of(&[("https://site.example/", Answer::html(page))]);
    let rendered = test.rendered(&web, "https://site.example/", &options()).await;
    assert_eq!(rendered.url, "https://site.example/pushed");
    assert_eq!(rendered.links, ["https://site.example/true", "https://site.example/%EF%BF%BD"]);
    assert!(rendered.dom.contains("<p id=\"half\">\u{fffd}</p>"), "{}", rendered.dom);
    test.close().await;
}
