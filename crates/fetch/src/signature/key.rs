//! Private keys: made, kept in a file that only its owner may read, and used.
//!
//! The file is PKCS#8 in PEM, the form in which other tools read and write keys too (`openssl genpkey -algorithm
//! ed25519`). It is refused where group or others may read it: a key that others have is no proof of anything.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use data_encoding::BASE64;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;

use super::jwk::Jwk;

/// The bytes before the 32 bytes of an Ed25519 key in PKCS#8 (RFC 8410, section 7): version 0, no public key, which is
/// what every reader takes.
const PKCS8_START: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
const SEED_BYTES: usize = 32;
const KIND: &str = "Ed25519";
/// A key in PEM with all that may come before it is much shorter.
const FILE_BYTES_MAX: u64 = 16 << 10;
/// Permissions of a file of a key: its owner may read and write it.
const OWNER_ONLY: u32 = 0o600;
const ANYBODY_ELSE: u32 = 0o077;

/// Reason for which there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the private key {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The operating system's word.
        source: io::Error,
    },
    /// The file cannot be written; one that is there already stays as it is.
    #[error("cannot write the private key {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The operating system's word.
        source: io::Error,
    },
    /// Others may read it.
    #[error(
        "the private key {path} is open to others (mode {mode:04o}): chmod 600 it, or make a new one if they read it"
    )]
    Open {
        /// The file.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// There is something else in it.
    #[error("{path} has no {kind} key in PEM (PKCS#8, from -----BEGIN PRIVATE KEY----- on)")]
    Unknown {
        /// The file.
        path: String,
        /// The kind of key.
        kind: &'static str,
    },
    /// The system has no randomness.
    #[error("the operating system gives no random numbers: {0}")]
    Random(getrandom::Error),
}

/// A private Ed25519 key with its public half.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    jwk: Jwk,
}

impl SigningKey {
    /// Makes a key, and writes it into a file that was not there, for its owner alone.
    pub fn create(path: &Path) -> Result<SigningKey, KeyError> {
        let mut pkcs8 = [0; PKCS8_START.len() + SEED_BYTES];
        pkcs8[..PKCS8_START.len()].copy_from_slice(&PKCS8_START);
        getrandom::fill(&mut pkcs8[PKCS8_START.len()..]).map_err(KeyError::Random)?;
        let key = SigningKey::of_pkcs8(&pkcs8, path)?;
        write_file(path, &pkcs8)?;
        Ok(key)
    }

    /// The key in the file at `path`.
    pub fn load(path: &Path) -> Result<SigningKey, KeyError> {
        SigningKey::of_pkcs8(read_file(path, KIND)?.secret_pkcs8_der(), path)
    }

    fn of_pkcs8(pkcs8: &[u8], path: &Path) -> Result<SigningKey, KeyError> {
        let unknown = |_| KeyError::Unknown { path: path.display().to_string(), kind: KIND };
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(unknown)?;
        let jwk = Jwk::of_public_key(pair.public_key().as_ref());
        Ok(SigningKey { pair, jwk })
    }

    /// Its public half.
    pub fn jwk(&self) -> &Jwk {
        &self.jwk
    }

    /// Returns the identifier of the key for others.
    pub fn thumbprint(&self) -> &str {
        &self.jwk.kid
    }

    /// The signature of `text`, in Base64.
    pub fn sign(&self, text: &str) -> String {
        BASE64.encode(self.pair.sign(text.as_bytes()).as_ref())
    }
}

/// Writes a key in PKCS#8 into a file that was not there, for its owner alone.
pub fn write_file(path: &Path, pkcs8: &[u8]) -> Result<(), KeyError> {
    let text = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", BASE64.encode(pkcs8));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        File::open(path.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|source| KeyError::Write { path: path.display().to_string(), source })
}

/// Reads the file of a key of this kind, which only its owner may read.
pub fn read_file(path: &Path, kind: &'static str) -> Result<PrivatePkcs8KeyDer<'static>, KeyError> {
    let name = || path.display().to_string();
    let read = || -> io::Result<(u32, Vec<u8>)> {
        let file = File::open(path)?;
        let mode = file.metadata()?.mode() & 0o7777;
        let mut text = Vec::new();
        if mode & ANYBODY_ELSE == 0 {
            file.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
        }
        Ok((mode, text))
    };
    let (mode, text) = read().map_err(|source| KeyError::Read { path: name(), source })?;
    if mode & ANYBODY_ELSE != 0 {
        return Err(KeyError::Open { path: name(), mode });
    }
    // what the parser says of a wrong line has the line
    PrivatePkcs8KeyDer::from_pem_slice(&text).map_err(|_| KeyError::Unknown { path: name(), kind })
}

/// The private half is in no log and no message of a fault.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.jwk.kid)
    }
}

/// Two are the same if others cannot distinguish them.
impl PartialEq for SigningKey {
    fn eq(&self, other: &SigningKey) -> bool {
        self.jwk.kid == other.jwk.kid
    }
}
