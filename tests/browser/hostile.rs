//! Pages that want too much: of time, memory, requests, windows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crawler::browser::{BrowserOptions, Denied, Ended, RefusedKind, RenderFailure, RenderOptions, Rendered};

use crate::network::{Answer, Web};
use crate::{Test, ends, options, processes};

const URL: &str = "https://site.example/";

/// Its answer never comes, so that a page that asks for it is never quiet.
const NEVER: &str = "https://site.example/never";

/// Options that give a page a few seconds.
fn short() -> RenderOptions {
    RenderOptions { deadline: Duration::from_secs(4), ..options() }
}

/// Renders one page, checks that the next one is as it should be, and returns what became of the first.
async fn tried(test: &Test, page: &str, options: &RenderOptions) -> Result<Rendered, RenderFailure> {
    let web = Web::of(&[(URL, Answer::html(page)), (NEVER, Answer::Never)]);
    let begin = Instant::now();
    let result = test.render(&web, URL, options).await;
    let most = options.deadline + Duration::from_secs(40);
    assert!(begin.elapsed() < most, "{:?}: {page}", begin.elapsed());
    let innocent = Web::of(&[(URL, Answer::html("<p>all is well"))]);
    let next = test.rendered(&innocent, URL, &crate::options()).await;
    assert!(next.dom.contains("all is well"), "{}", next.dom);
    result
}

