//! Certificates that do not hold, and servers that choose HTTP/2 and cannot speak it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crawler::contract::Response;
use crawler::fetch::FetchOptions;
use crawler::outcome::{Cause, Failure};
use crawler::signature::{AgentForm, Component, KeyDirectory, Signer, SignerOptions, SigningKey, SystemNonces};
use crawler::warc::HttpVersion;
use h2::Reason;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::client::{Client, options, usual};
use super::crawl::Plan;
use super::http::{HttpServer, page};
use super::nameserver::{NameServer, found};
use crate::signed::server::Asked;
use crate::signed::verify::Keys;
use crate::site::wait_for;

/// An authority that signs for the tests.
pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn root(&self) -> CertificateDer<'static> {
        self.0.as_ref().der().clone()
    }

    /// Its certificate as a file has it.
    pub(super) fn pem(&self) -> String {
        self.0.as_ref().pem()
    }

    pub(super) fn sign(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
    }

    /// Options of a client that trusts it.
    pub(super) fn trusted(&self) -> FetchOptions {
        FetchOptions { roots: vec![self.root()], ..options() }
    }
}

pub(super) type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

pub(super) fn params(host: &str) -> CertificateParams {
    CertificateParams::new(vec![host.to_owned()]).unwrap()
}

/// Behaviours of a server once HTTP/2 was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Http2 {
    NotOffered,
    Works,
    ResetsStreams(Reason),
    GoesAway(Reason),
    SpeaksHttp1,
    Closes,
    /// Answers the first request of each connection, and this to the next one.
    SecondIs(Second),
    /// Leaves the first connection without an answer, and closes it when it has two requests; answers on all others.
    FirstIsForOne,
}

/// Ends of the second request over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    Refused,
    /// The stream is beyond the last one that is processed.
    GoneAway,
    /// The connection is closed without a word.
    Closed,
}

/// Requests that came over HTTP/2 that is spoken by hand.
type Arrived = Arc<AtomicUsize>;

/// A TLS server that notes the protocol of every connection.
pub(super) struct TlsServer {
    pub(super) address: SocketAddr,
    protocols: Arc<Mutex<Vec<&'static str>>>,
    /// Requests over HTTP/2.
    asked: Arc<Mutex<Vec<Asked>>>,
    arrived: Arrived,
    _runtime: tokio::runtime::Runtime,
}

impl TlsServer {
    pub(super) fn start((certificate, key): Identity, http2: Http2) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if http2 == Http2::NotOffered {
            config.alpn_protocols.remove(0);
        }
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let protocols = Arc::new(Mutex::new(Vec::new()));
        let log = protocols.clone();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let asking = asked.clone();
        let arrived = Arrived::default();
        let arriving = arrived.clone();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, log, asking) = (acceptor.clone(), log.clone(), asking.clone());
                let arriving = arriving.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                        let connections = {
                            let mut log = log.lock().unwrap();
                            log.push("h2");
                            log.len()
                        };
                        let by_hand = match http2 {
                            Http2::SecondIs(second) => Some(ByHand { answers_first: true, second, arriving }),
                            Http2::FirstIsForOne => {
                                Some(ByHand { answers_first: connections > 1, second: Second::Closed, arriving })
                            }
                            _ => None,
                        };
                        match by_hand {
                            Some(by_hand) => drop(by_hand.serve(stream).await),
                            None => over_http2(stream, http2, &asking).await,
                        }
                    } else {
                        log.lock().unwrap().push("http/1.1");
                        over_http1(stream).await;
                    }
                });
            }
        });
        TlsServer { address, protocols, asked, arrived, _runtime: runtime }
    }

    pub(super) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/", self.address.port())
    }

    pub(super) fn protocols(&self) -> Vec<&'static str> {
        self.protocols.lock().unwrap().clone()
    }
}

async fn over_http1(mut stream: TlsStream<TcpStream>) {
    let mut head = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        head.push(byte);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            stream.write_all(page("", "one").as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
    }
}

async fn over_http2(mut stream: TlsStream<TcpStream>, http2: Http2, asked: &Mutex<Vec<Asked>>) {
    if http2 == Http2::SpeaksHttp1 {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        return;
    }
    if http2 == Http2::Closes {
        let _ = stream.read_u8().await;
        return;
    }
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        asked.lock().unwrap().push(as_asked(&request));
        match http2 {
            Http2::ResetsStreams(reason) => respond.send_reset(reason),
            Http2::GoesAway(reason) => connection.abrupt_shutdown(reason),
            _ => {
                let mut body = respond.send_response(hyper::Response::new(()), false).unwrap();
                body.send_data(bytes::Bytes::from_static(b"two"), true).unwrap();
            }
        }
    }
}

