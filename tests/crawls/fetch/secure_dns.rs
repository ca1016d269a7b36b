//! Name servers that are asked over TLS and over HTTPS, and addresses that are not asked for.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crawler::fetch::FetchOptions;
use crawler::outcome::Failure;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::client::{Client, options_with};
use super::crawl::Plan;
use super::http::{HttpServer, page};
use super::nameserver::{A, Message, NXDOMAIN, NameServer, Question, found, question};
use super::tls::{Authority, Identity, params};
use crate::site::{Crawl, RUSH};

/// A name server behind TLS; over HTTP/2 where it is so called.
struct SecureServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Tls,
    Https,
    /// TLS, and hangs up after each answer.
    TlsOnce,
}

/// 127.0.0.1 for every name but `none.test`.
fn answer(question: &Question) -> Vec<u8> {
    if question.name == "none.test" {
        return Message::to(question).code(NXDOMAIN).bytes();
    }
    found(question, 300, &["127.0.0.1"]).unwrap()
}

impl SecureServer {
    fn start((certificate, key): Identity, over: Over) -> SecureServer {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        if over == Over::Https {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, connections) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicUsize>::default());
        let (log, count) = (asked.clone(), connections.clone());
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, log, count) = (acceptor.clone(), log.clone(), count.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    count.fetch_add(1, Ordering::SeqCst);
                    match over {
                        Over::Https => over_https(stream, log).await,
                        over => drop(over_tls(stream, log, over == Over::TlsOnce).await),
                    }
                });
            }
        });
        SecureServer { address, asked, connections, _runtime: runtime }
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked.dedup();
        asked
    }
}

/// Notes `message`, and answers it.
fn answered(message: &[u8], log: &Mutex<Vec<String>>) -> Vec<u8> {
    let question = question(message, true);
    log.lock().unwrap().push(question.name.clone());
    answer(&question)
}

/// RFC 7858: messages with their length before them.
async fn over_tls(mut stream: TlsStream<TcpStream>, log: Arc<Mutex<Vec<String>>>, once: bool) -> std::io::Result<()> {
    loop {
        let mut message = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut message).await?;
        let reply = answered(&message, &log);
        stream.write_u16(u16::try_from(reply.len()).unwrap()).await?;
        stream.write_all(&reply).await?;
        stream.flush().await?;
        if once {
            return stream.shutdown().await;
        }
    }
}

/// RFC 8484: POST of a message.
async fn over_https(stream: TlsStream<TcpStream>, log: Arc<Mutex<Vec<String>>>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let log = log.clone();
        tokio::spawn(async move {
            let (head, mut body) = request.into_parts();
            let mut message = Vec::new();
            while let Some(Ok(bytes)) = body.data().await {
                let _ = body.flow_control().release_capacity(bytes.len());
                message.extend_from_slice(&bytes);
            }
            let kind = head.headers.get("content-type").and_then(|kind| kind.to_str().ok());
            let is_question = head.method == "POST" && head.uri.path() == "/asked/here";
            let response = hyper::Response::builder().header("content-type", "application/dns-message");
            if !is_question || kind != Some("application/dns-message") {
                let _ = respond.send_response(response.status(404).body(()).unwrap(), true);
                return;
            }
            let reply = answered(&message, &log);
            let mut body = respond.send_response(response.body(()).unwrap(), false).unwrap();
            let _ = body.send_data(reply.into(), true);
        });
    }
}

fn options(authority: &Authority, server: &str) -> FetchOptions {
    FetchOptions { nameservers: vec![server.parse().unwrap()], ..authority.trusted() }
}

#[test]
fn names_are_asked_for_over_tls_and_over_https_on_one_connection() {
    let authority = Authority::new();
    for (over, scheme, path) in [(Over::Tls, "tls", ""), (Over::Https, "https", "/asked/here")] {
        let server = SecureServer::start(authority.sign(&params("dns.test")), over);
        let client = Client::start(options(&authority, &format!("{scheme}://{}{path}#dns.test", server.address)));
        for _ in 0..3 {
            let (addresses, _) = client.resolve("a.test").unwrap();
            assert_eq!(addresses, [std::net::Ipv4Addr::LOCALHOST], "{scheme}");
        }
        assert_eq!(client.resolve("none.test").unwrap_err().failure, Failure::NoSuchHost, "{scheme}");
        assert_eq!(server.asked(), ["a.test", "none.test"], "{scheme}");
        let connections = server.connections.load(Ordering::SeqCst);
        assert!((1..=2).contains(&connections), "{scheme}: {connections}: two questions may be the first at once");
    }
}

