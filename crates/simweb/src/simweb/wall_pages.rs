//! The bodies of walls.
//!
//! No script is a file of its own: a crawl would have to fetch it, and what it loads is not part of this web.

use super::links::{Base, directory};
use super::names::path;
use super::page::{Pages, attribute, write_link};
use super::plan::{Plan, Purpose};
use super::walls::{Kind, Wall, advertisements};
use crate::clock::Time;

/// Bytes of the beginning of an article that a paywall shows.
const BEGINNING_BYTES: usize = 600;
/// Linked data of a paywall.
const PAID: &str = r#"<script type="application/ld+json">
{"@context": "https://schema.org", "@type": "NewsArticle", "isAccessibleForFree": false,
"hasPart": {"@type": "WebPageElement", "isAccessibleForFree": false, "cssSelector": ".paywall"}}
</script>
"#;

/// Parts of a document.
struct Content {
    title: String,
    /// Lines of the head besides the title.
    head: String,
    body: String,
}

impl Content {
    fn new(title: impl Into<String>, body: impl Into<String>) -> Content {
        Content { title: title.into(), head: String::new(), body: body.into() }
    }

    fn with_head(self, head: impl Into<String>) -> Content {
        Content { head: head.into(), ..self }
    }
}

/// Returns the body of a wall in the place of a page.
pub(super) fn body(pages: &Pages, plan: &Plan, port: u16, host: u32, url: u32, wall: Wall) -> Vec<u8> {
    let own = path(plan, host, url);
    let base = Base { plan, port, host, directory: directory(&own) };
    let (name, path) = (plan.host(host).name.as_str(), attribute(&own));
    let mut frame = format!("<header><b>{name}</b>\n<nav>");
    wall.links(plan, host, url).iter().for_each(|link| write_link(&mut frame, &base, link));
    frame.push_str("</nav></header>");
    let Content { title, head, body } = match wall.kind {
        Kind::Challenge => challenge(wall, name),
        Kind::Block => block(wall, name, &path),
        Kind::RateLimit => rate_limit(wall, name),
        Kind::Login => login(&frame),
        Kind::Consent => consent(&frame),
        Kind::Paywall => {
            let mut beginning = String::new();
            pages.text(&mut beginning, BEGINNING_BYTES, &mut plan.dice(Purpose::Body, host, url));
            paywall(&frame, &beginning)
        }
        Kind::SoftNotFound => soft_not_found(&frame, &path),
        Kind::Shell => shell(name),
        Kind::Parked => parked(name, &advertisements(&base, url, Time::ZERO)),
        Kind::Placeholder => placeholder(),
        Kind::Payment => payment(name),
        Kind::Geo => geo(name),
        Kind::Age => age(&frame),
    };
    let begin = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>";
    format!("{begin}{title}</title>\n{head}</head>\n<body>\n{body}\n</body>\n</html>\n").into_bytes()
}

fn challenge(wall: Wall, name: &str) -> Content {
    let number = wall.number;
    if wall.is_of_aws() {
        let body = r#"<div id="challenge-container"></div>
<script>AwsWafIntegration.getToken().then(() => location.reload());</script>
<noscript><h1>JavaScript is disabled</h1>
Turn it on to show that you are no robot, and load the page again.</noscript>"#;
        let head = format!("<script>window.gokuProps = {{key: '{number:08x}'}};</script>\n");
        return Content::new("", body).with_head(head);
    }
    let body = format!(
        "<h1>{name}</h1>\n<p>One moment: this site checks that its visitor is human.</p>\n\
         <noscript>Enable JavaScript and cookies to continue</noscript>\n\
         <script>begin('/cdn-cgi/challenge-platform/h/b/{number:08x}');</script>\n\
         <footer>Ray ID: <code>{number:016x}</code></footer>"
    );
    let head = format!("<script>window._cf_chl_opt = {{cRay: '{number:016x}', cZone: '{name}'}};</script>\n");
    Content::new("Just a moment...", body).with_head(head)
}

