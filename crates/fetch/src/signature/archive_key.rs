//! Keys that sign archives: ECDSA on P-384 with SHA-256, the one form that readers of WACZ verify.
//!
//! The file is beside the one of the identity (`key.pem`, `key-p384.pem`), is made at first use, and is kept like it:
//! PKCS#8 in PEM, for its owner alone.

use std::fmt;
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use p384::ecdsa::signature::hazmat::PrehashSigner;
use p384::ecdsa::{Signature, SigningKey as EcdsaKey};
use sha2::{Digest, Sha256};

use super::key::{KeyError, read_file, write_file};

/// The bytes before the 48 bytes of a key in PKCS#8 (RFC 5208, RFC 5915) without its public half.
const PKCS8_START: [u8; 32] = [
    0x30, 0x4e, 0x02, 0x01, 0x00, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b,
    0x81, 0x04, 0x00, 0x22, 0x04, 0x37, 0x30, 0x35, 0x02, 0x01, 0x01, 0x04, 0x30,
];
/// The bytes before the 97 bytes of a public key in SubjectPublicKeyInfo (RFC 5480).
const SPKI_START: [u8; 23] = [
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00,
    0x22, 0x03, 0x62, 0x00,
];
const SCALAR_BYTES: usize = 48;
const KIND: &str = "P-384";

/// A private P-384 key.
pub struct ArchiveKey(EcdsaKey);

impl ArchiveKey {
    /// The key beside the identity's key at `identity`, which is made where there is none.
    pub fn beside(identity: &Path) -> Result<ArchiveKey, KeyError> {
        let path = place_beside(identity);
        if path.symlink_metadata().is_ok() { ArchiveKey::load(&path) } else { ArchiveKey::create(&path) }
    }

    fn create(path: &Path) -> Result<ArchiveKey, KeyError> {
        let mut pkcs8 = [0; PKCS8_START.len() + SCALAR_BYTES];
        pkcs8[..PKCS8_START.len()].copy_from_slice(&PKCS8_START);
        // nearly every number is a key
        let key = loop {
            getrandom::fill(&mut pkcs8[PKCS8_START.len()..]).map_err(KeyError::Random)?;
            if let Ok(key) = EcdsaKey::from_slice(&pkcs8[PKCS8_START.len()..]) {
                break key;
            }
        };
        write_file(path, &pkcs8)?;
        Ok(ArchiveKey(key))
    }

    fn load(path: &Path) -> Result<ArchiveKey, KeyError> {
        let pkcs8 = read_file(path, KIND)?;
        let scalar = pkcs8.secret_pkcs8_der().strip_prefix(&PKCS8_START);
        let key = scalar.and_then(|scalar| EcdsaKey::from_slice(scalar).ok());
        key.map(ArchiveKey).ok_or_else(|| KeyError::Unknown { path: path.display().to_string(), kind: KIND })
    }

    /// Its public half: SubjectPublicKeyInfo in Base64.
    pub fn public_key(&self) -> String {
        let point = self.0.verifying_key().to_sec1_point(false);
        BASE64.encode(&[&SPKI_START[..], point.as_bytes()].concat())
    }

    /// The signature of `text`: both numbers, 48 bytes each, in Base64.
    pub fn sign(&self, text: &str) -> String {
        let signature: Signature = self.0.sign_prehash(&Sha256::digest(text)).expect("a digest is long enough");
        BASE64.encode(&signature.to_bytes())
    }
}

/// `key-p384.pem` of `key.pem`.
fn place_beside(identity: &Path) -> PathBuf {
    let name = identity.file_stem().unwrap_or_default().to_string_lossy();
    identity.with_file_name(format!("{name}-p384.pem"))
}

/// The private half is in no log and no message of a fault.
impl fmt::Debug for ArchiveKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArchiveKey({})", self.public_key())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use ring::signature::{ECDSA_P384_SHA256_ASN1, UnparsedPublicKey};

    use super::*;

    /// `bytes`, a positive number, as ASN.1 has it.
    fn integer(bytes: &[u8]) -> Vec<u8> {
        let start = bytes.iter().position(|&byte| byte != 0).unwrap();
        let mut number = bytes[start..].to_vec();
        if number[0] >= 0x80 {
            number.insert(0, 0);
        }
        [&[2, u8::try_from(number.len()).unwrap()][..], &number[..]].concat()
    }

    #[test]
    fn a_key_is_made_once_and_another_program_verifies_what_it_signs() {
        let dir = tempfile::tempdir().unwrap();
        let identity = dir.path().join("key.pem");
        let made = ArchiveKey::beside(&identity).unwrap();
        let path = dir.path().join("key-p384.pem");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let loaded = ArchiveKey::beside(&identity).unwrap();
        assert_eq!(made.public_key(), loaded.public_key());
        let spki = BASE64.decode(made.public_key().as_bytes()).unwrap();
        let signature = BASE64.decode(loaded.sign("sha256:00").as_bytes()).unwrap();
        let numbers = [integer(&signature[..48]), integer(&signature[48..])].concat();
        let asn1 = [&[0x30, u8::try_from(numbers.len()).unwrap()][..], &numbers[..]].concat();
        let key = UnparsedPublicKey::new(&ECDSA_P384_SHA256_ASN1, &spki[SPKI_START.len()..]);
        assert!(key.verify(b"sha256:00", &asn1).is_ok());
        assert!(key.verify(b"sha256:01", &asn1).is_err());
        assert!(!format!("{made:?}").contains(&fs::read_to_string(&path).unwrap()[30..60]));
    }

    #[test]
    fn what_is_no_such_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (identity, path) = (dir.path().join("key.pem"), dir.path().join("key-p384.pem"));
        crate::signature::SigningKey::create(&path).unwrap();
        let error = ArchiveKey::beside(&identity).unwrap_err();
        assert!(error.to_string().contains("no P-384 key"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(ArchiveKey::beside(&identity), Err(KeyError::Open { .. })));
    }
}
