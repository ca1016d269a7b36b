//! Behaviours of a page's rendering: what is waited for, scrolled to, clicked and pictured.

use std::time::Duration;

use crawler::browser::{Ended, PictureFormat, Quiet, RenderOptions, Screenshot};
use crawler::contract::Consent;

use crate::network::{Answer, Web};
use crate::{Test, options};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_waited_for_until_its_requests_and_its_scripts_are_done() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<!doctype html><body><script>
        const step = async n => {
          if (n === 6) return;
          const text = await (await fetch('/part/' + n)).text();
          document.body.insertAdjacentHTML('beforeend', `<a href="/link/${n}">${text}</a>`);
          if (n % 2) setTimeout(step, 100, n + 1); else step(n + 1);
        };
        step(0);
        </script>"#;
    let web = Web::by(move |asked| match asked.url.strip_prefix("http://site.example/")? {
        "" => Some(Answer::html(page)),
        part if part.starts_with("part/") => Some(Answer::of("text/plain", "part").later(400)),
        _ => None,
    });
    let rendered = test.rendered(&web, "http://site.example/", &options()).await;
    assert_eq!(rendered.ended, Ended::Quiet);
    let expected: Vec<String> = (0..6).map(|n| format!("http://site.example/link/{n}")).collect();
    assert_eq!(rendered.links, expected);
    test.close().await;
}

