//! `cargo bench --bench rendering [-- PAGES [PROGRAM]]`: what rendering a page costs, with the usual options, in a
//! static page and in an application by React, with 1, 2 and 4 browsers of one page each.
//!
//! Requests are answered at once, from memory. A line gives pages a second (with the wait for each page to be quiet),
//! time of the browser's processes on processors for a page (their whole time between the first and the last page,
//! by pages), the time of this process, the median and the 95th percentile of how long a page took, and the most memory
//! of the renderers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use crawler::browser::{Asked, BrowserOptions, Browsers, Network, RenderOptions, Rendered, Reply, find};
use futures_util::StreamExt;
use futures_util::stream;

const PAGES: usize = 40;
const ITEMS: usize = 500;
const SITE: &str = "https://site.example/";

/// The site: static pages with a sheet and a picture, and the application of the tests.
struct Site;

impl Network for Site {
    fn request(&self, asked: Asked, reply: Reply) {
        let found = |kind: &str, body: Vec<u8>| (200, vec![("Content-Type".to_owned(), kind.to_owned())], body);
        let path = asked.url.strip_prefix(SITE).unwrap_or_default();
        let (status, headers, body) = match path.split(['/', '?']).next().unwrap_or_default() {
            "static" => found("text/html", static_page().into_bytes()),
            "style.css" => found("text/css", b"body{font-family:sans-serif;max-width:60em}a{color:navy}".to_vec()),
            "item" => found("text/html", b"<!doctype html><div id=root></div><script src=/app.js></script>".to_vec()),
            "app.js" => found("text/javascript", include_bytes!("../../tests/browser/react/app.js").to_vec()),
            "api" => {
                let number: usize = path.rsplit('/').next().and_then(|text| text.parse().ok()).unwrap_or_default();
                let related: Vec<usize> = (1..20).map(|n| (number + n * n) % ITEMS).collect();
                let item =
                    serde_json::json!({ "name": format!("Item {number}"), "text": "A thing.", "related": related });
                found("application/json", item.to_string().into_bytes())
            }
            _ => (404, Vec::new(), Vec::new()),
        };
        reply.fulfill(status, headers, body);
    }
}

/// 20 KB of text and 200 links.
fn static_page() -> String {
    let line = |n: usize| {
        format!("<p>Paragraph {n} has a few words, and <a href=/static/{n}>a link</a> to page {n} of the site.</p>\n")
    };
    let lines: String = (0..200).map(line).collect();
    format!("<!doctype html><title>Static</title><link rel=stylesheet href=/style.css><img src=/i.png>\n{lines}")
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let pages = arguments.next().map_or(Ok(PAGES), |text| text.parse())?;
    let program = arguments.next().map(PathBuf::from);
    let program = find(program.as_deref()).context("no Chromium is installed")?;
    let cores = std::thread::available_parallelism()?;
    println!("{} ({}), {cores} cores, {pages} pages a line", program.version, program.path.display());
    println!(
        "{:8} {:>8} {:>8} {:>12} {:>8} {:>9} {:>7} {:>10}",
        "page", "browsers", "pages/s", "browser ms", "own ms", "median s", "95 % s", "memory MiB"
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for kind in ["static", "item"] {
        for processes in [1, 2, 4] {
            runtime.block_on(line(kind, processes, pages, &program.path))?;
        }
    }
    Ok(())
}

async fn line(kind: &str, processes: usize, pages: usize, program: &std::path::Path) -> Result<()> {
    let options = BrowserOptions {
        processes,
        program: Some(program.to_owned()),
        pages_max: u32::MAX,
        ..BrowserOptions::default()
    };
    let browsers = Browsers::new(options);
    let render = async |number: usize| -> Result<Rendered> {
        let url = format!("{SITE}{kind}/{}", number % ITEMS);
        let rendered = browsers.render(&url, "site", &RenderOptions::default(), Arc::new(Site)).await?;
        ensure!(rendered.links.len() >= 15, "{url}: {}", rendered.dom);
        Ok(rendered)
    };
    // the first ones start the browsers
    stream::iter(0..processes).map(render).buffer_unordered(processes).collect::<Vec<_>>().await;
    let (own, begin) = (own_cpu(), Instant::now());
    let rendered: Vec<Result<Rendered>> =
        stream::iter(0..pages).map(render).buffer_unordered(processes).collect().await;
    let (own, time) = (own_cpu() - own, begin.elapsed().as_secs_f64());
    let rendered = rendered.into_iter().collect::<Result<Vec<Rendered>>>()?;
    let cpu: Duration = rendered.iter().map(|page| page.cpu).sum();
    let mut times: Vec<f64> = rendered.iter().map(|page| page.duration.as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    let memory = rendered.iter().map(|page| page.peak_memory).max().unwrap_or_default();
    println!(
        "{kind:8} {processes:8} {:8.2} {:12.0} {:8.1} {:9.2} {:7.2} {:10}",
        pages as f64 / time,
        cpu.as_secs_f64() * 1e3 / pages as f64,
        own.as_secs_f64() * 1e3 / pages as f64,
        times[pages / 2],
        times[pages * 95 / 100],
        memory >> 20
    );
    browsers.close().await;
    Ok(())
}

/// Time of this process on processors.
fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