fn block(wall: Wall, name: &str, path: &str) -> Content {
    let (number, other) = (wall.number, wall.number.reverse_bits());
    if number.is_multiple_of(2) {
        let body = format!(
            "<h1>Access Denied</h1>\nYou don't have permission to access \"http://{name}{path}\" on this server.\n\
             <p>Reference #18.{number:08x}.1796000000.{other:08x}</p>"
        );
        return Content::new("Access Denied", body);
    }
    let body = format!("<p>Request unsuccessful. Incapsula incident ID: {number}-{other}</p>");
    Content::new("Request unsuccessful", body)
}

fn rate_limit(wall: Wall, name: &str) -> Content {
    let body = format!(
        "<h1>Error 1015</h1>\n<h2>You are being rate limited</h2>\n\
         <p>The owner of {name} has banned you from this site for a while.</p>\n\
         <footer>Ray ID: <code>{:016x}</code></footer>",
        wall.number
    );
    Content::new(format!("Access denied | {name}"), body)
}

fn login(frame: &str) -> Content {
    let form = r#"<form method="post"><input name="user"><input type="password" name="password">
<button>Log in</button></form>"#;
    Content::new("Log in", format!("{frame}\n<h1>Log in</h1>\n{form}"))
}

fn consent(frame: &str) -> Content {
    let dialog = r#"<div class="consent-wall" role="dialog"><h1>We value your privacy</h1>
<p>We and our partners store cookies on your device. To read this site, accept them or choose which.</p>
<form method="post"><button>Accept all</button><button>Reject all</button>
<button>Manage choices</button></form></div>"#;
    Content::new("Before you continue", format!("{frame}\n{dialog}"))
}

fn paywall(frame: &str, beginning: &str) -> Content {
    let title: String = beginning.chars().take(30).collect();
    let body = format!(
        "{frame}\n<article class=\"metered-content\"><h1>{title}</h1>\n<p>{beginning}...</p>\n\
         <div class=\"paywall meter-wall\"><p>You have read all free articles of this month. Subscribe to continue \
         reading.</p></div></article>"
    );
    Content::new(title, body).with_head(PAID)
}

fn soft_not_found(frame: &str, path: &str) -> Content {
    let line = format!("<p>The page that you looked for, {path}, is not here. It may have moved, or never been.</p>");
    Content::new("Page not found", format!("{frame}\n<h1>Page not found</h1>\n{line}"))
}

fn shell(name: &str) -> Content {
    let body = r#"<noscript>You need to enable JavaScript to run this app.</noscript>
<div id="root"></div>
<script>window.app = {state: {}};</script>
<script>(function () { mount(document.getElementById("root"), window.app); })();</script>"#;
    Content::new(name, body)
}

fn parked(name: &str, advertisements: &[String]) -> Content {
    let line = |url| format!("<li><a href=\"{url}\">Sponsored listing</a></li>\n");
    let lines: String = advertisements.iter().map(line).collect();
    let body = format!(
        "<h1>The domain {name} is for sale</h1>\n<p>Buy this domain, or see related links:</p>\n<ul>\n{lines}</ul>\n\
         <p>This domain is parked.</p>"
    );
    Content::new(format!("{name} is for sale"), body)
}

fn placeholder() -> Content {
    let body = "<h1>Welcome to nginx!</h1>\n<p>This server works, and nobody has given it a site yet.</p>\n\
                <p><em>Thank you for using nginx.</em></p>";
    Content::new("Welcome to nginx!", body)
}

fn payment(name: &str) -> Content {
    let line = format!("<p>{name} lets crawlers have this page for the price in the header.</p>");
    Content::new("Payment required", format!("<h1>Payment required</h1>\n{line}"))
}

fn geo(name: &str) -> Content {
    let line = format!("<p>This content of {name} is not available in your country.</p>");
    Content::new("Unavailable", format!("<h1>Unavailable</h1>\n{line}"))
}

fn age(frame: &str) -> Content {
    let gate = r#"<div class="age-gate"><h1>Are you 18 or older?</h1>
<p>You must be 18 to enter this site.</p>
<form method="post"><button>Yes, enter</button><button>No, leave</button></form></div>"#;
    Content::new("Age verification", format!("{frame}\n{gate}"))
}