/// HTTP/2 frame by frame (RFC 9113), as no library would let a server speak it.
struct ByHand {
    answers_first: bool,
    second: Second,
    arriving: Arrived,
}

impl ByHand {
    async fn serve(self, mut stream: TlsStream<TcpStream>) -> std::io::Result<()> {
        const DATA: u8 = 0;
        const HEADERS: u8 = 1;
        const RST_STREAM: u8 = 3;
        const SETTINGS: u8 = 4;
        const GOAWAY: u8 = 7;
        let frame = |kind: u8, flags: u8, of: u32, payload: &[u8]| {
            let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
            [&length[1..], &[kind, flags], &of.to_be_bytes(), payload].concat()
        };
        stream.read_exact(&mut [0; 24]).await?;
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await?;
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            stream.read_exact(&mut payload).await?;
            let of = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            self.arriving.fetch_add(usize::from(head[3] == HEADERS), Ordering::Relaxed);
            let answer = match (head[3], of) {
                (SETTINGS, _) if head[4] & 1 == 0 => frame(SETTINGS, 1, 0, &[]),
                (HEADERS, 1) if self.answers_first => {
                    let status = frame(HEADERS, 4, of, &[0x88]);
                    [status, frame(DATA, 1, of, b"two")].concat()
                }
                (HEADERS, 3..) => match self.second {
                    Second::Refused => frame(RST_STREAM, 0, of, &[0, 0, 0, 7]),
                    Second::GoneAway => frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]),
                    Second::Closed => return Ok(()),
                },
                _ => continue,
            };
            stream.write_all(&answer).await?;
        }
    }
}

fn as_asked(request: &hyper::Request<h2::RecvStream>) -> Asked {
    let field = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        (name.as_str().to_owned(), value.to_str().unwrap().to_owned())
    };
    Asked {
        host: 1,
        method: request.method().to_string(),
        path: request.uri().path_and_query().unwrap().to_string(),
        authority: request.uri().authority().unwrap().to_string(),
        fields: request.headers().iter().map(field).collect(),
    }
}

#[test]
fn s20_certificates_that_do_not_hold_are_refused() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let client = Client::start(authority.trusted());
    let expired = {
        let mut params = params("a.test");
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        authority.sign(&params)
    };
    let self_signed = {
        let key = KeyPair::generate().unwrap();
        let certificate = params("a.test").self_signed(&key).unwrap();
        (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
    };
    let refused = [
        ("expired", expired, "certificate expired"),
        ("of another host", authority.sign(&params("b.test")), "certificate of another name"),
        ("signed by itself", self_signed, "TLS failed"),
        ("signed by a stranger of the same name", stranger.sign(&params("a.test")), "TLS failed"),
    ];
    for (is, identity, n12_cause) in refused {
        let server = TlsServer::start(identity, Http2::Works);
        let failed = client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap_err();
        assert_eq!(failed.failure, Failure::Tls, "{is}: {}", failed.detail);
        assert_eq!(failed.cause.to_string(), n12_cause, "{is}: {}", failed.detail);
        assert!(server.protocols().len() <= 1, "{is}: {:?}", server.protocols());
    }
    let server = TlsServer::start(authority.sign(&params("a.test")), Http2::Works);
    assert_eq!(client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap().status, 200);
    // without the additional root the same certificate is a stranger's
    let failed = Client::start(options()).get(&server.url("a.test"), &["127.0.0.1"]).unwrap_err();
    assert_eq!(failed.failure, Failure::Tls);
    assert_eq!(failed.cause.to_string(), "certificate of an unknown authority");
}

#[test]
fn s20_a_crawl_stores_nothing_of_servers_whose_certificates_do_not_hold_and_tells_why() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("b.test")), Http2::Works);
    let names = NameServer::start(|question| found(question, 300, &["127.0.0.1"]));
    let seed = server.url("a.test");
    let plan = Plan { names: names.address.to_string(), extra: "[fetch]\nretries = 0\n", ..Plan::of(&[]) };
    let crawled = Plan { seeds: std::slice::from_ref(&seed), ..plan }.run();
    assert_eq!(crawled.code, Some(5), "{}", crawled.crawl_log);
    let robots = format!("{seed}robots.txt");
    assert!(crawled.lines(&robots).iter().all(|line| line.contains(" -2 ")), "{}", crawled.crawl_log);
    crawled.expect(&robots, "TLS%20failed");
    crawled.expect_skipped(&seed, "host given up");
}

