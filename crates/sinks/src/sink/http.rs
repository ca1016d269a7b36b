//! Servers of the operator that get documents over HTTP: sinks and webhooks.
//!
//! Connections that are permitted: the URL is the operator's, never a page's, so any address may be meant, loopback and
//! private ones included. What it must not do is travel in clear: `http` is for this machine alone (`localhost`,
//! 127.0.0.0/8, ::1), everything else is `https`, certificates checked. Redirects are not followed, and no proxy of
//! the environment is asked.

use std::iter;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use tokio::runtime::Runtime;
use url::Host;

use super::{Failure, tls};
use crate::clock::{Clock, SystemClock};
use crate::web::retry_after::retry_after;
use crate::web::secret::{Secret, SecretAddress};

/// A server that does not answer in this time has failed.
const TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Characters of an answer that are shown.
const SHOWN_MAX: usize = 300;

/// A server, and how it is reached.
#[derive(Debug)]
pub struct Endpoint {
    base: Url,
    client: reqwest::Client,
    runtime: Runtime,
    authorization: Option<HeaderValue>,
}

/// An answer of a server.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The body.
    pub body: Vec<u8>,
    /// The wait that it asks for.
    pub wait: Option<Duration>,
}

impl Endpoint {
    /// The server at `address`. The error says what is wrong with it, without the address: a secret may be in it.
    pub fn new(address: &SecretAddress) -> Result<Endpoint, String> {
        Endpoint::trusting(address, None)
    }

