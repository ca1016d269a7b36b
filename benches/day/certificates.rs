//! A chain as the web has it: a root that the crawler trusts, an authority below it, and a certificate for each host.
//!
//! A host's certificate is signed at its first handshake. All have one key, since the crawler cannot know, and making
//! a hundred thousand keys would only take the web's time.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use clap::ValueEnum;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Keys of the authorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Authority {
    /// ECDSA on P-256.
    P256,
    /// ECDSA on P-384, as Let's Encrypt's authorities E5 to E9 have.
    P384,
}

impl Authority {
    fn key(self) -> Result<KeyPair> {
        let algorithm = match self {
            Authority::P256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Authority::P384 => &rcgen::PKCS_ECDSA_P384_SHA384,
        };
        KeyPair::generate_for(algorithm).context("cannot make a key")
    }
}

/// Certificates by name.
pub struct Certificates {
    root: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
    leaf: KeyPair,
    signer: Arc<dyn rustls::sign::SigningKey>,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").finish_non_exhaustive()
    }
}

impl Certificates {
    /// Makes the authorities.
    pub fn make(authority: Authority) -> Result<Self> {
        let root = CertifiedIssuer::self_signed(authority_params("Root of the day"), authority.key()?)?;
        let issuer = CertifiedIssuer::signed_by(authority_params("Authority of the day"), authority.key()?, &root)?;
        let leaf = Authority::P256.key()?;
        let private = PrivateKeyDer::try_from(leaf.serialize_der()).map_err(anyhow::Error::msg)?;
        let signer = ring::sign::any_ecdsa_type(&private)?;
        Ok(Certificates { root: root.pem(), issuer, leaf, signer, made: Mutex::default() })
    }

    /// The root's certificate, as `fetch.ca_file` takes it.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// TLS with these certificates, and with HTTP/2 where wanted.
    pub fn server(self, http2: bool) -> Result<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self));
        let protocols: &[&str] = if http2 { &["h2", "http/1.1"] } else { &["http/1.1"] };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Ok(config)
    }

    fn sign(&self, name: &str) -> Result<CertifiedKey> {
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let leaf: CertificateDer<'static> = params.signed_by(&self.leaf, &self.issuer)?.der().clone();
        Ok(CertifiedKey::new(vec![leaf, self.issuer.der().clone()], self.signer.clone()))
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = made.get(name) {
            return Some(key.clone());
        }
        let key = Arc::new(self.sign(name).ok()?);
        made.insert(name.to_owned(), key.clone());
        Some(key)
    }
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}