fn refused(rendered: &Rendered, what: RefusedKind) -> Vec<&str> {
    rendered.refused.iter().filter(|refused| refused.what == what).map(|refused| refused.url.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_never_quiet_is_taken_when_its_time_is_over() {
    let Some(test) = Test::start().await else { return };
    let page = "<p>here<script>setInterval(() => { fetch('/poll'); document.body.append('x') }, 50)</script>";
    let rendered = tried(&test, page, &short()).await.unwrap();
    assert_eq!(rendered.ended, Ended::Deadline);
    assert!(rendered.dom.contains("<p>here"), "{}", rendered.dom);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_without_end_is_ended_and_what_was_there_is_taken() {
    let Some(test) = Test::start().await else { return };
    let rendered = tried(&test, "<p>before<script>while (true);</script><p>after", &short()).await.unwrap();
    assert_eq!(rendered.ended, Ended::Deadline);
    assert!(rendered.dom.contains("<p>before"), "{}", rendered.dom);
    let page = "<p>before<script>setInterval(() => { while (true); }, 0)</script>";
    match tried(&test, page, &short()).await {
        Ok(rendered) => assert_eq!(rendered.ended, Ended::Deadline),
        Err(failure) => assert_eq!(failure, RenderFailure::Hung),
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_takes_memory_without_end_is_killed() {
    let Some(test) = Test::start().await else { return };
    let options = RenderOptions { memory_max: 300 << 20, ..options() };
    let page =
        "<img src=/never><script>a = []; setInterval(() => a.push(new Uint8Array(16 << 20).fill(1)), 20)</script>";
    assert_eq!(tried(&test, page, &options).await.unwrap_err(), RenderFailure::Memory);
    let page = "<script>a = []; while (true) a.push(new Uint8Array(1 << 20).fill(1))</script>";
    assert_eq!(tried(&test, page, &options).await.unwrap_err(), RenderFailure::Memory);
    let page = "<script>a = []; while (true) a.push('x'.repeat(1000) + a.length)</script>";
    let failure = tried(&test, page, &options).await.unwrap_err();
    assert_eq!(failure, RenderFailure::Memory);
    // blobs are kept in another process than the page's
    let page = "<img src=/never><script>a = [];\
                setInterval(() => a.push(new Blob([new Uint8Array(16 << 20).fill(1)])), 20)</script>";
    assert_eq!(tried(&test, page, &options).await.unwrap_err(), RenderFailure::Memory);
    // in a frame of another site, which has its own process
    let frame = "<script>a = []; setInterval(() => a.push(new Uint8Array(16 << 20).fill(1)), 20)</script>";
    let web = Web::of(&[
        (URL, Answer::html("<iframe src='https://other.example/'></iframe>")),
        ("https://other.example/", Answer::html(&format!("{frame}<img src=/never>"))),
        ("https://other.example/never", Answer::Never),
    ]);
    assert_eq!(test.render(&web, URL, &options).await.unwrap_err(), RenderFailure::Memory);
    test.close().await;
}

/// The most bytes and processes that browsers with profiles below `dir` have until `is_over`.
async fn most_of(dir: &Path, is_over: Arc<AtomicBool>) -> (u64, usize) {
    let dir = dir.to_owned();
    let watch = move || {
        let (mut bytes, mut number) = (0, 0);
        while !is_over.load(Ordering::Relaxed) {
            let all = processes::of(&dir);
            bytes = bytes.max(all.iter().map(processes::Process::memory).sum());
            number = number.max(all.len());
            std::thread::sleep(Duration::from_millis(50));
        }
        (bytes, number)
    };
    tokio::task::spawn_blocking(watch).await.unwrap()
}

/// Renders two pages at the same time, and returns what became of them and the most bytes and processes of their
/// browsers.
async fn beside(
    test: &Test,
    dir: &Path,
    (one, other): (&Arc<Web>, &Arc<Web>),
    options: &RenderOptions,
) -> ([Result<Rendered, RenderFailure>; 2], (u64, usize)) {
    let is_over = Arc::new(AtomicBool::new(false));
    let both = async {
        let rendered = tokio::join!(test.render(one, URL, options), test.render(other, URL, options));
        is_over.store(true, Ordering::Relaxed);
        [rendered.0, rendered.1]
    };
    tokio::join!(both, most_of(dir, is_over.clone()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_frames_of_hundreds_of_sites_takes_no_more_than_it_may_and_nothing_from_the_page_beside_it() {
    const ALLOWED: u64 = 512 << 20;
    // what is taken between two looks at the processes
    const TOLERANCE: u64 = 128 << 20;
    let dir = ends::open_dir();
    let options_of_browsers = BrowserOptions { temporary_dir: dir.path().to_owned(), ..BrowserOptions::default() };
    let Some(test) = Test::start_with(options_of_browsers).await else { return };
    let options = RenderOptions { memory_max: ALLOWED, deadline: Duration::from_secs(20), ..options() };
    let page = "<p>all is well<script>fetch('/slow').then(() => document.body.append('and done'))</script>";
    let ordinary = || {
        Web::of(&[(URL, Answer::html(page)), ("https://site.example/slow", Answer::of("text/plain", "x").later(3_000))])
    };
    let (_, (idle, processes)) = beside(&test, dir.path(), (&ordinary(), &ordinary()), &options).await;
    // frames that take as little as a frame takes, and frames that take 32 MiB each
    for bytes in [0, 32 << 20] {
        let hostile = Web::by(move |asked| {
            let frames: String =
                (0..400).map(|n| format!("<iframe src='https://site{n}.example/'></iframe>")).collect();
            Some(match asked.url.as_str() {
                URL => Answer::html(&format!("<p>here{frames}")),
                url if url.contains("favicon") => Answer::Denied(Denied::Refused),
                _ => Answer::html(&format!("<script>a = new Uint8Array({bytes}).fill(1)</script>frame")),
            })
        });
        let ([tried, next], most) = beside(&test, dir.path(), (&hostile, &ordinary()), &options).await;
        let next = next.unwrap();
        assert!(next.dom.contains("and done") && next.ended == Ended::Quiet, "{next:?}");
        println!("{bytes}: {most:?} of {idle} and {processes} processes; {:?}", tried.as_ref().map(|page| page.ended));
        assert!(most.0 <= idle + ALLOWED + TOLERANCE, "{} of {idle} MiB and {} processes", most.0 >> 20, most.1);
        assert!(most.1 <= processes + 110, "{} of {processes} processes", most.1);
        // processes of frames that are refused live for a moment
        match tried {
            Ok(page) => assert!(!refused(&page, RefusedKind::Frame).is_empty(), "{:?}", page.refused),
            Err(failure) => assert!(matches!(failure, RenderFailure::Memory | RenderFailure::Processes), "{failure}"),
        }
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_of_more_origins_than_a_page_may_have_stay_empty() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<p id=n>0</p><script>
        let here = 0;
        onmessage = () => n.textContent = ++here;
        (async () => {
            for (let i = 0; i < 40; i++) {
                const frame = document.createElement('iframe');
                const over = new Promise(done => { frame.onload = frame.onerror = done });
                frame.src = `https://site${i % 36}.example/`;
                document.body.append(frame);
                await over;
            }
            document.body.append('all tried');
        })();
        </script>"#;
    let web = Web::by(move |asked| {
        Some(match asked.url.as_str() {
            URL => Answer::html(page),
            _ => Answer::html("<script>parent.postMessage(0, '*')</script>"),
        })
    });
    let options = RenderOptions { deadline: Duration::from_secs(40), ..options() };
    let rendered = test.rendered(&web, URL, &options).await;
    // 32 of 36 sites, and four of them twice
    assert!(rendered.dom.contains("<p id=\"n\">36</p>") && rendered.dom.contains("all tried"), "{}", rendered.dom);
    let empty: Vec<String> = (32..36).map(|n| format!("https://site{n}.example/")).collect();
    assert_eq!(refused(&rendered, RefusedKind::Frame), empty);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_beyond_their_number_never_run() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<p>here<p id=n>0</p><script>
        const here = URL.createObjectURL(new Blob(['postMessage(0); setInterval(() => {}, 1000)']));
        let ran = 0;
        const fork = () => { new Worker(here).onmessage = () => n.textContent = ++ran };
        for (let i = 0; i < 60; i++) fork();
        setInterval(fork, 100);
        </script>"#;
    let rendered = tried(&test, page, &short()).await.unwrap();
    assert!(rendered.dom.contains("<p>here"), "{}", rendered.dom);
    assert!(!refused(&rendered, RefusedKind::Worker).is_empty());
    let ran = rendered.dom.split("<p id=\"n\">").nth(1).unwrap().split('<').next().unwrap().parse::<u32>().unwrap();
    assert!(ran > 0 && ran <= 32, "{ran}");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_dialogs_and_downloads_are_refused_and_told() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<p id=p></p><button id=b>x</button><a id=a download=x.txt href="data:text/plain,x">d</a><script>
        for (let i = 0; i < 100; i++) window.open('/window/' + i);
        b.onclick = () => { for (let i = 0; i < 100; i++) window.open('/clicked/' + i) };
        b.click();
        a.click();
        p.textContent = [alert('a'), confirm('b'), prompt('c')].join();
        print();
        document.documentElement.requestFullscreen?.().catch(() => {});
        addEventListener('beforeunload', event => event.preventDefault());
        </script>"#;
    let rendered = tried(&test, page, &options()).await.unwrap();
    assert!(rendered.dom.contains("<p id=\"p\">,false,</p>"), "{}", rendered.dom);
    assert_eq!(refused(&rendered, RefusedKind::Dialog), [URL]);
    assert_eq!(rendered.ended, Ended::Quiet);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dialogs_without_end_end_with_the_page() {
    let Some(test) = Test::start().await else { return };
    match tried(&test, "<p>before<script>while (true) alert('again')</script>", &short()).await {
        Ok(rendered) => assert_eq!(refused(&rendered, RefusedKind::Dialog), [URL]),
        Err(failure) => assert_eq!(failure, RenderFailure::Hung),
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_pages_of_the_browser_are_out_of_reach() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<p id=p></p><iframe src="file:///etc/passwd"></iframe><iframe src="chrome://version"></iframe>
        <iframe src="view-source:https://site.example/"></iframe><img src="file:///etc/hostname">
        <iframe src="devtools://devtools/bundled/inspector.html"></iframe><iframe src="ftp://site.example/"></iframe>
        <script>
          (async () => {
            let got = '';
            for (const url of ['file:///etc/passwd', 'chrome://version', 'filesystem:https://site.example/x']) {
              got += await fetch(url).then(r => r.text(), () => 'no;');
            }
            p.textContent = got;
            setTimeout(() => location = 'file:///etc/passwd', 100);
            setTimeout(() => location = 'chrome://settings', 200);
          })();
        </script>"#;
    let rendered = tried(&test, page, &options()).await.unwrap();
    assert_eq!(rendered.url, URL);
    assert!(rendered.dom.contains("<p id=\"p\">no;no;no;</p>"), "{}", rendered.dom);
    assert!(!rendered.dom.contains("root:"), "{}", rendered.dom);
    // nor as the page itself
    for url in ["file:///etc/passwd", "chrome://version", "view-source:https://site.example/", "about:blank"] {
        let result = test.render(&Web::of(&[]), url, &options()).await;
        assert!(matches!(result, Err(RenderFailure::Document(_))), "{url}: {result:?}");
    }
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_worker_is_not_registered() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<p id=p>pending</p><script>
        navigator.serviceWorker.register('/sw.js').then(() => p.textContent = 'yes', () => p.textContent = 'no');
        </script>"#;
    let web = Web::of(&[(URL, Answer::html(page)), ("https://site.example/sw.js", Answer::script("fetch('/more')"))]);
    let rendered = test.rendered(&web, URL, &options()).await;
    assert!(rendered.dom.contains("<p id=\"p\">no</p>"), "{}", rendered.dom);
    assert!(!refused(&rendered, RefusedKind::ServiceWorker).is_empty(), "{:?}", rendered.refused);
    assert!(!web.was_asked("https://site.example/more"), "{:?}", web.asked());
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_bytes_navigations_and_the_dom_have_limits() {
    let Some(test) = Test::start().await else { return };
    let many = RenderOptions { requests_max: 50, ..options() };
    let rendered = tried(&test, "<p>here<script>for (let i = 0; i < 500; i++) fetch('/' + i)</script>", &many).await;
    let rendered = rendered.unwrap();
    assert_eq!(rendered.ended, Ended::Requests);
    assert!(rendered.dom.contains("<p>here"), "{}", rendered.dom);

    let page = "<p>here<script>(async () => { for (;;) await fetch('/large').catch(() => {}) })()</script>";
    let web = Web::of(&[
        (URL, Answer::html(page)),
        ("https://site.example/large", Answer::of("text/plain", vec![b'x'; 1 << 20])),
    ]);
    let bytes = RenderOptions { bytes_max: 10 << 20, ..options() };
    assert_eq!(test.rendered(&web, URL, &bytes).await.ended, Ended::Bytes);
    assert!((9..=12).contains(&web.asked().iter().filter(|asked| asked.ends_with("/large")).count()));

    let web = Web::by(|asked| {
        Some(match asked.url.contains("favicon") {
            true => Answer::Denied(Denied::Refused),
            false => Answer::html(
                "<p>here<script>onload = () => setTimeout(() => location = '/' + Math.random(), 50)</script>",
            ),
        })
    });
    let few = RenderOptions { navigations_max: 5, ..options() };
    let rendered = test.rendered(&web, URL, &few).await;
    assert_eq!(web.requests().iter().filter(|asked| asked.is_main_document).count(), 6, "{:#?}", web.asked());
    assert_eq!(refused(&rendered, RefusedKind::Navigation).len(), 1, "{:?}", rendered.refused);
    assert!(rendered.dom.contains("<p>here"), "{}", rendered.dom);

    let page = "<body><script>for (let i = 0; i < 20000; i++) { const a = document.createElement('a'); \
                a.href = '/é' + i;\
                a.textContent = 'é'; document.body.append(a) }</script>";
    let small = RenderOptions { dom_max: 100_001, links_max: 77, ..options() };
    let rendered = tried(&test, page, &small).await.unwrap();
    assert!(rendered.dom_cut && rendered.dom.len() > 99_990 && rendered.dom.len() <= 100_001, "{}", rendered.dom.len());
    assert_eq!(rendered.links.len(), 77);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_hand_on_to_the_next_at_once_end_with_the_last() {
    let Some(test) = Test::start().await else { return };
    let web = Web::by(|asked| {
        let number = asked.url.rsplit('/').next().unwrap_or_default().parse().unwrap_or(0);
        Some(match number {
            20 => Answer::html("<p>the last<a href=/x>x</a>"),
            _ => Answer::html(&format!("<p>here<script>onload = () => location = '/{}'</script>", number + 1)),
        })
    });
    let many = RenderOptions { navigations_max: 100, ..options() };
    let rendered = test.rendered(&web, URL, &many).await;
    assert_eq!((rendered.url.as_str(), rendered.links.len()), ("https://site.example/20", 1));
    assert_eq!(rendered.ended, Ended::Quiet);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_goes_elsewhere_for_ever_without_a_request_is_read_all_the_same() {
    let Some(test) = Test::start().await else { return };
    let page = "<p>here<script>const page = URL.createObjectURL(new Blob([document.documentElement.outerHTML], \
                {type: 'text/html'})); onload = () => location = page</script>";
    let web = Web::of(&[(URL, Answer::html(page))]);
    let short = RenderOptions { deadline: Duration::from_secs(5), ..options() };
    let rendered = test.rendered(&web, URL, &short).await;
    assert!(rendered.dom.contains("<p>here"), "{}", rendered.dom);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_not_let_go_elsewhere_stays_what_it_was() {
    let Some(test) = Test::start().await else { return };
    let page = "<meta http-equiv=refresh content='0;url=https://other.example/'><p>here<a href=/x>x</a>";
    let web = Web::by(move |asked| {
        Some(match asked.url.as_str() {
            URL => Answer::html(page),
            _ => Answer::Denied(Denied::Refused),
        })
    });
    let rendered = test.rendered(&web, URL, &options()).await;
    assert_eq!((rendered.url.as_str(), rendered.links.len()), (URL, 1));
    assert!(rendered.dom.contains("<p>here"), "{}", rendered.dom);
    assert!(web.request("https://other.example/").is_main_document);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn preflights_are_asked_for_and_what_they_do_not_allow_is_not_made() {
    let Some(test) = Test::start().await else { return };
    let page = r#"<p id=p></p><script>
        const how = { method: 'PUT', headers: { 'X-A': '1' }, body: 'x' };
        const put = url => fetch(url, how).then(r => r.text(), () => 'no');
        (async () => { p.textContent = [await put('https://api.example/no'), await put('https://api.example/yes')] })();
        navigator.sendBeacon('/beacon', 'told');
        </script>"#;
    let allow = |answer: Answer| {
        answer
            .with("Access-Control-Allow-Origin", "*")
            .with("Access-Control-Allow-Headers", "*")
            .with("Access-Control-Allow-Methods", "*")
    };
    let web = Web::by(move |asked| {
        Some(match asked.url.as_str() {
            URL => Answer::html(page),
            "https://api.example/yes" => allow(Answer::of("text/plain", "put")),
            _ => Answer::of("text/plain", ""),
        })
    });
    let rendered = test.rendered(&web, URL, &options()).await;
    assert!(rendered.dom.contains("<p id=\"p\">no,put</p>"), "{}", rendered.dom);
    let mut asked = web.asked();
    asked.retain(|line| line.contains("api.example"));
    assert_eq!(
        asked,
        ["OPTIONS https://api.example/no", "OPTIONS https://api.example/yes", "PUT https://api.example/yes"]
    );
    let put = web.requests().into_iter().find(|asked| asked.method == "PUT").unwrap();
    assert_eq!(put.body.as_deref(), Some(b"x".as_slice()));
    let beacon = web.request("https://site.example/beacon");
    assert_eq!((beacon.method.as_str(), beacon.body.as_deref()), ("POST", Some(b"told".as_slice())));
    test.close().await;
}