    /// The same, whose certificate an authority in this file may have signed.
    pub(super) fn trusting(address: &SecretAddress, ca_file: Option<&Path>) -> Result<Endpoint, String> {
        let base = checked(address)?;
        let client = reqwest::Client::builder()
            .user_agent(concat!("crawler/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls::client(ca_file)?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()
            .map_err(|e| causes(&e))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        Ok(Endpoint { base, client, runtime, authorization: None })
    }

    /// The same with a secret in each request: the password of `user`, or a token of `scheme` where there is no user.
    pub fn with_secret(mut self, user: &str, scheme: &str, secret: Option<&Secret>) -> Result<Endpoint, String> {
        let Some(secret) = secret else { return Ok(self) };
        let value = match user {
            "" => format!("{scheme} {}", secret.expose()).parse().ok(),
            user => {
                let signed = self.client.get(self.base.clone()).basic_auth(user, Some(secret.expose())).build();
                signed.ok().and_then(|mut request| request.headers_mut().remove(AUTHORIZATION))
            }
        };
        let mut value: HeaderValue = value.ok_or("the secret has characters that no header can have")?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// A request to the URL with `segments` behind its path, and with a query unless that is empty.
    pub fn request(&self, method: Method, segments: &[&str], query: &str) -> RequestBuilder {
        let mut url = self.base.clone();
        if !query.is_empty() {
            url.set_query(Some(query));
        }
        if !segments.is_empty() {
            url.path_segments_mut().expect("URLs of http have a path").pop_if_empty().extend(segments);
        }
        let request = self.client.request(method, url);
        match &self.authorization {
            Some(value) => request.header(AUTHORIZATION, value),
            None => request,
        }
    }

    /// Sends a request once. The error says why there is no answer.
    pub fn send(&self, request: RequestBuilder) -> Result<Answer, String> {
        self.exchange(request, async |answer| body(answer).await)
    }

    /// The same for an answer whose body is of no interest: it is not read.
    pub fn send_for_status(&self, request: RequestBuilder) -> Result<Answer, String> {
        self.exchange(request, async |_| Ok(Vec::new()))
    }

    fn exchange(
        &self,
        request: RequestBuilder,
        body: impl AsyncFnOnce(Response) -> Result<Vec<u8>, String>,
    ) -> Result<Answer, String> {
        // its timers are made where the runtime is
        self.runtime.block_on(async {
            let answer = request.send().await.map_err(|e| causes(&e.without_url()))?;
            let asked = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let wait = asked.and_then(|value| retry_after(value, SystemClock::new().now()));
            Ok(Answer { status: answer.status(), body: body(answer).await?, wait })
        })
    }
}

impl Answer {
    /// The failure that a status other than success is, of a request that `what` names.
    pub fn failure(&self, what: &str) -> Failure {
        let why = format!("{what} is answered {}: {}", self.status, self.message());
        match self.status.as_u16() {
            408 | 425 | 429 | 500.. => Failure::Again { why, wait: self.wait },
            401 | 403 | 404 | ..=399 => Failure::Broken { why },
            _ => Failure::Refused { why },
        }
    }

    /// The message in an error's body, as far as the servers of sinks agree on it; otherwise the body's beginning.
    fn message(&self) -> String {
        let json: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let message = [&json["error"]["msg"], &json["error"]["reason"], &json["message"]];
        let message = message.into_iter().find_map(|message| message.as_str());
        let text = message.map_or_else(|| String::from_utf8_lossy(&self.body), Into::into);
        text.trim().chars().take(SHOWN_MAX).collect()
    }

    /// The body as JSON, where the status is success.
    pub(super) fn json(self, what: &str) -> Result<serde_json::Value, Failure> {
        if !self.status.is_success() {
            return Err(self.failure(what));
        }
        serde_json::from_slice(&self.body).map_err(|e| Failure::again(format!("{what} is answered with no JSON: {e}")))
    }
}

async fn body(mut answer: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|e| causes(&e.without_url()))? {
        if body.len() + piece.len() > ANSWER_BYTES_MAX {
            return Err(format!("the answer has more than {} MiB", ANSWER_BYTES_MAX >> 20));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The URL at `address`, where requests may go there.
fn checked(address: &SecretAddress) -> Result<Url, String> {
    let url = Url::parse(address.expose()).map_err(|e| e.to_string())?;
    match url.scheme() {
        "https" => {}
        "http" if is_this_machine(&url) => {}
        "http" => return Err("write https; http is for this machine alone".to_owned()),
        _ => return Err("write an https URL".to_owned()),
    }
    match url.username().is_empty() && url.password().is_none() {
        true => Ok(url),
        false => Err("no name and no password can be in it".to_owned()),
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

/// An error and its causes.
pub fn causes(error: &dyn std::error::Error) -> String {
    let causes = iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_requests_go_over_https_or_stay_on_this_machine() {
        for url in
            ["https://example.com/x", "http://127.0.0.1:9/", "http://127.9.9.9/", "http://[::1]/", "http://localhost/"]
        {
            assert!(Endpoint::new(&SecretAddress::new(url)).is_ok(), "{url}");
        }
        for url in [
            "http://example.com/",
            "http://10.0.0.1/",
            "http://localhost.example/",
            "ftp://127.0.0.1/",
            "x",
            "https://me:secret@example.com/",
        ] {
            let refused = Endpoint::new(&SecretAddress::new(url)).map(drop).unwrap_err();
            assert!(!refused.contains(url) && !refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_secret_is_in_the_header_and_is_not_printed() {
        let secret = Secret::new("sesame");
        for (user, value) in [("", "ApiKey sesame"), ("me", "Basic bWU6c2VzYW1l")] {
            let endpoint = Endpoint::new(&SecretAddress::new("http://127.0.0.1:9/base/")).unwrap();
            let endpoint = endpoint.with_secret(user, "ApiKey", Some(&secret)).unwrap();
            let request = endpoint.request(Method::GET, &["a/b", "_bulk"], "").build().unwrap();
            assert_eq!(request.url().as_str(), "http://127.0.0.1:9/base/a%2Fb/_bulk");
            assert_eq!(request.headers()[AUTHORIZATION], value);
            assert!(!format!("{endpoint:?} {request:?}").contains("sesame"));
        }
    }
}
