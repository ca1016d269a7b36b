//! Requests by proxies: clients for each proxy, kept as long as there is room, and what its failures mean.
//!
//! A client has one proxy or none, so the connections of one proxy never carry what another one is to carry, and
//! neither do resumed sessions of TLS. Clients are made when a proxy is first needed; of [`PROXIES_MAX`] proxies they
//! are kept, and the one that was not needed for longest goes, with its idle connections, when there are more. A crawl
//! without proxies makes none, and asks for none.
//!
//! The libraries distinguish a proxy's failure from a server's in words only: of a proxy for SOCKS they hide even the
//! error of the connection. The words are theirs; the tests of proxies hold them.

use std::sync::{Arc, Mutex, PoisonError};

use super::client::Clients;
use super::failure::{cause_of, describe};
use super::resolver::GuardedResolver;
use super::{FetchOptions, StartError};
use crate::outcome::{Cause, Failure};
use crate::web::proxy::ProxyUrl;

/// Proxies whose clients are kept: an idle client is some ten kilobytes.
const PROXIES_MAX: usize = 64;

/// Words of the libraries about a proxy that wants another user or password.
const CREDENTIALS: [&str; 4] = [
    "proxy authorization required",
    "credentials not accepted",
    "does not support user/pass authentication",
    "implements authentication incorrectly",
];
/// Their words about one that cannot be connected to, or does not keep to its protocol.
const SILENT: [&str; 5] = [
    "failed to create underlying connection",
    "io error during SOCKS handshake",
    "failed parsing server response",
    "unexpected end of file",
    "io error establishing tunnel",
];
/// Their first words when they report what a working proxy said.
const SAID: [&str; 2] = ["SOCKS error: ", "tunnel error: "];

/// The clients of a crawl.
pub(super) struct ClientPool {
    direct: Arc<Clients>,
    resolver: GuardedResolver,
    /// The one that was needed last is the last.
    by_proxy: Mutex<Vec<(ProxyUrl, Arc<Clients>)>>,
}

impl ClientPool {
    /// The clients without a proxy, and with the usual one, so that faults of them are reported at the start.
    pub(super) fn new(options: &FetchOptions, resolver: &GuardedResolver) -> Result<Self, StartError> {
        let direct = Arc::new(Clients::build(options, resolver, None)?);
        let pool = ClientPool { direct, resolver: resolver.clone(), by_proxy: Mutex::default() };
        pool.of(options, options.usual.proxy.as_ref())?;
        Ok(pool)
    }

    /// The clients for requests by `proxy`.
    pub(super) fn of(&self, options: &FetchOptions, proxy: Option<&ProxyUrl>) -> Result<Arc<Clients>, StartError> {
        let Some(proxy) = proxy else { return Ok(self.direct.clone()) };
        let mut kept = self.by_proxy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(of, _)| of == proxy) {
            kept[at..].rotate_left(1);
        } else {
            let clients = Arc::new(Clients::build(options, &self.resolver, Some(proxy))?);
            if kept.len() >= PROXIES_MAX {
                kept.remove(0);
            }
            kept.push((proxy.clone(), clients));
        }
        Ok(kept.last().expect("it was just put there").1.clone())
    }
}

/// Returns the meaning of a failed request by `proxy` to a server, one with TLS or without.
pub(super) fn cause_by(proxy: &ProxyUrl, is_https: bool, error: &reqwest::Error) -> Cause {
    let (cause, said) = (cause_of(error), describe(error));
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    // a plain request goes to the proxy itself
    let is_of_proxy = proxy.is_http() && !is_https;
    match cause.failure() {
        _ if says(&CREDENTIALS) => Cause::ProxyCredentials,
        _ if says(&SILENT) => Cause::ProxySilent,
        // the name of the server was resolved before: this is the proxy's
        Failure::NoSuchHost | Failure::Dns | Failure::PrivateAddress => Cause::ProxySilent,
        Failure::Connect | Failure::Tls if is_of_proxy => Cause::ProxySilent,
        Failure::Connect if says(&SAID) => Cause::NotByProxy,
        _ => cause,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::web::address::AddressGuard;

    fn options() -> FetchOptions {
        FetchOptions {
            usual: Arc::default(),
            timeout_connect: Duration::ZERO,
            rate_min: 1,
            body_max: 1,
            spool_dir: std::env::temp_dir(),
            spool_max: 1,
            http2: false,
            connections_per_host: 1,
            idle_max: 1,
            roots: Vec::new(),
            nameservers: vec!["127.0.0.1:9".parse().unwrap()],
            dns_timeout: Duration::ZERO,
            ttl: (Duration::ZERO, Duration::ZERO),
            negative_ttl: Duration::ZERO,
            lease: Default::default(),
        }
    }

    #[test]
    fn clients_are_made_once_for_a_proxy_and_kept_while_there_is_room() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let options = options();
        let resolver = GuardedResolver::new(&options, AddressGuard::new(&[])).unwrap();
        let pool = ClientPool::new(&options, &resolver).unwrap();
        assert_eq!(pool.by_proxy.lock().unwrap().len(), 0, "none without a proxy");
        let of = |port: usize| {
            let proxy = ProxyUrl::parse(&format!("socks5://127.0.0.1:{port}")).unwrap();
            pool.of(&options, proxy.as_ref()).unwrap()
        };
        let first = of(1);
        for port in 2..PROXIES_MAX + 2 {
            assert!(Arc::ptr_eq(&first, &of(1)), "it is needed all the time");
            of(port);
        }
        assert_eq!(pool.by_proxy.lock().unwrap().len(), PROXIES_MAX);
        assert!(Arc::ptr_eq(&first, &of(1)));
        assert!(!pool.by_proxy.lock().unwrap().iter().any(|(proxy, _)| proxy.to_string().ends_with(":2")));
        let with_password = ProxyUrl::parse("socks5://me:x@127.0.0.1:1").unwrap();
        assert!(!Arc::ptr_eq(&first, &pool.of(&options, with_password.as_ref()).unwrap()), "another user's");
    }
}
