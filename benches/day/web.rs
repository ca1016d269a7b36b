//! The web: one listener for all addresses, TLS 1.3, answers after their host's latency, and a count of everything.
//!
//! The latency is in this server, not on the line: it comes before TLS' first flight, before each answer, and a tenth
//! of it before each answer of DNS. Connections are made without any, and packets are never lost.

use std::convert::Infallible;
use std::io::BufRead;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use bytes::Bytes;
use crawler::simweb::NameServer;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::HandshakeKind;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio_rustls::TlsAcceptor;

use super::bodies::{Bodies, Linked, page_at};
use super::certificates::Certificates;
use super::hosts::{Host, HostNames};
use super::options::{Options, Scheme};

/// The rules of every host: realistic ones of 1 KB, without a delay and without a sitemap.
const ROBOTS: &[u8] = include_bytes!("robots.txt");
/// Connections that may wait to be taken; the kernel has a lower limit of its own.
const BACKLOG: u32 = 8_192;

/// Ports at which the web answers, and what its pages are like.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ready {
    pub port: u16,
    pub dns_port: u16,
    pub sent_mean: f64,
    pub decoded_mean: f64,
}

/// The number of things that the web has served.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Served {
    pub connections: u64,
    pub full_handshakes: u64,
    pub resumed_handshakes: u64,
    pub failed_handshakes: u64,
    pub dns_queries: u64,
    pub robots: u64,
    pub pages: u64,
    pub others: u64,
}

/// Counters of a web.
#[derive(Debug, Default)]
struct Counters {
    connections: AtomicU64,
    full: AtomicU64,
    resumed: AtomicU64,
    failed: AtomicU64,
    robots: AtomicU64,
    pages: AtomicU64,
    others: AtomicU64,
}

struct Web {
    bodies: Bodies,
    hosts: u32,
    pages_per_host: u32,
    acceptor: Option<TlsAcceptor>,
    counters: Counters,
}

/// Serves until standard input ends. Says on standard output when it is ready, and what it has served for each line
/// that it reads.
pub fn run(options: &Options, root: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(options, root))
}

async fn serve(options: &Options, root: &Path) -> Result<()> {
    let listener = listen()?;
    let port = listener.local_addr()?.port();
    let names = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let dns_port = names.local_addr()?.port();
    let queries = Arc::new(AtomicU64::new(0));
    let _names = NameServer::start(HostNames(options.hosts), queries.clone(), names);
    let web = Arc::new(Web::make(options, port, root)?);
    let Bodies { sent_mean, decoded_mean, .. } = web.bodies;
    tokio::spawn(accept(web.clone(), listener));
    println!("{}", serde_json::to_string(&Ready { port, dns_port, sent_mean, decoded_mean })?);
    tokio::task::spawn_blocking(move || {
        for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
            let served = web.counters.served(queries.load(Ordering::Relaxed));
            println!("{}", serde_json::to_string(&served).unwrap_or_default());
        }
    })
    .await?;
    Ok(())
}

fn listen() -> Result<TcpListener> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
    socket.listen(BACKLOG).context("cannot listen")
}

async fn accept(web: Arc<Web>, listener: TcpListener) {
    loop {
        // without a file for one more connection, those that are there go on
        let Ok((stream, _)) = listener.accept().await else { continue };
        let host = stream.local_addr().ok().and_then(|address| match address.ip() {
            IpAddr::V4(address) => Host::at(address),
            IpAddr::V6(_) => None,
        });
        if let Some(host) = host {
            tokio::spawn(web.clone().converse(host, stream));
        }
    }
}

impl Counters {
    fn served(&self, dns_queries: u64) -> Served {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Served {
            connections: of(&self.connections),
            full_handshakes: of(&self.full),
            resumed_handshakes: of(&self.resumed),
            failed_handshakes: of(&self.failed),
            dns_queries,
            robots: of(&self.robots),
            pages: of(&self.pages),
            others: of(&self.others),
        }
    }
}

impl Web {
    fn make(options: &Options, port: u16, root: &Path) -> Result<Web> {
        let acceptor = if options.scheme == Scheme::Https {
            let certificates = Certificates::make(options.authority)?;
            std::fs::write(root, certificates.root()).context("cannot write the root certificate")?;
            Some(TlsAcceptor::from(Arc::new(certificates.server(options.http2)?)))
        } else {
            None
        };
        let (hosts, pages_per_host) = (options.hosts, options.pages_per_host);
        let bodies = Bodies::make(options.sizes, &Linked::of(options, port));
        Ok(Web { bodies, hosts, pages_per_host, acceptor, counters: Counters::default() })
    }

    /// Speaks with a client of a host until one of them ends the connection.
    async fn converse(self: Arc<Self>, host: Host, stream: TcpStream) {
        self.counters.connections.fetch_add(1, Ordering::Relaxed);
        let _ = stream.set_nodelay(true);
        let Some(acceptor) = self.acceptor.clone() else { return self.answer(host, stream, false).await };
        tokio::time::sleep(host.latency()).await;
        let Ok(stream) = acceptor.accept(stream).await else {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let (_, session) = stream.get_ref();
        let resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
        let counter = if resumed { &self.counters.resumed } else { &self.counters.full };
        counter.fetch_add(1, Ordering::Relaxed);
        let http2 = session.alpn_protocol() == Some(b"h2");
        self.answer(host, stream, http2).await;
    }

    /// Answers the requests of a connection.
    async fn answer(self: Arc<Self>, host: Host, stream: impl AsyncRead + AsyncWrite + Unpin, http2: bool) {
        let service = service_fn(move |request: Request<Incoming>| {
            let web = self.clone();
            async move {
                tokio::time::sleep(host.latency()).await;
                Ok::<_, Infallible>(web.response(host, request.uri().path()))
            }
        });
        let io = TokioIo::new(stream);
        // clients end connections as they like
        if http2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            let _ = builder.timer(TokioTimer::new()).serve_connection(io, service).await;
        } else {
            let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(io, service).await;
        }
    }

    fn response(&self, host: Host, path: &str) -> Response<Full<Bytes>> {
        let page = page_at(path).filter(|&page| page < self.pages_per_host && host.0 < self.hosts);
        if let Some(page) = page {
            self.counters.pages.fetch_add(1, Ordering::Relaxed);
            return page_response(self.bodies.of(host.0 * self.pages_per_host + page));
        }
        let is_robots = path == "/robots.txt";
        let counter = if is_robots { &self.counters.robots } else { &self.counters.others };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut response = Response::new(Full::new(Bytes::from_static(if is_robots { ROBOTS } else { b"" })));
        if !is_robots {
            *response.status_mut() = StatusCode::NOT_FOUND;
        }
        response.headers_mut().insert("content-type", "text/plain; charset=utf-8".parse().expect("a header"));
        response
    }
}

/// A page with the fields that servers send with one.
fn page_response(body: Vec<u8>) -> Response<Full<Bytes>> {
    Response::builder()
        .header("content-type", "text/html; charset=utf-8")
        .header("content-encoding", "gzip")
        .header("server", "nginx")
        .header("vary", "Accept-Encoding")
        .header("cache-control", "max-age=0, private, must-revalidate")
        .header("strict-transport-security", "max-age=31536000; includeSubDomains")
        .header("x-content-type-options", "nosniff")
        .header("x-frame-options", "SAMEORIGIN")
        .header("referrer-policy", "strict-origin-when-cross-origin")
        .body(Full::new(Bytes::from(body)))
        .expect("the fields are right")
}
