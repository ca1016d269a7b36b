//! Tests of kinds: an answer of each, and what is nearly one.

use super::*;
use crate::web::headers::Header;

fn header(name: &str, value: &str) -> Header {
    (name.as_bytes().into(), value.as_bytes().into())
}

/// An answer with this status, these fields and this body.
fn judged(kinds: &Kinds, status: u16, fields: &[(&str, &str)], body: &str) -> Option<Judged> {
    judged_at(kinds, "http://h.example/a", status, fields, body)
}

/// The same at a URL.
fn judged_at(kinds: &Kinds, url: &str, status: u16, fields: &[(&str, &str)], body: &str) -> Option<Judged> {
    let mut headers: Vec<Header> = fields.iter().map(|(name, value)| header(name, value)).collect();
    headers.push(header("content-type", "text/html; charset=utf-8"));
    // as the scan of its links counts it, from which most content is known
    let text_bytes = Some(Page::read(body.as_bytes(), None).text_bytes);
    kinds.judge(&Answer { url, status, headers: &headers, body: body.as_bytes(), text_bytes })
}

#[test]
fn the_table_can_be_read() {
    Kinds::new(&[]).unwrap();
}

#[test]
fn a_field_of_the_head_says_it_alone_and_a_word_of_the_text_does_not() {
    let kinds = Kinds::new(&[]).unwrap();
    let long = format!("<title>Shop</title><p>{}", "word ".repeat(2_000));
    let found = judged(&kinds, 200, &[("cf-mitigated", "challenge")], &long).unwrap();
    assert_eq!((found.kind, &*found.by), (Kind::Challenge, "Cloudflare"));
    assert_eq!(found.evidence, ["header cf-mitigated: ^challenge"]);
    for text in ["captcha", "verifying you are human", "page not found", "access denied", "too many requests"] {
        assert_eq!(judged(&kinds, 200, &[], &format!("<title>News</title><p>{text}, {}", "word ".repeat(200))), None);
    }
}

/// An answer of each kind, and one that is nearly the same and content.
#[rustfmt::skip]
const PAIRS: [(Kind, u16, &str, &str); 13] = [
    (Kind::Challenge, 200,
        "<title>Security check</title><script src=https://js.hcaptcha.com/1/api.js></script><p>Verify you are human.",
        "<title>Contact</title><script src=https://js.hcaptcha.com/1/api.js></script><form>Your name <input></form>"),
    (Kind::Block, 403,
        "<title>Access denied</title><h1>Access denied</h1><p>Your IP address has been blocked. Incident ID: 12.",
        ""),
    (Kind::RateLimit, 200,
        "<title>Too many requests</title><p>You have exceeded the number of requests. Try again in 5 minutes.",
        "<title>Rate limits</title><p>Clients that ask more than once a second get an error. Plans differ."),
    (Kind::Login, 200,
        "<title>Log in</title><form>Name <input name=u> Password <input type=password></form>",
        "<title>News</title><p>The council met. <form>Members <input type=password></form>"),
    (Kind::Consent, 200,
        "<title>Before you continue</title><h1>Before you continue</h1><p>We use cookies. <button>Accept all</button>",
        "<title>Cookies with oats</title><h1>Cookies with oats</h1><p>Bake the cookies for ten minutes."),
    (Kind::Paywall, 200,
        "<title>The port</title><h1>The port</h1><p>It grows. This article is for subscribers only. Subscribe now.",
        "<title>The port</title><h1>The port</h1><p>It grows. Subscribe to our newsletter."),
    (Kind::SoftNotFound, 200,
        "<title>Page not found</title><h1>Page not found</h1><p>The page you are looking for does not exist.",
        "<title>404: a history of the error</title><h1>404: a history</h1><p>Servers say that a page is not found."),
    (Kind::Shell, 200,
        "<title>App</title><div id=root></div><script type=module src=/assets/index.js></script>",
        "<title>App</title><div id=root><p>Opening hours: 9 to 5</div><a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>\
         <a href=/d>d</a><script type=module src=/assets/index.js></script>"),
    (Kind::Parked, 200,
        "<title>h.example is for sale</title><h1>h.example is for sale</h1><p>This domain is for sale. Make an offer.",
        "<title>House for sale</title><h1>House for sale</h1><p>Four rooms and a garden."),
    (Kind::Placeholder, 200,
        "<title>Welcome to nginx!</title><h1>Welcome to nginx!</h1><p>If you see this page, nginx is installed.",
        "<title>Coming soon: the spring tour</title><h1>Coming soon: the spring tour</h1><p>Six towns in May."),
    (Kind::Payment, 402, "", "<p>Prices: 402"),
    (Kind::Geo, 200,
        "<title>Not available</title><p>This content is not available in your country.",
        "<title>Countries</title><p>The map shows which country has how many lakes."),
    (Kind::Age, 200,
        "<title>Age verification</title><h1>Are you over 18?</h1><p>You must be 18 or older. <button>Yes</button>",
        "<title>Welcome</title><h1>Welcome</h1><p>The club is for people of every age, from 8 to 80."),
];

#[test]
fn every_kind_has_an_answer_that_is_known_and_its_near_miss_is_content() {
    let kinds = Kinds::new(&[]).unwrap();
    for (kind, status, wall, content) in PAIRS {
        let found = judged(&kinds, status, &[], wall);
        assert_eq!(found.as_ref().map(|judged| judged.kind), Some(kind), "{wall}: {found:?}");
        assert_eq!(judged(&kinds, 200, &[], content), None, "{content}");
    }
    assert_eq!(PAIRS.map(|(kind, ..)| kind), Kind::ALL);
}

