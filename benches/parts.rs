//! `cargo bench --bench parts`: what the steps of a process thread cost a page, each by itself, on pages of 24 KB with
//! 150 links like those of documentation; `-- DIR` takes the HTML files below a directory instead.
//!
//! Microseconds of the thread's CPU a page, the least and the median of the rounds; a step's own cost is the difference
//! to the one that it includes. The second table compares compressors on the same pages in the same rounds.

use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use crawler::clock::Time;
use crawler::contract::{Judgement, Purpose, Response};
use crawler::fingerprint::Fingerprinter;
use crawler::frontier::Hops;
use crawler::process::{ProcessOptions, Processor};
use crawler::warc::{Compression, Encoder, Exchange, HttpVersion, id_seed};
use crawler::web::address::AddressGuard;
use crawler::web::coding::BodyDecoder;
use crawler::web::html::{Document, LAZY_ATTRIBUTES, LinkScan, RobotsDirectives, Wording};
use crawler::web::scope::{Scope, ScopeOptions};
use crawler::web::tags::Tags;
use crawler::web::url::{CanonicalUrl, KeyMaker};
use flate2::bufread::MultiGzDecoder;
use flate2::{Compress, FlushCompress};
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use sha1::{Digest, Sha1};

#[path = "crawl/thread.rs"]
mod thread;

use thread::cpu_s;

const ROUNDS: usize = 7;
const PAGES: usize = 2_000;
const PAGE_BYTES: usize = 24_000;
const LINKS: usize = 150;
/// Files of a directory that are read, at most.
const FILES_MAX: usize = 20_000;
/// Site that has all pages.
const ROOT: &str = "http://docs.example/";
const LINKS_MAX: usize = 10_000;
const URL_BYTES_MAX: usize = 2_000;

/// A page as it comes from a server.
struct Page {
    url: CanonicalUrl,
    response: Response,
}

fn main() -> Result<()> {
    let dir = std::env::args_os().skip(1).find(|arg| arg != "--bench").map(PathBuf::from);
    let pages = match &dir {
        Some(dir) => read(dir)?,
        None => {
            (0..PAGES).map(|number| page(&format!("chapter-{number}.html"), text(number))).collect::<Result<_>>()?
        }
    };
    ensure!(!pages.is_empty(), "there are no HTML files");
    let bytes = bodies(&pages);
    let keys = Arc::new(KeyMaker::new(Fingerprinter::random(1), &[]));
    let scope = Scope::new(&ScopeOptions::default(), pages.iter().map(|page| &page.url))?;
    let mut scan = LinkScan::new(LINKS_MAX, true, URL_BYTES_MAX);
    let mut processor = Processor::new(options(&keys));
    let links: usize = pages.iter().map(|page| findings(&mut processor, page, &scope)).sum();
    let (count, mean) = (pages.len() as f64, |sum: usize| sum as f64 / pages.len() as f64);
    println!("{count} pages of {:.0} bytes with {:.1} links in scope", mean(bytes), mean(links));

    println!("{:48} {:>8} {:>8}", "CPU us a page", "least", "median");
    tell("tags and attributes", &pages, |page| tags(&page.response.body));
    tell("links: these, resolved, canonical, keyed", &pages, |page| {
        scan.html(&page.response.body, Some("text/html"), &page.url, &keys, RobotsDirectives::default()).entries.len()
    });
    tell("findings: these, in scope", &pages, |page| findings(&mut processor, page, &scope));
    let mut wording = Wording::default();
    tell("wording and its digest, for crawls that recrawl", &pages, |page| {
        let words = wording.document(Document::Html, &page.response.body, Some("text/html"));
        keys.digest(words.unwrap_or_default()) as usize & 1
    });
    tell("SHA-1 of the body", &pages, |page| usize::from(Sha1::digest(&page.response.body)[0]));
    for (name, compression) in [("records, plain", Compression::None), ("records, gzip", Compression::Gzip)] {
        let mut encoder = Encoder::new(compression);
        tell(name, &pages, |page| encoder.encode(&exchange(page)).bytes.len());
    }
    let packed: Vec<Page> = pages.iter().map(gzipped).collect::<Result<_>>()?;
    println!("the same pages with Content-Encoding gzip, {:.0} bytes", mean(bodies(&packed)));
    let mut decoder = BodyDecoder::default();
    tell("inflate", &packed, |page| inflate(&mut decoder, page));
    tell("findings: this, links in scope", &packed, |page| findings(&mut processor, page, &scope));
    tell("SHA-1 of the body", &packed, |page| usize::from(Sha1::digest(&page.response.body)[0]));
    let mut encoder = Encoder::new(Compression::Gzip);
    tell("records, gzip", &packed, |page| encoder.encode(&exchange(page)).bytes.len());
    tell("all of these", &packed, |page| {
        findings(&mut processor, page, &scope) + encoder.encode(&exchange(page)).bytes.len()
    });
    compare(&pages, &packed);
    Ok(())
}

