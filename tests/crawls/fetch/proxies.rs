//! Requests by proxies: what each kind is told, what of a failure is the proxy's, and that nothing of one reaches
//! another.

use std::sync::Arc;

use crawler::contract::RequestSettings;
use crawler::fetch::FetchOptions;
use crawler::outcome::{Cause, Failure};
use crawler::web::proxy::ProxyUrl;

use super::client::{Client, options, options_with, usual};
use super::http::{HttpServer, page};
use super::nameserver::{NameServer, found, nowhere};
use super::proxy::Proxy;
use super::tls::{Authority, Http2, TlsServer, params};

/// Settings of requests by `proxy`.
fn by(proxy: &str) -> Arc<RequestSettings> {
    usual(|settings| settings.proxy = ProxyUrl::parse(proxy).unwrap())
}

fn client_by(proxy: &str) -> Client {
    Client::start(FetchOptions { usual: by(proxy), ..options() })
}

/// Every kind of proxy, and what it is asked for to fetch `http://a.test:PORT/`, which is known to be at 127.0.0.1.
const KINDS: [(&str, &str); 3] =
    [("http", "GET http://a.test:PORT/"), ("socks5", "socks5 127.0.0.1:PORT"), ("socks5h", "socks5 a.test:PORT")];

#[test]
fn socks5_is_told_addresses_and_all_other_proxies_are_told_names() {
    let server = HttpServer::answering(page("", "there"));
    let port = server.address.port().to_string();
    for (scheme, asked) in KINDS {
        let proxy = Proxy::open(&[("a.test", "127.0.0.1")]);
        let client = client_by(&proxy.url(scheme, ""));
        let answer = client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap();
        assert_eq!((&*answer.body, answer.address), (&b"there"[..], None), "{scheme}: an address of nobody is told");
        assert_eq!(proxy.asked(), [asked.replace("PORT", &port)]);
    }
}

#[test]
fn servers_with_tls_are_reached_through_every_proxy_and_their_certificates_are_checked() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("a.test")), Http2::Works);
    let port = server.address.port();
    for (scheme, asked) in [("http", "connect a.test"), ("socks5", "socks5 127.0.0.1"), ("socks5h", "socks5 a.test")] {
        let proxy = Proxy::open(&[("a.test", "127.0.0.1"), ("b.test", "127.0.0.1")]);
        let client = Client::start(FetchOptions { usual: by(&proxy.url(scheme, "")), ..authority.trusted() });
        let answer = client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap();
        assert_eq!((&*answer.body, answer.address), (&b"two"[..], None), "{scheme}");
        assert_eq!(proxy.asked(), [format!("{asked}:{port}")]);
        let failed = client.get(&server.url("b.test"), &["127.0.0.1"]).unwrap_err();
        assert_eq!(failed.cause, Cause::CertificateName, "{scheme}: {}", failed.detail);
    }
}

#[test]
fn the_proxy_itself_may_be_behind_tls_and_have_a_name() {
    let authority = Authority::new();
    let server = TlsServer::start(authority.sign(&params("proxy.test")), Http2::NotOffered);
    let names = NameServer::start(|question| found(question, 300, &["127.0.0.1"]));
    let usual = || by(&server.url("proxy.test"));
    let trusting =
        FetchOptions { usual: usual(), nameservers: options_with([names.address]).nameservers, ..authority.trusted() };
    let answer = Client::start(trusting.clone()).get("http://a.test/", &["127.0.0.1"]).unwrap();
    assert_eq!(&*answer.body, b"one");
    let failed = Client::start(FetchOptions { usual: usual(), ..options_with([names.address]) })
        .get("http://a.test/", &["127.0.0.1"])
        .unwrap_err();
    assert_eq!(failed.cause, Cause::ProxySilent, "{}", failed.detail);
    // a name of a proxy passes the guard as that of a server does
    let failed = Client::start_allowing(trusting, &["127.0.0.7"]).get("http://a.test/", &["127.0.0.7"]).unwrap_err();
    assert_eq!(failed.cause, Cause::ProxySilent, "{}", failed.detail);
}

#[test]
fn s1_no_kind_of_proxy_hears_of_a_private_name_or_literal() {
    let proxy = Proxy::open(&[]);
    let names = NameServer::start(|question| found(question, 300, &["10.0.0.1"]));
    for (scheme, _) in KINDS {
        let options = FetchOptions { usual: by(&proxy.url(scheme, "")), ..options_with([names.address]) };
        let client = Client::start_allowing(options, &["127.0.0.5"]);
        let refused: [(&str, &[&str]); 4] = [
            ("http://inside.test/", &[]),
            ("https://known.test/", &["10.0.0.1"]),
            ("https://169.254.169.254/", &[]),
            ("http://[::ffff:10.0.0.1]/", &[]),
        ];
        for (url, addresses) in refused {
            let failed = client.get(url, addresses).unwrap_err();
            assert_eq!(failed.failure, Failure::PrivateAddress, "{scheme} {url}: {}", failed.detail);
        }
    }
    assert_eq!(proxy.asked(), Vec::<String>::new());
}

