//! A site made of the files below directories, served from memory on loopback: as they are, and with gzip.
//!
//! Everything is read, and compressed where servers do that, before the first crawl, so that the server takes the
//! crawlers' cores for little more than the sockets. The first page links to the start of each directory.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use libdeflater::{CompressionLvl, Compressor};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Types by the ends of names, and whether servers compress them.
const TYPES: [(&str, &str, bool); 10] = [
    (".html", "text/html", true),
    (".css", "text/css", true),
    (".js", "text/javascript", true),
    (".svg", "image/svg+xml", true),
    (".txt", "text/plain", true),
    (".json", "application/json", true),
    (".png", "image/png", false),
    (".gif", "image/gif", false),
    (".jpg", "image/jpeg", false),
    (".woff2", "font/woff2", false),
];
const UNKNOWN: (&str, bool) = ("application/octet-stream", false);
/// The level that nginx has unless it is told another is 1, that of files compressed beforehand 6 or 9.
const LEVEL: i32 = 6;
/// Shorter files are not worth it, for nginx.
const GZIP_BYTES_MIN: usize = 20;
/// File to which a directory leads.
const INDEX: &str = "index.html";

/// A file that is served.
struct File {
    content_type: &'static str,
    plain: Bytes,
    gzip: Option<Bytes>,
}

/// The files by their paths.
type Files = HashMap<String, File>;

/// Responses with a body so far, and those of them in gzip.
#[derive(Debug, Default)]
struct Counters {
    all: AtomicU64,
    gzip: AtomicU64,
}

/// A server, which stops when it is dropped.
pub struct FileServer {
    plain: SocketAddr,
    gzip: SocketAddr,
    counters: Arc<Counters>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FileServer {
    /// Serves the files below `dirs`.
    pub fn start(dirs: &[PathBuf]) -> Result<FileServer> {
        let files = Arc::new(load(dirs)?);
        let counters = Arc::new(Counters::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bind = || runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let (plain, gzip) = (bind()?, bind()?);
        let addresses = (plain.local_addr()?, gzip.local_addr()?);
        let (stop, stopped) = oneshot::channel();
        let counted = counters.clone();
        let serve = move || {
            runtime.block_on(async {
                tokio::spawn(listen(plain, files.clone(), false, counted.clone()));
                tokio::spawn(listen(gzip, files, true, counted));
                // the sender is dropped or says so: either way the server ends
                let _ = stopped.await;
            });
        };
        let thread = std::thread::Builder::new().name("files".to_owned()).spawn(serve)?;
        Ok(FileServer { plain: addresses.0, gzip: addresses.1, counters, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the first URL of the site.
    pub fn root(&self, is_gzip: bool) -> String {
        format!("http://{}/", if is_gzip { self.gzip } else { self.plain })
    }

    /// Returns the share of the responses since the last call that were in gzip.
    pub fn take_gzip_share(&self) -> f64 {
        let all = self.counters.all.swap(0, Ordering::Relaxed);
        self.counters.gzip.swap(0, Ordering::Relaxed) as f64 / all.max(1) as f64
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        // a thread that is gone already has nobody to be told
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The files below `dirs`, and the page that leads to them.
fn load(dirs: &[PathBuf]) -> Result<Files> {
    let mut files = Files::new();
    let mut first = "<!DOCTYPE html><title>Documentation</title>\n".to_owned();
    let mut compressor = Compressor::new(CompressionLvl::new(LEVEL).unwrap_or_default());
    for (number, dir) in dirs.iter().enumerate() {
        let root = fs::canonicalize(dir).with_context(|| format!("cannot find {}", dir.display()))?;
        let mut left = vec![root.clone()];
        while let Some(next) = left.pop() {
            for entry in fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))? {
                let path = entry?.path();
                // through links; what a broken one names is not there
                let Ok(kind) = fs::metadata(&path) else { continue };
                if kind.is_dir() {
                    left.push(path);
                } else {
                    let name = path.strip_prefix(&root)?.to_string_lossy().into_owned();
                    files.insert(format!("/{number}/{name}"), file(&path, &mut compressor)?);
                }
            }
        }
        first.push_str(&format!("<p><a href=\"/{number}/{INDEX}\">{number}</a>\n"));
    }
    ensure!(!files.is_empty(), "there are no files");
    let text = |content_type, text: String| File { content_type, plain: Bytes::from(text), gzip: None };
    files.insert("/".to_owned(), text("text/html", first));
    // not all crawlers take its absence for a permit
    files.insert("/robots.txt".to_owned(), text("text/plain", "User-agent: *\nDisallow:\n".to_owned()));
    Ok(files)
}

fn file(path: &Path, compressor: &mut Compressor) -> Result<File> {
    let plain = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.to_string_lossy();
    let known = TYPES.iter().find(|(end, ..)| name.ends_with(end));
    let (content_type, is_compressed) = known.map_or(UNKNOWN, |(_, content_type, is_text)| (content_type, *is_text));
    let gzip = (is_compressed && plain.len() >= GZIP_BYTES_MIN).then(|| {
        let mut out = vec![0; compressor.gzip_compress_bound(plain.len())];
        let length = compressor.gzip_compress(&plain, &mut out).expect("there is room for the longest result");
        Bytes::copy_from_slice(&out[..length])
    });
    Ok(File { content_type, plain: Bytes::from(plain), gzip })
}

async fn listen(listener: TcpListener, files: Arc<Files>, is_gzip: bool, counters: Arc<Counters>) {
    while let Ok((stream, _)) = listener.accept().await {
        // small answers must not wait for acknowledgements; a socket that refuses is closed already
        let _ = stream.set_nodelay(true);
        let (files, counters) = (files.clone(), counters.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let response = respond(&files, is_gzip, &counters, &request);
                async move { Ok::<_, Infallible>(response) }
            });
            // a connection that the client breaks is no fault
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn respond(files: &Files, is_gzip: bool, counters: &Counters, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let path = plain_path(request.uri().path());
    let found = files.get(&path).or_else(|| files.get(&format!("{}/{INDEX}", path.strip_suffix('/')?)));
    let Some(file) = found else {
        let mut response = Response::new(Full::new(Bytes::from_static(b"not here\n")));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let accepts = request.headers().get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes_gzip = is_gzip && accepts.is_some_and(|codings| codings.contains("gzip"));
    let gzip = file.gzip.as_ref().filter(|_| takes_gzip);
    counters.all.fetch_add(1, Ordering::Relaxed);
    counters.gzip.fetch_add(u64::from(gzip.is_some()), Ordering::Relaxed);
    let mut response = Response::new(Full::new(gzip.unwrap_or(&file.plain).clone()));
    let headers = response.headers_mut();
    headers.insert(header::SERVER, HeaderValue::from_static("files"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.insert(header::LAST_MODIFIED, HeaderValue::from_static("Sat, 21 Nov 2026 12:00:00 GMT"));
    if gzip.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    response
}

/// The path without percent-encoding.
fn plain_path(path: &str) -> String {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