/// Compressors and decompressors beside one another.
fn compare(pages: &[Page], packed: &[Page]) {
    println!("\n{:48} {:>8} {:>8} {:>8} {:>8}", "compressors: CPU us a page", "least", "median", "MB/s", "bytes");
    let plain_bytes = bodies(pages) as f64 / pages.len() as f64;
    let tell = |name: &str, pages: &[Page], step: &mut dyn FnMut(&Page) -> usize| {
        let out: usize = pages.iter().map(&mut *step).sum();
        let [least, median] = rounds(pages, step);
        println!(
            "{name:48} {least:>8.1} {median:>8.1} {:>8.0} {:>8.0}",
            plain_bytes / median,
            out as f64 / pages.len() as f64
        );
    };
    let largest = pages.iter().map(|page| page.response.body.len()).max().unwrap_or(0);
    let mut room = vec![0; 2 * largest + 1_024];
    tell("inflate: zlib-rs, by stream", packed, &mut |page| {
        let mut text = Vec::new();
        MultiGzDecoder::new(&page.response.body[..]).read_to_end(&mut text).map_or(0, |_| text.len())
    });
    let mut decompressor = Decompressor::new();
    tell("inflate: libdeflate", packed, &mut |page| {
        decompressor.gzip_decompress(&page.response.body, &mut room).unwrap_or(0)
    });
    let mut zlib = Compress::new(flate2::Compression::fast(), false);
    tell("deflate: zlib-rs, level 1", pages, &mut |page| {
        zlib.reset();
        let done = zlib.compress(&page.response.body, &mut room, FlushCompress::Finish);
        done.map_or(0, |_| usize::try_from(zlib.total_out()).unwrap_or(0))
    });
    for level in [1, 2, 3] {
        let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap_or_default());
        tell(&format!("deflate: libdeflate, level {level}"), pages, &mut |page| {
            compressor.deflate_compress(&page.response.body, &mut room).unwrap_or(0)
        });
    }
    for level in [1, 3] {
        let Ok(mut compressor) = zstd::bulk::Compressor::new(level) else { continue };
        tell(&format!("zstd, level {level}"), pages, &mut |page| {
            compressor.compress_to_buffer(&page.response.body, &mut room[..]).unwrap_or(0)
        });
    }
}

fn bodies(pages: &[Page]) -> usize {
    pages.iter().map(|page| page.response.body.len()).sum()
}

/// The page as a server sends it that compresses.
fn gzipped(page: &Page) -> Result<Page> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&page.response.body)?;
    let path = page.url.as_str().strip_prefix(ROOT).context("all pages have one root")?;
    let mut packed = self::page(path, encoder.finish()?)?;
    packed.response.headers.push((b"content-encoding"[..].into(), b"gzip"[..].into()));
    Ok(packed)
}

fn inflate(decoder: &mut BodyDecoder, page: &Page) -> usize {
    decoder.decode(Some("gzip"), &page.response.body, 16 << 20).bytes.len()
}

/// Measures a step in rounds over all pages.
fn tell(name: &str, pages: &[Page], mut step: impl FnMut(&Page) -> usize) {
    let [least, median] = rounds(pages, &mut step);
    println!("{name:48} {least:>8.1} {median:>8.1}");
}

/// The least and the median of the rounds, in microseconds a page.
fn rounds(pages: &[Page], step: &mut dyn FnMut(&Page) -> usize) -> [f64; 2] {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let before = cpu_s();
            pages.iter().for_each(|page| {
                black_box(step(page));
            });
            (cpu_s() - before) * 1e6 / pages.len() as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    [rounds[0], rounds[ROUNDS / 2]]
}

fn tags(html: &[u8]) -> usize {
    let (mut tags, mut found) = (Tags::new(html), 0);
    while tags.next_tag().is_some() {
        tags.attributes(|attribute| found += attribute.value.len());
    }
    found
}

fn findings(processor: &mut Processor, page: &Page, scope: &Scope) -> usize {
    let purpose = Purpose::Page { depth: 1, hops: &Hops::parse("L") };
    processor.findings(&page.url, purpose, &page.response, scope).links.len()
}