#[test]
fn a_certificate_may_be_for_the_address_alone() {
    let authority = Authority::new();
    let server = SecureServer::start(authority.sign(&params("127.0.0.1")), Over::Tls);
    let client = Client::start(options(&authority, &format!("tls://{}", server.address)));
    assert!(client.resolve("a.test").is_ok());
}

#[test]
fn s20_a_name_server_whose_certificate_does_not_hold_is_asked_for_nothing() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (over, scheme) in [(Over::Tls, "tls"), (Over::Https, "https")] {
        for identity in [authority.sign(&params("other.test")), stranger.sign(&params("dns.test"))] {
            let server = SecureServer::start(identity, over);
            let client = Client::start(options(&authority, &format!("{scheme}://{}#dns.test", server.address)));
            assert_eq!(client.resolve("a.test").unwrap_err().failure, Failure::Dns, "{scheme}");
            assert_eq!(server.asked(), Vec::<String>::new(), "{scheme}");
        }
    }
}

#[test]
fn a_name_server_over_tls_that_hangs_up_is_connected_to_again() {
    let authority = Authority::new();
    let server = SecureServer::start(authority.sign(&params("dns.test")), Over::TlsOnce);
    let client = Client::start(options(&authority, &format!("tls://{}#dns.test", server.address)));
    // the answer of one family is enough
    for _ in 0..5 {
        let answer = client.resolve("a.test");
        assert!(answer.is_ok(), "{answer:?}");
    }
}

#[test]
fn the_next_server_is_asked_where_one_cannot_be_asked_over_tls() {
    let authority = Authority::new();
    let wrong = SecureServer::start(authority.sign(&params("other.test")), Over::Tls);
    let right = NameServer::start(|question| found(question, 300, &["127.0.0.1"]));
    let mut options = options(&authority, &format!("tls://{}#dns.test", wrong.address));
    options.nameservers.extend(options_with([right.address]).nameservers);
    let client = Client::start(options);
    assert!(client.resolve("a.test").is_ok());
    assert!(right.asked().iter().any(|question| question.kind == A));
}

#[test]
fn a_crawl_asks_over_tls_with_a_root_of_its_own_and_tells_once_of_a_certificate_that_does_not_hold() {
    let authority = Authority::new();
    let names = SecureServer::start(authority.sign(&params("dns.test")), Over::Https);
    let root = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(root.path(), authority.pem()).unwrap();
    let web = HttpServer::answering(page("content-type: text/html\r\n", "<html><title>t</title>"));
    let (seed, other) = (web.url("a.test"), web.url("b.test"));
    let seeds = [seed.clone(), other.clone()];
    let extra = format!("[fetch]\nca_file = \"{}\"\n", root.path().display());
    let names_at = format!("https://{}/asked/here#dns.test", names.address);
    let crawled = Plan { names: names_at.clone(), extra: &extra, ..Plan::of(&seeds) }.run();
    assert_eq!(crawled.code, Some(0), "{}", crawled.crawl_log);
    crawled.expect(&seed, " 200 ");
    crawled.expect(&other, " 200 ");
    assert_eq!(names.asked(), ["a.test", "b.test"]);
    // without the root nobody is asked, and the reason is reported
    let config = format!(
        "[network]\nallow = [\"127.0.0.1\"]\n[dns]\nnameservers = [\"{names_at}\"]\n[scope]\nmode = \"any\"\n\
         [politeness]\n{RUSH}linger = \"1s\"\ngive_up = \"1s\"\n"
    );
    let ended = Crawl::new(&seeds.join("\n"), &config).run(&[]);
    ended.expect(5, &["DNS failed"]);
    let told: Vec<_> = ended.said.lines().filter(|line| line.contains("cannot be asked")).collect();
    assert_eq!(told.len(), 1, "{}", ended.said);
    assert!(told[0].contains("#dns.test of dns.nameservers") && told[0].contains("fetch.ca_file"), "{}", told[0]);
}