#[test]
fn socks5_is_told_the_address_that_was_checked_and_a_literal_one_as_it_is() {
    let server = HttpServer::answering(page("", "there"));
    let port = server.address.port();
    // the second word of the name servers would be another one
    let names = NameServer::start({
        let first = std::sync::atomic::AtomicBool::new(true);
        move |question| {
            let is_first =
                question.kind == super::nameserver::A && first.swap(false, std::sync::atomic::Ordering::SeqCst);
            found(question, 0, if is_first { &["127.0.0.1"] } else { &[] })
        }
    });
    let proxy = Proxy::open(&[]);
    let options = FetchOptions { usual: by(&proxy.url("socks5", "")), ..options_with([names.address]) };
    let client = Client::start(options);
    for url in [server.url("rebinding.test"), server.url("127.0.0.1")] {
        assert_eq!(client.get(&url, &[]).unwrap().status, 200, "{url}");
    }
    assert_eq!(client.get("http://[::1]:1/", &[]).unwrap_err().cause, Cause::NotByProxy);
    assert_eq!(
        proxy.asked(),
        [&format!("socks5 127.0.0.1:{port}"), &*format!("socks5 127.0.0.1:{port}"), "socks5 ::1:1"]
    );
}

#[test]
fn users_and_passwords_are_said_to_the_proxy_alone() {
    let server = HttpServer::answering(page("", "there"));
    let proxy = Proxy::start(Some(("me@here", "p: ä/%")), &[("a.test", "127.0.0.1")]);
    let right = "me%40here:p%3A%20%C3%A4%2F%25";
    for (scheme, _) in KINDS {
        let answer = client_by(&proxy.url(scheme, right)).get(&server.url("a.test"), &["127.0.0.1"]).unwrap();
        assert_eq!(&*answer.body, b"there", "{scheme}");
        assert!(!String::from_utf8_lossy(&answer.request).to_lowercase().contains("proxy"), "{scheme}");
        for wrong in ["me%40here:other", "me%40here", ""] {
            let failed = client_by(&proxy.url(scheme, wrong)).get(&server.url("a.test"), &["127.0.0.1"]).unwrap_err();
            assert_eq!(failed.cause, Cause::ProxyCredentials, "{scheme} {wrong}: {}", failed.detail);
            assert!(failed.detail.contains(&format!("{scheme}://{}", proxy.address)), "{}", failed.detail);
            assert!(!failed.detail.contains("other") && !failed.detail.contains("me%40"), "{}", failed.detail);
            let tunnelled = client_by(&proxy.url(scheme, wrong)).get("https://a.test:1/", &["127.0.0.1"]).unwrap_err();
            assert_eq!(tunnelled.cause, Cause::ProxyCredentials, "{scheme} {wrong}: {}", tunnelled.detail);
        }
    }
    assert!(server.requests().iter().all(|(_, head)| !head.to_lowercase().contains("proxy")));
    assert_eq!(server.requests().len(), KINDS.len());
}

#[test]
fn a_proxy_that_does_not_work_is_told_from_a_server_that_cannot_be_reached() {
    let proxy = Proxy::open(&[]);
    let hanging_up = HttpServer::start("127.0.0.1", |_| ());
    let other = HttpServer::start("127.0.0.1", |connection| {
        connection.send("220 mail.test ESMTP\r\n");
    });
    let dead = nowhere();
    for (scheme, _) in KINDS {
        let cause = |proxy: std::net::SocketAddr, url: &str| {
            let failed = client_by(&format!("{scheme}://{proxy}")).get(url, &["127.0.0.1"]).unwrap_err();
            (failed.cause, failed.detail)
        };
        for url in ["http://a.test:1/", "https://a.test:1/"] {
            let (said, detail) = cause(dead, url);
            assert_eq!(said, Cause::ProxySilent, "{scheme} {url}: {detail}");
            if scheme == "http" && url.starts_with("http:") {
                // the proxy is the server that is asked, and its answers cannot be told from those of one
                continue;
            }
            for no_proxy in [hanging_up.address, other.address] {
                let (said, detail) = cause(no_proxy, url);
                let by_proxy = [Failure::Proxy, Failure::Connect].contains(&said.failure());
                assert!(by_proxy && detail.contains("by the proxy"), "{scheme} {url}: {said}: {detail}");
            }
            let (said, detail) = cause(proxy.address, url);
            assert_eq!(said, Cause::NotByProxy, "{scheme} {url}: {detail}");
        }
    }
}