#[test]
fn s8_a_handshake_that_drips_ends_with_the_time_for_connecting() {
    let server = HttpServer::start("127.0.0.1", |connection| {
        // a record of 16 KiB is announced
        connection.send(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc");
        while connection.send(b"\x00") {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let times = FetchOptions { timeout_connect: std::time::Duration::from_secs(1), ..options() };
    let url = server.url("a.test").replace("http:", "https:");
    let failed = Client::start(times).get(&url, &["127.0.0.1"]).unwrap_err();
    assert_eq!(failed.failure, Failure::Connect, "{}", failed.detail);
}

#[test]
fn what_is_no_tls_at_all_is_a_tls_failure() {
    let server = HttpServer::start("127.0.0.1", |connection| {
        connection.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        connection.wait_for_end();
    });
    let url = server.url("a.test").replace("http:", "https:");
    let failed = Client::start(options()).get(&url, &["127.0.0.1"]).unwrap_err();
    assert_eq!(failed.failure, Failure::Tls, "{}", failed.detail);
}

#[test]
fn http2_is_used_where_it_works_over_one_connection() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("a.test")), Http2::Works);
    let client = Client::start(authority.trusted());
    for _ in 0..3 {
        let response = client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap();
        assert_eq!((response.version, &*response.body), (HttpVersion::Http2, &b"two"[..]));
    }
    assert_eq!(server.protocols(), ["h2"]);
    let client = Client::start(FetchOptions { http2: false, ..authority.trusted() });
    let response = client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap();
    assert_eq!(response.version, HttpVersion::Http11);
}

#[test]
fn a_request_over_http2_is_signed_for_its_authority_and_archived_with_the_same_fields() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("a.test")), Http2::Works);
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::create(&dir.path().join("key.pem")).unwrap();
    let keys = Keys::of(&KeyDirectory { keys: vec![key.jwk().clone()] }.to_json());
    let signing = SignerOptions {
        agent: "https://bot.example".to_owned(),
        form: AgentForm::Dictionary,
        components: vec![Component::Authority, Component::Path],
        lifetime: Duration::from_secs(60),
    };
    let signer = Arc::new(Signer::new(Arc::new(key), signing, Arc::new(SystemNonces)));
    let usual = usual(|settings| settings.signer = Some(signer));
    let client = Client::start(FetchOptions { usual, ..authority.trusted() });
    let archived = |response: Response| String::from_utf8(response.request).unwrap();
    let heads = [0; 2].map(|_| archived(client.get(&server.url("A.test"), &["127.0.0.1"]).unwrap()));
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    for (asked, head) in asked.iter().zip(&heads) {
        keys.verify(asked);
        for name in ["signature-agent", "signature-input", "signature"] {
            assert!(head.contains(&format!("\r\n{name}: {}\r\n", asked.field(name).unwrap())), "{head}");
        }
    }
    assert_ne!(asked[0].field("signature"), asked[1].field("signature"));
}

#[test]
fn a_server_without_http2_is_asked_over_http1() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("a.test")), Http2::NotOffered);
    let client = Client::start(authority.trusted());
    assert_eq!(client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap().version, HttpVersion::Http11);
    assert_eq!(server.protocols(), ["http/1.1"]);
}

#[test]
fn a_server_that_refuses_http2_or_breaks_it_is_asked_over_http1_at_once_and_from_then_on() {
    let authority = Authority::new();
    let unusable = Http2::ResetsStreams(Reason::HTTP_1_1_REQUIRED);
    let server = TlsServer::start(authority.sign(&params("a.test")), unusable);
    let client = Client::start(authority.trusted());
    for _ in 0..3 {
        let response = client.get(&server.url("a.test"), &["127.0.0.1"]);
        let response = response.unwrap_or_else(|failed| panic!("{}", failed.detail));
        assert_eq!((response.version, &*response.body), (HttpVersion::Http11, &b"one"[..]));
    }
    assert_eq!(server.protocols(), ["h2", "http/1.1"]);
}

#[test]
fn a_server_that_chooses_http2_and_speaks_http1_is_asked_over_http1_after_two_at_most() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("a.test")), Http2::SpeaksHttp1);
    let client = Client::start(authority.trusted());
    // the end of the connection may overtake its reason
    if let Err(failed) = client.get(&server.url("a.test"), &["127.0.0.1"]) {
        assert_eq!(failed.failure, Failure::Disconnected, "{}", failed.detail);
    }
    for _ in 0..3 {
        let response = client.get(&server.url("a.test"), &["127.0.0.1"]);
        let response = response.unwrap_or_else(|failed| panic!("{}", failed.detail));
        assert_eq!((response.version, &*response.body), (HttpVersion::Http11, &b"one"[..]));
    }
    assert_eq!(server.protocols().last(), Some(&"http/1.1"));
}

