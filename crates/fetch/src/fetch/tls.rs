//! TLS to servers, proxies and name servers: certificates are checked, and nothing turns that off.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

use super::{FetchOptions, StartError, verified};

/// TLS that verifies certificates and offers these protocols.
pub(super) fn tls(options: &FetchOptions, alpn: &[&str]) -> Result<ClientConfig, StartError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in &options.roots {
        roots.add(certificate.clone()).map_err(StartError::Root)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(verified::provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Ok(config)
}