/// The application of `react/`, with `items` items.
fn shop(items: usize) -> impl Fn(&crawler::browser::Asked) -> Option<Answer> + Send + Sync {
    move |asked| {
        let path = asked.url.strip_prefix("https://shop.example/")?;
        let json = |value: serde_json::Value| Some(Answer::of("application/json", value.to_string()));
        if let Some(from) = path.strip_prefix("api/items?from=") {
            let from: usize = from.parse().ok()?;
            return json((from..items.min(from + 10)).collect::<Vec<_>>().into());
        }
        if let Some(number) = path.strip_prefix("api/item/") {
            let number: usize = number.parse().ok()?;
            let related = [(number + 1) % items, (number * 7) % items];
            return json(
                serde_json::json!({ "name": format!("Item {number}"), "text": "A thing.", "related": related }),
            );
        }
        match path {
            "app.js" => Some(Answer::script(include_str!("react/app.js"))),
            _ => {
                Some(Answer::html("<!doctype html><title>Shop</title><div id=root></div><script src=/app.js></script>"))
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_by_react_is_clicked_to_its_end() {
    let Some(test) = Test::start().await else { return };
    let web = Web::by(shop(35));
    let rendered = test.rendered(&web, "https://shop.example/", &options()).await;
    assert_eq!(rendered.links.len(), 10, "{:?}", rendered.links);
    let clicks = RenderOptions { click: vec!["#more".to_owned(), "]bad".to_owned()], ..options() };
    let rendered = test.rendered(&web, "https://shop.example/", &clicks).await;
    let expected: Vec<String> = (0..35).map(|n| format!("https://shop.example/item/{n}")).collect();
    assert_eq!(rendered.links, expected);
    let rendered = test.rendered(&web, "https://shop.example/item/7", &options()).await;
    assert!(rendered.dom.contains("<h1>Item 7</h1>"), "{}", rendered.dom);
    assert_eq!(
        rendered.links,
        ["https://shop.example/item/8", "https://shop.example/item/14", "https://shop.example/"]
    );
    test.close().await;
}

/// A page that shows its text when its banner was answered; in a shadow root, the banner is as one of Usercentrics.
const BANNERS: [&str; 2] = [
    r#"<!doctype html><p id=said>asked</p><div id=banner><button id=onetrust-accept-btn-handler>Yes</button>
    <button id=onetrust-reject-all-handler>No</button></div><script>
    for (const [at, said] of [['accept-btn', 'accepted'], ['reject-all', 'rejected']])
      document.getElementById(`onetrust-${at}-handler`).onclick = () => {
        banner.remove();
        document.getElementById('said').innerText = said;
      };
    </script>"#,
    r#"<!doctype html><p id=said>asked</p><aside id=usercentrics-root></aside><script>
    const root = document.getElementById('usercentrics-root').attachShadow({ mode: 'open' });
    // it comes late, as some do: when the page is quiet, and before it is looked at again
    setTimeout(() => {
      root.innerHTML = `<div hidden><button data-testid=uc-deny-all-button>1</button></div>
        <button data-testid=uc-accept-all-button>2</button><button data-testid=uc-deny-all-button>3</button>`;
      root.querySelectorAll('button').forEach(button => button.onclick = () => {
        root.innerHTML = '';
        document.getElementById('said').innerText = ['', 'hidden', 'accepted', 'rejected'][button.innerText];
      });
    }, 550);
    </script>"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn banners_of_known_platforms_are_told_what_the_settings_say() {
    let Some(test) = Test::start().await else { return };
    for page in BANNERS {
        let web = Web::by(move |_| Some(Answer::html(page)));
        for (consent, said) in [(Consent::Off, "asked"), (Consent::Reject, "rejected"), (Consent::Accept, "accepted")] {
            let options = RenderOptions { consent, ..options() };
            let rendered = test.rendered(&web, "https://site.example/", &options).await;
            assert!(rendered.dom.contains(&format!("<p id=\"said\">{said}</p>")), "{consent:?} {}", rendered.dom);
        }
    }
    test.close().await;
}

/// Ten links, and ten more a moment after its end is seen, up to 60; in its own box where `style` makes one.
fn endless(style: &str) -> String {
    let page = r#"<!doctype html><style>a{display:block;height:200px}STYLE</style><div id=list></div><script>
        let n = 0;
        const end = document.createElement('i');
        const more = async () => {
          await fetch('/more');
          for (let i = 0; i < 10; i++, n++) end.insertAdjacentHTML('beforebegin', `<a href="/${n}">${n}</a>`);
        };
        list.append(end);
        const look = seen => { if (seen.some(s => s.isIntersecting) && n < 60) setTimeout(more, 100) };
        new IntersectionObserver(look).observe(end);
        </script>"#;
    page.replace("STYLE", style)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_grows_at_its_end_is_scrolled_to_its_end_or_to_the_limit() {
    let Some(test) = Test::start().await else { return };
    for style in ["", "html,body{height:100%;margin:0}#list{height:100%;overflow-y:auto}"] {
        let page = endless(style);
        let web = Web::by(move |asked| {
            Some(match asked.url.ends_with("/more") {
                true => Answer::of("text/plain", "yes").later(50),
                false => Answer::html(&page),
            })
        });
        let url = "http://site.example/";
        assert_eq!(test.rendered(&web, url, &options()).await.links.len(), 10, "{style}");
        let quiet = Quiet { network: Duration::from_millis(500), ..options().quiet };
        let scrolls = |scrolls_max| RenderOptions { scrolls_max, quiet, ..options() };
        let rendered = test.rendered(&web, url, &scrolls(100)).await;
        assert_eq!((rendered.links.len(), rendered.ended), (60, Ended::Quiet), "{style}");
        let some = test.rendered(&web, url, &scrolls(3)).await.links.len();
        assert!((10..60).contains(&some), "{some} {style}");
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_and_pdf_come_as_they_were_asked_for() {
    let Some(test) = Test::start().await else { return };
    let web = Web::of(&[("http://site.example/", Answer::html("<body style='height:3000px;background:red'>x"))]);
    let take =
        |format, is_full| RenderOptions { screenshot: Some(Screenshot { format, is_full }), pdf: is_full, ..options() };
    let rendered = test.rendered(&web, "http://site.example/", &take(PictureFormat::Png, true)).await;
    let picture = rendered.screenshot.unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    let size = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
    assert_eq!(size(16), 1280);
    assert!(size(20) >= 3000, "{}", size(20));
    assert!(rendered.pdf.unwrap().starts_with(b"%PDF-"));
    let rendered = test.rendered(&web, "http://site.example/", &take(PictureFormat::Webp, false)).await;
    assert_eq!(&rendered.screenshot.unwrap()[8..12], b"WEBP");
    assert_eq!(rendered.pdf, None);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reads_the_agent_and_the_languages_that_were_asked_for_also_in_its_workers() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<!doctype html><p id=a></p><p id=b></p><script>
        a.textContent = navigator.userAgent + '|' + navigator.languages + '|' + innerWidth + 'x' + innerHeight;
        const code = 'postMessage(navigator.userAgent + "|" + navigator.languages)';
        new Worker(URL.createObjectURL(new Blob([code]))).onmessage = event => b.textContent = event.data;
        </script>"#;
    let web = Web::of(&[("https://site.example/", Answer::html(page))]);
    let identity =
        RenderOptions { user_agent: "Tester/1.0".to_owned(), accept_language: "de-DE,de".to_owned(), ..options() };
    let rendered = test.rendered(&web, "https://site.example/", &identity).await;
    assert!(rendered.dom.contains("<p id=\"a\">Tester/1.0|de-DE,de|1280x1024</p>"), "{}", rendered.dom);
    assert!(rendered.dom.contains("<p id=\"b\">Tester/1.0|de-DE,de</p>"), "{}", rendered.dom);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_at_the_same_time_know_nothing_of_one_another() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<!doctype html><body><script>
        const before = document.cookie + (localStorage.getItem('a') ?? '');
        document.cookie = 'a=1'; localStorage.setItem('a', 'x');
        requestAnimationFrame(() => requestAnimationFrame(() => {
          document.body.append(`before:${before};${document.visibilityState}`);
        }));
        </script>"#;
    let web = Web::by(move |_| Some(Answer::html(page)));
    let options = options();
    let render = |_| test.rendered(&web, "https://site.example/", &options);
    for rendered in futures_util::future::join_all((0..4).map(render)).await {
        assert!(rendered.dom.contains("before:;visible"), "{}", rendered.dom);
    }
    test.close().await;
}
