//! The authority that signs for the archive: a key of this crawl directory alone, and certificates for single hosts.
//!
//! The key is made at the first use, for its owner alone from the start. It is the truth; the certificate is made of it
//! again where it is missing or damaged. The crawler itself never trusts it. It can sign for servers of TLS only, but
//! for any of them, as an archive may have any host: who has the key can pretend to be every site to a browser that
//! trusts it.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, SanType, SerialNumber, date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};

use crate::clock::Time;
use crate::crawl::CrawlError;
use crate::disk::Disk;
use crate::record::layout;
use crate::signature::{read_key_file, write_key_file};

/// The certificate, below [`layout::SERVE`].
const CERTIFICATE: &str = "authority.pem";
/// The private key.
const KEY: &str = "authority.key";
/// The kind of key, in messages.
const KIND: &str = "ECDSA P-256";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Days for which the authority is valid: ten years.
const DAYS: u32 = 3_650;
/// Days for which a host's certificate is valid, from yesterday on. Browsers take no more than 398.
const HOST_DAYS: u32 = 390;
/// Bytes of a serial number: no two certificates of an authority may have the same.
const SERIAL_BYTES: usize = 16;

/// An authority.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    path: PathBuf,
}

impl Authority {
    /// The authority of the crawl directory `dir`. It is made if there is none.
    pub(super) fn open(dir: &Path, now: Time) -> Result<Authority, CrawlError> {
        let dir = dir.join(layout::SERVE);
        match DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(CrawlError::Usage(format!("cannot make {}: {error}", dir.display())));
            }
            _ => {}
        }
        let key = key(&dir.join(KEY))?;
        let (path, params) = (dir.join(CERTIFICATE), params(&key, now));
        let certificate = match written(&path, &key) {
            Some(certificate) => certificate,
            None => {
                let made = params.self_signed(&key).map_err(fault)?;
                Disk::real().replace(&path, made.pem().as_bytes())?;
                made.der().clone()
            }
        };
        Ok(Authority { issuer: Issuer::new(params, key), certificate, path })
    }

    /// Its certificate.
    pub(super) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The file of its certificate.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The digest of its public key (SHA-256), in Base64: browsers name keys by it.
    pub(super) fn pin(&self) -> String {
        BASE64.encode(&Sha256::digest(self.issuer.key().subject_public_key_info()))
    }

    /// Signs a certificate for `host`, a name in ASCII or an address, whose server has `key`.
    pub(super) fn sign(&self, host: &str, key: &KeyPair, now: Time) -> Result<CertificateDer<'static>, CrawlError> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![match host.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(host.try_into().map_err(fault)?),
        }];
        params.distinguished_name = named("archived page");
        params.serial_number = Some(serial()?);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        limit(&mut params, now, HOST_DAYS);
        Ok(params.signed_by(key, &self.issuer).map_err(fault)?.der().clone())
    }
}

/// The key in the file at `path`. It is made if there is none.
fn key(path: &Path) -> Result<KeyPair, CrawlError> {
    let advice = |problem: String| {
        CrawlError::Usage(format!("{problem}; remove it to get another authority, which browsers do not know yet"))
    };
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(fault)?;
        write_key_file(path, key.serialized_der()).map_err(|error| CrawlError::Usage(error.to_string()))?;
        return Ok(key);
    }
    let pkcs8 = read_key_file(path, KIND).map_err(|error| advice(error.to_string()))?;
    KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, &PKCS_ECDSA_P256_SHA256)
        .map_err(|_| advice(format!("{} has no {KIND} key", path.display())))
}

/// The certificate in the file at `path`, if it is one of this key.
fn written(path: &Path, key: &KeyPair) -> Option<CertificateDer<'static>> {
    let certificate = CertificateDer::from_pem_file(path).ok()?;
    let public = key.subject_public_key_info();
    let has_key = certificate.windows(public.len()).any(|bytes| bytes == public);
    has_key.then_some(certificate)
}

/// The authority's own certificate. Its name is a function of the key, as issuing needs it.
fn params(key: &KeyPair, now: Time) -> CertificateParams {
    let digest = Sha256::digest(key.subject_public_key_info());
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&format!("crawler serve {}", HEXLOWER.encode(&digest[..4])));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    limit(&mut params, now, DAYS);
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn serial() -> Result<SerialNumber, CrawlError> {
    let mut bytes = [0; SERIAL_BYTES];
    getrandom::fill(&mut bytes).map_err(fault)?;
    // a positive number
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

/// Makes a certificate valid for `days` from yesterday on: a browser's clock may be behind ours.
fn limit(params: &mut CertificateParams, now: Time, days: u32) {
    let date = |time: Time| {
        let (year, month, day, ..) = time.civil();
        let small = |part: u64| u8::try_from(part).expect("it has two digits");
        date_time_ymd(i32::try_from(year).expect("a year of our time"), small(month), small(day))
    };
    (params.not_before, params.not_after) = (date(now - DAY), date(now - DAY + DAY * days));
}

fn fault(error: impl std::fmt::Display) -> CrawlError {
    CrawlError::Internal(format!("no certificate: {error}"))
}
