//! Batches by POST to a web server, signed.
//!
//! The headers follow Standard Webhooks 1.0.0, for which there are libraries in most languages: `webhook-id`,
//! `webhook-timestamp` (seconds), and `webhook-signature: v1,BASE64`, the HMAC-SHA256 of `ID.TIMESTAMP.BODY`. The id is
//! made from the body, so the same batch has the same id in every attempt, also after a restart.
//!
//! Where requests may go: the URL is the operator's, never a page's, so any address may be meant, loopback and private
//! ones included. What it must not do is travel in clear: `http` is for this machine alone (`localhost`, 127.0.0.0/8,
//! ::1), everything else is `https`, certificates checked. Redirects are not followed, and no proxy of the environment
//! is asked.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use reqwest::{StatusCode, Url};
use ring::hmac;
use rustls::{ClientConfig, RootCertStore};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;
use url::Host;

use super::super::exit::UsageError;
use super::batch::{Batch, Failure};
use crate::clock::{Clock, SystemClock};
use crate::disk;
use crate::web::retry_after::retry_after;
use crate::web::secret::SecretAddress;

/// A server that does not answer in this time has failed.
const TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a secret.
const SECRET_MIN: usize = 16;
const SECRET_MAX: u64 = 4 << 10;
/// Prefix of a secret that is written in Base64.
const ENCODED: &str = "whsec_";

/// A web server that gets batches.
pub(super) struct Webhook {
    url: Url,
    key: hmac::Key,
    client: reqwest::Client,
    runtime: Runtime,
}

impl Webhook {
    /// The server at `url`; batches are signed with the secret in a file.
    pub(crate) fn new(address: &SecretAddress, secret: &Path) -> anyhow::Result<Webhook> {
        // what is wrong with it may be where a secret is
        let refuse = |why: &str| UsageError::because(format!("--webhook: {why}"));
        let url = Url::parse(address.expose()).map_err(|e| refuse(&e.to_string()))?;
        match url.scheme() {
            "https" => {}
            "http" if is_this_machine(&url) => {}
            "http" => return Err(refuse("write https; http is for this machine alone")),
            _ => return Err(refuse("write an https URL")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("no name and no password can be in it; the signature says who sends"));
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, &read_secret(secret)?);
        let client = reqwest::Client::builder()
            .user_agent(concat!("crawler/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls()?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Webhook { url, key, client, runtime })
    }

    /// Sends a batch once.
    pub(crate) fn deliver(&self, batch: &Batch) -> Result<(), Failure> {
        let (id, seconds) = (id(batch.text()), SystemClock::new().now().ms() / 1_000);
        let signature = sign(&self.key, &id, seconds, batch.text());
        let request = self
            .client
            .post(self.url.clone())
            .header("content-type", "application/x-ndjson")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signature)
            .body(batch.text().to_vec());
        // its timers are made where the runtime is
        let answer = self.runtime.block_on(async { request.send().await });
        let answer = answer.map_err(|e| Failure::because(message(&e.without_url())))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let asked = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let hint = if status == StatusCode::PAYLOAD_TOO_LARGE { "; a smaller --batch may help" } else { "" };
        let wait = asked.and_then(|value| retry_after(value, SystemClock::new().now()));
        Err(Failure { why: format!("the server of --webhook answers {status}{hint}"), wait })
    }
}

/// An error and its causes.
fn message(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
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

/// TLS with Mozilla's root certificates.
fn tls() -> anyhow::Result<ClientConfig> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
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
        for url in
            ["https://example.com/x", "http://127.0.0.1:9/", "http://127.9.9.9/", "http://[::1]/", "http://localhost/"]
        {
            assert!(Webhook::new(&SecretAddress::new(url), &path).is_ok(), "{url}");
        }
        for url in [
            "http://example.com/",
            "http://10.0.0.1/",
            "http://localhost.example/",
            "ftp://127.0.0.1/",
            "x",
            "https://me:secret@example.com/",
        ] {
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
