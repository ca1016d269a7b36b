//! Batches by POST to a web server, signed.
//!
//! The headers follow Standard Webhooks 1.0.0, for which there are libraries in most languages: `webhook-id`,
//! `webhook-timestamp` (seconds), and `webhook-signature: v1,BASE64`, the HMAC-SHA256 of `ID.TIMESTAMP.BODY`. The id is
//! made from the body, so the same batch has the same id in every attempt, also after a restart.
//!
//! [`Endpoint`] is the client, and says which connections are permitted.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use data_encoding::{BASE64, HEXLOWER};
use reqwest::{Method, StatusCode};
use ring::hmac;
use sha2::{Digest, Sha256};

use super::super::exit::UsageError;
use super::batch::{Batch, Failure};
use crate::clock::{Clock, SystemClock};
use crate::disk;
use crate::sink::Endpoint;
use crate::web::secret::SecretAddress;

/// Bytes of a secret.
const SECRET_MIN: usize = 16;
const SECRET_MAX: u64 = 4 << 10;
/// Prefix of a secret that is written in Base64.
const ENCODED: &str = "whsec_";

/// A web server that gets batches.
pub(super) struct Webhook {
    endpoint: Endpoint,
    key: hmac::Key,
}

impl Webhook {
    /// The server at `url`; batches are signed with the secret in a file.
    pub(crate) fn new(address: &SecretAddress, secret: &Path) -> anyhow::Result<Webhook> {
        let endpoint = Endpoint::new(address).map_err(|why| UsageError::because(format!("--webhook: {why}")))?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &read_secret(secret)?);
        Ok(Webhook { endpoint, key })
    }

    /// Sends a batch once.
    pub(crate) fn deliver(&self, batch: &Batch) -> Result<(), Failure> {
        let (id, seconds) = (id(batch.text()), SystemClock::new().now().ms() / 1_000);
        let signature = sign(&self.key, &id, seconds, batch.text());
        let request = self
            .endpoint
            .request(Method::POST, &[], "")
            .header("content-type", "application/x-ndjson")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signature)
            .body(batch.text().to_vec());
        let answer = self.endpoint.send_for_status(request).map_err(Failure::because)?;
        let status = answer.status;
        if status.is_success() {
            return Ok(());
        }
        let hint = if status == StatusCode::PAYLOAD_TOO_LARGE { "; a smaller --batch may help" } else { "" };
        Err(Failure { why: format!("the server of --webhook answers {status}{hint}"), wait: answer.wait })
    }
}

/// Returns the id of a batch: the same lines always have the same one.
fn id(body: &[u8]) -> String {
    format!("batch_{}", HEXLOWER.encode(&Sha256::digest(body)[..16]))
}

fn sign(key: &hmac::Key, id: &str, seconds: u64, body: &[u8]) -> String {
    let mut context = hmac::Context::with_key(key);
    context.update(format!("{id}.{seconds}.").as_bytes());
    context.update(body);
    format!("v1,{}", BASE64.encode(context.sign().as_ref()))
}

/// The secret in a file, which only its owner may read.
fn read_secret(path: &Path) -> anyhow::Result<Vec<u8>> {
    let refuse = |why: String| UsageError::because(format!("--secret-file {}: {why}", path.display()));
    let fault = |e| disk::Error::io("read", path, e);
    let file = File::open(path).map_err(|e| refuse(e.to_string()))?;
    let mode = file.metadata().map_err(fault)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(refuse(format!("others may read it (mode {mode:03o}); chmod 600 makes it yours alone")));
    }
    let mut text = Vec::new();
    file.take(SECRET_MAX + 1).read_to_end(&mut text).map_err(fault)?;
    let text = text.trim_ascii();
    let secret = match text.strip_prefix(ENCODED.as_bytes()) {
        Some(encoded) => BASE64.decode(encoded).map_err(|_| refuse("whsec_ is not followed by Base64".to_owned()))?,
        None => text.to_vec(),
    };
    match secret.len() {
        SECRET_MIN.. if secret.len() as u64 <= SECRET_MAX => Ok(secret),
        bytes => Err(refuse(format!("a secret has {SECRET_MIN} to {SECRET_MAX} bytes, not {bytes}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        // the example of its specification's reference libraries
        let secret = BASE64.decode(b"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let signature = sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(id(b"a\n"), id(b"a\n"));
        assert_ne!(id(b"a\n"), id(b"b\n"));
    }

    #[test]
    fn s3_a_batch_goes_over_https_or_stays_on_this_machine() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        fs::write(&path, "0123456789abcdef\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert!(Webhook::new(&SecretAddress::new("http://127.0.0.1:9/"), &path).is_ok());
        for url in ["http://example.com/", "https://me:secret@example.com/"] {
            let refused = Webhook::new(&SecretAddress::new(url), &path).map(drop).unwrap_err();
            assert!(refused.is::<UsageError>() && !refused.to_string().contains(url), "{refused}");
        }
    }

    #[test]
    fn a_secret_is_its_owners_alone_and_long_enough() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let write = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read_secret(&path)
        };
        assert_eq!(write("0123456789abcdef\n", 0o600).unwrap(), b"0123456789abcdef");
        assert_eq!(write("whsec_MDEyMzQ1Njc4OWFiY2RlZg==", 0o400).unwrap(), b"0123456789abcdef");
        for (text, mode) in [("0123456789abcdef", 0o640), ("short", 0o600), ("whsec_?", 0o600)] {
            let error = write(text, mode).unwrap_err().to_string();
            assert!(error.starts_with("--secret-file") && !error.contains("0123"), "{error}");
        }
        assert!(read_secret(&dir.path().join("none")).is_err());
    }
}
