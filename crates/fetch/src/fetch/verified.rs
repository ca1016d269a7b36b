//! Signatures of certificates that were verified already, so that those of the same authorities are not again.
//!
//! Every chain that a server sends has the certificate of an authority, and a few dozen authorities sign most of the
//! web. Its signature costs as much to verify as the server's: with ring on P-384, as the authorities of many have it,
//! 0.8 ms, more than all the rest of a handshake. Whether a signature is good depends on nothing but key, message and
//! signature, so a good one is remembered by a digest of the three. That is all: webpki judges dates, names, purposes
//! and paths for every handshake, and a signature that failed is verified the next time too.
//!
//! The memory is bounded. It is the process's, because rustls wants algorithms that live as long.

use std::sync::{LazyLock, Mutex, PoisonError};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use sha2::{Digest, Sha256};

use super::generations::Generations;

/// Signatures of an algorithm that are remembered: 32 KiB.
const SIGNATURES_MAX: usize = 1_024;

/// The algorithms by which chains are verified, with a memory.
static REMEMBERING: LazyLock<Vec<&'static dyn SignatureVerificationAlgorithm>> = LazyLock::new(|| {
    let remembering = |&inner: &&'static dyn SignatureVerificationAlgorithm| {
        let leaked: &'static dyn SignatureVerificationAlgorithm = Box::leak(Box::new(Remembering::new(inner)));
        leaked
    };
    rustls::crypto::ring::default_provider().signature_verification_algorithms.all.iter().map(remembering).collect()
});

/// Returns ring's algorithms, of which those for chains of certificates have a memory. What a server signs in a
/// handshake comes only once, and is verified by the others.
pub(super) fn provider() -> CryptoProvider {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.signature_verification_algorithms.all = &REMEMBERING;
    provider
}

type Key = [u8; 32];

/// An algorithm with the good signatures that it has seen last.
#[derive(Debug)]
struct Remembering {
    inner: &'static dyn SignatureVerificationAlgorithm,
    good: Mutex<Generations<Key, ()>>,
}

impl Remembering {
    fn new(inner: &'static dyn SignatureVerificationAlgorithm) -> Self {
        Remembering { inner, good: Mutex::new(Generations::of(SIGNATURES_MAX)) }
    }
}

impl SignatureVerificationAlgorithm for Remembering {
    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = key(&[public_key, message, signature]);
        if self.good.lock().unwrap_or_else(PoisonError::into_inner).get(&key).is_some() {
            return Ok(());
        }
        self.inner.verify_signature(public_key, message, signature)?;
        self.good.lock().unwrap_or_else(PoisonError::into_inner).put(key, ());
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.inner.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.inner.signature_alg_id()
    }

    fn fips(&self) -> bool {
        self.inner.fips()
    }
}

/// A digest of parts, each with its length before it.
fn key(parts: &[&[u8]]) -> Key {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Finds every signature good that begins with a 1, and counts.
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    impl SignatureVerificationAlgorithm for Counting {
        fn verify_signature(&self, _: &[u8], _: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if signature.first() == Some(&1) { Ok(()) } else { Err(InvalidSignature) }
        }

        fn public_key_alg_id(&self) -> AlgorithmIdentifier {
            rustls::pki_types::alg_id::ECDSA_P256
        }

        fn signature_alg_id(&self) -> AlgorithmIdentifier {
            rustls::pki_types::alg_id::ECDSA_SHA256
        }
    }

    fn counted() -> (Remembering, &'static Counting) {
        let inner: &'static Counting = Box::leak(Box::default());
        (Remembering::new(inner), inner)
    }

    #[test]
    fn a_good_signature_is_verified_once_and_a_bad_one_every_time() {
        let (remembering, inner) = counted();
        for _ in 0..3 {
            remembering.verify_signature(b"key", b"message", &[1]).unwrap();
        }
        assert_eq!(inner.0.load(Ordering::Relaxed), 1);
        for _ in 0..3 {
            remembering.verify_signature(b"key", b"message", &[2]).unwrap_err();
        }
        assert_eq!(inner.0.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn another_key_message_or_signature_is_another_signature() {
        let (remembering, inner) = counted();
        let all: [(&[u8], &[u8], &[u8]); 5] = [
            (b"key", b"message", &[1]),
            (b"kez", b"message", &[1]),
            (b"key", b"messagf", &[1]),
            (b"key", b"message", &[1, 1]),
            (b"keym", b"essage", &[1]),
        ];
        for (key, message, signature) in all {
            remembering.verify_signature(key, message, signature).unwrap();
        }
        assert_eq!(inner.0.load(Ordering::Relaxed), all.len());
    }

    #[test]
    fn the_memory_is_bounded_and_keeps_what_is_used() {
        let (remembering, inner) = counted();
        let authority = || remembering.verify_signature(b"root", b"authority", &[1]).unwrap();
        for number in 0..2 * SIGNATURES_MAX {
            authority();
            remembering.verify_signature(b"authority", &number.to_le_bytes(), &[1]).unwrap();
        }
        assert_eq!(inner.0.load(Ordering::Relaxed), 2 * SIGNATURES_MAX + 1);
        assert!(remembering.good.lock().unwrap().known() <= SIGNATURES_MAX);
    }

    #[test]
    fn every_algorithm_of_ring_is_there() {
        let ring = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        let ours = provider().signature_verification_algorithms;
        let ids = |all: &[&dyn SignatureVerificationAlgorithm]| -> Vec<_> {
            all.iter().map(|one| (one.public_key_alg_id(), one.signature_alg_id())).collect()
        };
        assert_eq!(ids(ours.all), ids(ring.all));
        assert_eq!(ours.mapping.len(), ring.mapping.len());
    }
}