fn exchange(page: &Page) -> Exchange<'_> {
    let response = &page.response;
    Exchange {
        url: page.url.as_str(),
        fetched_at: response.started,
        duration_ms: 12,
        ip: response.address,
        http_version: response.version,
        request: Some(&response.request),
        status: response.status,
        reason: &response.reason,
        headers: &response.headers,
        body: &response.body,
        truncated: None,
        via: Some("http://docs.example/index.html"),
        depth: 1,
        hops: "L",
        seed: 0,
        attempt: 0,
        robots: false,
        of_rendering: false,
        rendition: None,
        again: None,
        canonical: None,
        judged: None,
        statements: None,
        id_seed: id_seed(7, page.url.as_str(), response.started),
    }
}

fn options(keys: &Arc<KeyMaker>) -> ProcessOptions {
    ProcessOptions {
        keys: keys.clone(),
        agent_token: "crawler".to_owned(),
        links_max: LINKS_MAX,
        url_bytes_max: URL_BYTES_MAX,
        decoded_max: 16 << 20,
        robots_bytes_max: 500 << 10,
        sitemaps_max: 1_000,
        respect_nofollow: true,
        lazy_attributes: LAZY_ATTRIBUTES.map(str::to_owned).to_vec(),
        script_files: false,
        json_links: crawler::web::json::JsonLinks::Off,
        text_links: false,
        llms_txt: false,
        markdown_twins: false,
        favicon: true,
        licenses: false,
        content_first: false,
        request_records: true,
        text_digests: false,
        likenesses: false,
        learn_session_params: false,
        compression: Compression::Gzip,
        guard: AddressGuard::new(&[]),
        dedup: None,
        kinds: None,
        asks_missing: false,
        kinds_without_links: Vec::new(),
        documents: None,
        sites: None,
    }
}

fn page(path: &str, body: Vec<u8>) -> Result<Page> {
    let url = CanonicalUrl::parse(&format!("{ROOT}{path}")).context("a path makes a URL")?;
    let header = |name: &str, value: &str| (name.as_bytes().into(), value.as_bytes().into());
    let headers = vec![
        header("server", "nginx/1.22.1"),
        header("date", "Sat, 21 Nov 2026 12:00:00 GMT"),
        header("content-type", "text/html"),
        header("content-length", &body.len().to_string()),
        header("etag", "\"65a0c2f1-5dc0\""),
    ];
    let request = format!("GET /{path} HTTP/1.1\r\nHost: docs.example\r\nUser-Agent: crawler/0.1\r\n\r\n").into_bytes();
    let response = Response {
        status: 200,
        reason: "OK".to_owned(),
        version: HttpVersion::Http11,
        headers,
        body,
        truncated: None,
        address: Some([127, 0, 0, 1].into()),
        request,
        started: Time::from_ms(1_795_000_000_000),
        duration: Duration::from_millis(12),
        judgement: Judgement::Open,
    };
    Ok(Page { url, response })
}

/// A page that has the text and the links of a chapter: a list of contents, and paragraphs that name others.
fn text(number: usize) -> Vec<u8> {
    const WORDS: &str = "the a value of each row is read by this function when its argument names one table and \
                         returns null otherwise so that queries with an index may skip pages which hold no visible \
                         tuple for it";
    let mut rng = fastrand::Rng::with_seed(number as u64);
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{number}</title></head><body>"
    );
    let every = PAGE_BYTES / LINKS;
    for link in 0..LINKS {
        let target = rng.usize(..PAGES);
        let anchor = words[rng.usize(..words.len())];
        html.push_str(&format!("<p class=\"para\"><a href=\"chapter-{target}.html\" title=\"{anchor}\">{anchor}</a> "));
        while html.len() < (link + 1) * every - 4 {
            html.push_str(words[rng.usize(..words.len())]);
            html.push(' ');
        }
        html.push_str("</p>\n");
    }
    html.push_str("</body></html>\n");
    html.into_bytes()
}

/// The HTML files below a directory, in the order of their paths.
fn read(dir: &Path) -> Result<Vec<Page>> {
    let (mut dirs, mut files) = (vec![dir.to_owned()], Vec::new());
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|end| end == "html") {
                files.push(path);
            }
        }
    }
    files.sort();
    files.truncate(FILES_MAX);
    let page = |path: &PathBuf| {
        let body = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        page(&path.strip_prefix(dir)?.to_string_lossy(), body)
    };
    files.iter().map(page).collect()
}
