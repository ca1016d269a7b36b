//! TLS for the hosts that a browser asks for: a certificate for each, signed when it is needed, and a bounded number of
//! them in memory. All have one key, which no file has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::NoServerSessionStorage;
use url::Host;

use super::authority::Authority;
use crate::clock::{Clock, Time};
use crate::crawl::CrawlError;

/// Hosts whose certificates are kept.
pub(super) const HOSTS_MAX: usize = 1_000;
/// A certificate is replaced after this time, long before it ends.
const KEPT_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The configurations, by host.
pub(super) struct Leaves {
    authority: Authority,
    key: KeyPair,
    provider: Arc<CryptoProvider>,
    clock: Box<dyn Clock>,
    hosts_max: usize,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    leaves: HashMap<String, Leaf>,
    /// Configurations that were asked for so far.
    asked: u64,
}

struct Leaf {
    config: Arc<ServerConfig>,
    made: Time,
    /// The number of the question that asked for it last.
    asked: u64,
}

impl Leaves {
    /// Certificates signed by `authority`, of at most `hosts_max` hosts at a time.
    pub(super) fn new(authority: Authority, clock: Box<dyn Clock>, hosts_max: usize) -> Result<Leaves, CrawlError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(fault)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(Leaves { authority, key, provider, clock, hosts_max, made: Mutex::default() })
    }

    /// The authority.
    pub(super) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// TLS as the server of `host`, a name or an address. It fails if that is neither.
    pub(super) fn config(&self, host: &str) -> Result<Arc<ServerConfig>, CrawlError> {
        let name = name(host).ok_or_else(|| fault("this is not the name of a host"))?;
        let now = self.clock.now();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.asked += 1;
        let asked = made.asked;
        if let Some(leaf) = made.leaves.get_mut(&name).filter(|leaf| now.since(leaf.made) < KEPT_MAX) {
            leaf.asked = asked;
            return Ok(leaf.config.clone());
        }
        let config = Arc::new(self.signed(&name, now)?);
        made.leaves.insert(name, Leaf { config: config.clone(), made: now, asked });
        if made.leaves.len() > self.hosts_max {
            let oldest = made.leaves.iter().min_by_key(|(_, leaf)| leaf.asked).map(|(name, _)| name.clone());
            oldest.and_then(|name| made.leaves.remove(&name));
        }
        Ok(config)
    }

    fn signed(&self, name: &str, now: Time) -> Result<ServerConfig, CrawlError> {
        let leaf = self.authority.sign(name, &self.key, now)?;
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        // a browser may know the authority by its key alone, so it gets that certificate, too
        let chain = vec![leaf, self.authority.certificate().clone()];
        let config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(fault)?
            .with_no_client_auth();
        let mut config = config.with_single_cert(chain, key.into()).map_err(fault)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

/// The name of a host in ASCII, or its address, as a certificate has it.
fn name(host: &str) -> Option<String> {
    Some(match Host::parse(host).ok()? {
        Host::Domain(name) => name.strip_suffix('.').unwrap_or(&name).to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    })
}

fn fault(error: impl std::fmt::Display) -> CrawlError {
    CrawlError::Internal(format!("no TLS for this host: {error}"))
}