/// A page that no phrase of the table is in.
fn nescio(path: &str) -> String {
    format!("<title>Emporium</title><h1>Eheu</h1><p>Nescio {path}.{}", " Redi ad initium, quaeso.".repeat(60))
}

#[test]
fn what_a_host_says_of_pages_that_are_gone_is_a_soft_404_elsewhere() {
    let kinds = Kinds::new(&[]).unwrap();
    assert_eq!(judged_at(&kinds, "http://h.example/x", 200, &[], &nescio("/x")), None);
    assert_eq!(judged_at(&kinds, "http://h.example/y", 404, &[], &nescio("/y")), None);
    let found = judged_at(&kinds, "http://h.example/z", 200, &[], &nescio("/z")).unwrap();
    assert_eq!(found.kind, Kind::SoftNotFound);
    assert_eq!(found.evidence[0].split(", ").last().unwrap(), "what its host says where a page is gone");
    assert_eq!(judged_at(&kinds, "http://other.example/z", 200, &[], &nescio("/z")), None);
}

#[test]
fn the_answer_to_a_url_that_cannot_exist_is_a_soft_404_and_teaches() {
    let kinds = Kinds::new(&[]).unwrap();
    let url = format!("http://h.example{MISSING_PATH}");
    assert_eq!(judged_at(&kinds, &url, 404, &[], "<p>no"), None);
    let found = judged_at(&kinds, &url, 200, &[], &nescio(MISSING_PATH)).unwrap();
    assert_eq!((found.kind, &*found.by), (Kind::SoftNotFound, "URL that cannot exist"));
    let found = judged_at(&kinds, "http://h.example/z", 200, &[], &nescio("/z")).unwrap();
    assert_eq!(found.kind, Kind::SoftNotFound);
    assert_eq!(judged_at(&kinds, "http://h.example/", 200, &[], &nescio("/")), None, "the front page");
}

#[test]
fn one_text_at_many_urls_makes_a_doubtful_page_a_soft_404() {
    let kinds = Kinds::new(&[]).unwrap();
    let page = "<title>Shop</title><div class=not-found><h1>Sorry</h1><p>We looked for it everywhere.</div>";
    let kind = |n: u32| judged_at(&kinds, &format!("http://h.example/{n}"), 200, &[], page).map(|judged| judged.kind);
    assert!((0..5).all(|n| kind(n).is_none()));
    assert!((5..40).any(|n| kind(n) == Some(Kind::SoftNotFound)));
    // text that is no error stays content, however often it is there
    let album = "<title>Album</title><h1>Album</h1><p>One picture of many.";
    assert!((0..40).all(|n| judged_at(&kinds, &format!("http://h.example/{n}"), 200, &[], album).is_none()));
}

#[test]
fn an_element_of_an_own_rule_is_found_in_pages_of_any_length() {
    let signal = SignalRule { weight: 10, selector: Some("div.teaser > a.join".to_owned()), ..SignalRule::default() };
    let rule = KindRule { kind: "paywall".to_owned(), name: "ours".to_owned(), links_max: None, signals: vec![signal] };
    let own = Kinds::new(&[rule]).unwrap();
    let page = |class: &str| format!("<title>T</title>{}<div class={class}><a class=join>x</a>", "word ".repeat(2_000));
    let found = judged(&own, 200, &[], &page("teaser")).unwrap();
    assert_eq!((found.kind, found.evidence), (Kind::Paywall, vec!["element div.teaser > a.join".to_owned()]));
    assert_eq!(judged(&own, 200, &[], &page("footer")), None);
}

#[test]
fn no_single_word_of_a_text_is_enough_however_short_the_page() {
    let kinds = Kinds::new(&[]).unwrap();
    let found: Vec<String> = rules::words_of_table()
        .into_iter()
        .filter_map(|word| {
            let judged = judged(&kinds, 200, &[], &format!("<title>News</title><p>Today {word} again."))?;
            Some(format!("{word}: {judged}"))
        })
        .collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn rules_that_cannot_be_used_are_refused() {
    let rule = |kind: &str, signal: SignalRule| KindRule {
        kind: kind.to_owned(),
        name: "own".to_owned(),
        links_max: None,
        signals: vec![signal],
    };
    let title = |weight| SignalRule { weight, title: vec!["^members$".to_owned()], ..SignalRule::default() };
    let bare = SignalRule { weight: 10, ..SignalRule::default() };
    let empty = SignalRule { weight: 10, text: vec![String::new()], ..SignalRule::default() };
    assert!(matches!(Kinds::new(&[rule("login", empty)]), Err(RuleError::Bare(_))));
    let broken = SignalRule { weight: 10, url: Some("(".to_owned()), ..SignalRule::default() };
    assert!(matches!(Kinds::new(&[rule("wall", title(10))]), Err(RuleError::Kind { .. })));
    assert!(matches!(Kinds::new(&[rule("login", title(9))]), Err(RuleError::Weak { weights: 9, .. })));
    assert!(matches!(Kinds::new(&[rule("login", bare)]), Err(RuleError::Bare(_))));
    let no_element = SignalRule { weight: 10, selector: Some("a[".to_owned()), ..SignalRule::default() };
    assert!(matches!(Kinds::new(&[rule("login", broken)]), Err(RuleError::Expression { .. })));
    assert!(matches!(Kinds::new(&[rule("login", no_element)]), Err(RuleError::Selector { .. })));
    let own = Kinds::new(&[rule("login", title(10))]).unwrap();
    let found = judged(&own, 200, &[], "<title>Members</title>").unwrap();
    assert_eq!((found.kind, found.evidence), (Kind::Login, vec!["title \"^members$\"".to_owned()]));
}