#[test]
fn a_server_whose_http2_only_ends_early_gets_a_second_chance_before_http1() {
    let authority = Authority::new();
    for http2 in [Http2::ResetsStreams(Reason::INTERNAL_ERROR), Http2::Closes] {
        let server = TlsServer::start(authority.sign(&params("a.test")), http2);
        let client = Client::start(authority.trusted());
        let failed = client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap_err();
        assert_eq!(failed.failure, Failure::Disconnected, "{http2:?}: {}", failed.detail);
        assert!(!server.protocols().contains(&"http/1.1"), "one failure is retried by the frontier: {http2:?}");
        for _ in 0..3 {
            let response = client.get(&server.url("a.test"), &["127.0.0.1"]);
            let response = response.unwrap_or_else(|failed| panic!("{http2:?}: {}", failed.detail));
            assert_eq!(response.version, HttpVersion::Http11, "{http2:?}");
        }
        assert_eq!(server.protocols().last(), Some(&"http/1.1"), "{http2:?}");
    }
}

#[test]
fn a_server_that_goes_away_from_every_request_is_asked_over_http1_after_two_at_most() {
    let authority = Authority::new();
    for reason in [Reason::HTTP_1_1_REQUIRED, Reason::PROTOCOL_ERROR, Reason::NO_ERROR] {
        let server = TlsServer::start(authority.sign(&params("a.test")), Http2::GoesAway(reason));
        let client = Client::start(authority.trusted());
        // the end of the connection may overtake its reason
        if let Err(failed) = client.get(&server.url("a.test"), &["127.0.0.1"]) {
            assert_eq!(failed.failure, Failure::Disconnected, "{reason:?}: {}", failed.detail);
        }
        for _ in 0..3 {
            let response = client.get(&server.url("a.test"), &["127.0.0.1"]);
            let response = response.unwrap_or_else(|failed| panic!("{reason:?}: {}", failed.detail));
            assert_eq!(response.version, HttpVersion::Http11, "{reason:?}");
        }
    }
}

#[test]
fn a_request_that_a_kept_connection_of_http2_does_not_take_is_made_again_at_once() {
    let authority = Authority::new();
    for second in [Second::Refused, Second::GoneAway, Second::Closed] {
        let server = TlsServer::start(authority.sign(&params("a.test")), Http2::SecondIs(second));
        let client = Client::start(authority.trusted());
        for _ in 0..12 {
            let response = client.get(&server.url("a.test"), &["127.0.0.1"]);
            let response = response.unwrap_or_else(|failed| panic!("{second:?}: {}", failed.detail));
            assert_eq!((response.version, &*response.body), (HttpVersion::Http2, &b"two"[..]), "{second:?}");
        }
        assert!(!server.protocols().contains(&"http/1.1"), "{second:?}");
    }
}

#[test]
fn requests_that_bring_each_others_connection_down_are_made_again_at_once_over_their_own() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("a.test")), Http2::FirstIsForOne);
    let client = Client::start(FetchOptions { connections_per_host: 2, ..authority.trusted() });
    client.begin(&server.url("a.test"), &["127.0.0.1"]);
    wait_for("no request came", || server.arrived.load(Ordering::Relaxed) == 1);
    client.begin(&server.url("a.test"), &["127.0.0.1"]);
    for _ in 0..2 {
        let response = client.end().unwrap_or_else(|failed| panic!("{}", failed.detail));
        assert_eq!((response.version, &*response.body), (HttpVersion::Http2, &b"two"[..]));
    }
    assert_eq!(server.protocols(), ["h2"; 3]);
}

#[test]
fn a_stream_that_is_reset_for_another_reason_is_the_pages_failure() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("a.test")), Http2::ResetsStreams(Reason::INTERNAL_ERROR));
    let client = Client::start(authority.trusted());
    client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap_err();
    assert_eq!(server.asked.lock().unwrap().len(), 1);
}

#[test]
fn a_host_whose_name_tls_does_not_know_fails_with_that_cause() {
    let client = Client::start(options());
    let server = HttpServer::answering(page("", "one"));
    for host in ["a-.test", "-a.test", "www.-.test"] {
        let url = format!("https://{host}:{}/", server.address.port());
        let failed = client.get(&url, &["127.0.0.1"]).unwrap_err();
        assert_eq!((failed.failure, failed.cause), (Failure::Tls, Cause::TlsName), "{host}: {}", failed.detail);
        let url = server.url(host);
        assert_eq!(client.get(&url, &["127.0.0.1"]).unwrap().body, b"one", "{host} without TLS");
    }
}
