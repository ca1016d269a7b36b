//! TLS to etcd: whom this client believes, and what it shows of itself.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::options::{EtcdOptions, StartError};

/// The configuration for these options; HTTP/1.1 alone, which the gateway speaks.
pub(super) fn config(options: &EtcdOptions) -> Result<ClientConfig, StartError> {
    let roots = match &options.ca {
        None => RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() },
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate)?;
            }
            roots
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let mut config = match &options.certificate {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let private = PrivateKeyDer::from_pem_file(key).map_err(|e| fault(key, &e))?;
            builder.with_client_auth_cert(certificates(chain)?, private)?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StartError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(|e| fault(path, &e))?.collect();
    let certificates = certificates.map_err(|e| fault(path, &e))?;
    if certificates.is_empty() {
        return Err(fault(path, &"there is no certificate in PEM form in it"));
    }
    Ok(certificates)
}

fn fault(path: &Path, detail: &dyn std::fmt::Display) -> StartError {
    StartError::Certificate { path: path.to_owned(), detail: detail.to_string() }
}
