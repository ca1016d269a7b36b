//! The HTTP client: reqwest with everything off that a crawl decides itself.

use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, RootCertStore};

use super::resolver::GuardedResolver;
use super::{FetchOptions, StartError};

/// An idle connection is closed after this time: a crawl of many hosts must not run out of sockets.
const IDLE: Duration = Duration::from_secs(20);

/// A client that follows no redirect, decodes nothing, repeats nothing, keeps no cookies, asks only `resolver` for
/// addresses and verifies certificates.
pub(super) fn build(options: &FetchOptions, resolver: GuardedResolver) -> Result<reqwest::Client, StartError> {
    let mut builder = reqwest::Client::builder()
        .user_agent(&options.user_agent)
        .tls_backend_preconfigured(tls(options.http2)?)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .connect_timeout(options.timeout_connect)
        .pool_max_idle_per_host(options.connections_per_host)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
        .dns_resolver(Arc::new(resolver));
    if !options.http2 {
        builder = builder.http1_only();
    }
    if let Some(proxy) = &options.proxy {
        builder = builder.proxy(reqwest::Proxy::all(proxy)?);
    }
    Ok(builder.build()?)
}

fn tls(http2: bool) -> Result<ClientConfig, rustls::Error> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = if http2 { vec![b"h2".to_vec(), b"http/1.1".to_vec()] } else { vec![b"http/1.1".to_vec()] };
    Ok(config)
}
