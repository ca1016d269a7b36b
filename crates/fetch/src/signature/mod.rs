//! Proof of who sends a request: HTTP Message Signatures (RFC 9421) with Ed25519, as in Web Bot Auth.
//!
//! ```text
//! key.pem ──► SigningKey ──► Signer ──► Signature-Agent, Signature-Input, Signature   of every request
//!                  └───────► KeyDirectory: the public keys, at /.well-known/http-message-signatures-directory
//! ```
//! Archives are signed too (`archive_key`), by a key of the kind that their readers verify.
//!
//! A request says by `Signature-Agent` at which origin the public keys of its sender are, and carries a signature over
//! its own authority and that field. A server that fetches the keys knows then who asked, whatever its address is.
//!
//! What it promises: every signature is for one request, with its own time, end and nonce. A private key is read from a
//! file that only its owner may read, and is in no text that is made here: not in `Debug`, not in an error.
//!
//! The forms follow draft-ietf-webbotauth-httpsig-protocol (`Signature-Agent` as a dictionary), and, where it is set
//! so, of the drafts before it (as a string); parameters are in the order of the test vectors of both. The choice of
//! keys by thumbprint is from RFC 7638 and RFC 8037.

mod archive_key;
mod base;
mod jwk;
mod key;
mod possession;
mod signer;

pub use archive_key::ArchiveKey;
pub use jwk::{Jwk, KeyDirectory};
pub use key::{KeyError, SigningKey, read_file as read_key_file, write_file as write_key_file};
pub use possession::possession_fields;
pub use signer::{AgentForm, Component, NONCE_BYTES, Nonces, Signer, SignerOptions, SystemNonces};

/// Path of a key directory at its origin.
pub const DIRECTORY_PATH: &str = "/.well-known/http-message-signatures-directory";
/// The media type of a key directory.
pub const DIRECTORY_TYPE: &str = "application/http-message-signatures-directory+json";

#[cfg(test)]
mod tests;
