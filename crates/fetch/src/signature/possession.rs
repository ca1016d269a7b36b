//! The proof that a key directory is of those who have its keys: fields of the answer with which it is served.
//!
//! The answer carries one signature for each key, over the authority that was asked and the digest of the body
//! (draft-ietf-webbotauth-httpsig-protocol, "Possession Proof on the Directory Response"). They change with the body
//! and with time only, so they can be made ahead and served by any file server.

use std::time::Duration;

use data_encoding::BASE64;
use sha2::{Digest, Sha256};

use super::base::{self, Parameter};
use super::key::SigningKey;
use crate::clock::Time;

const TAG: &str = "http-message-signatures-directory";

/// The fields of the answer with the directory `body` at `authority`, which prove until `lifetime` after `now` that it
/// is of those who have `keys`.
pub fn possession_fields(
    body: &[u8],
    authority: &str,
    keys: &[SigningKey],
    now: Time,
    lifetime: Duration,
) -> [(&'static str, String); 3] {
    let digest = format!("sha-256=:{}:", BASE64.encode(&Sha256::digest(body)));
    let covered = [("\"@authority\";req", authority), ("\"content-digest\"", digest.as_str())];
    let created = now.ms() / 1_000;
    let (mut inputs, mut signatures) = (Vec::new(), Vec::new());
    for (number, key) in keys.iter().enumerate() {
        let parameters = [
            ("created", Parameter::Number(created)),
            ("expires", Parameter::Number(created + lifetime.as_secs())),
            ("keyid", Parameter::Text(key.thumbprint())),
            ("tag", Parameter::Text(TAG)),
        ];
        let input = base::input(&covered, &parameters);
        signatures.push(format!("binding{number}=:{}:", key.sign(&base::base(&covered, &input))));
        inputs.push(format!("binding{number}={input}"));
    }
    [("Content-Digest", digest), ("Signature-Input", inputs.join(", ")), ("Signature", signatures.join(", "))]
}
