//! The way of a call to etcd: endpoints in turn, a token, time-outs, and what every answer is checked for.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::AUTHORIZATION;
use reqwest::{RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::error::{EtcdError, Result, of_answer, wants_token, with_causes};
use super::options::{EtcdOptions, StartError};
use super::tls;
use super::wire::{Fault, Header, TokenAnswer};
use crate::web::secret::{REDACTED, Secret, SecretAddress};

/// A connection that is not there within this time is not waited for: members are near.
const CONNECT: Duration = Duration::from_secs(2);
/// Idle connections are asked whether they are alive.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// No answer is longer: some ten thousand keys.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The HTTP client with its thread.
pub(super) struct Connection {
    runtime: Option<Runtime>,
    client: reqwest::Client,
    endpoints: Vec<String>,
    /// The endpoint that answered last.
    current: AtomicUsize,
    user: Option<(String, Secret)>,
    token: Mutex<Option<String>>,
    timeout: Duration,
    /// Id of the cluster that it has to be, or 0 as long as that is not known.
    cluster: AtomicU64,
    /// The highest revision that a current answer had.
    seen: AtomicU64,
    closed: watch::Sender<bool>,
}

impl Connection {
    pub(crate) fn new(options: &EtcdOptions) -> std::result::Result<Connection, StartError> {
        let endpoints: Vec<String> = options.endpoints.iter().map(endpoint).collect::<std::result::Result<_, _>>()?;
        if endpoints.is_empty() {
            return Err(StartError::NoEndpoint);
        }
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config(options)?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .http1_only()
            .connect_timeout(CONNECT.min(options.timeout))
            .tcp_keepalive(KEEPALIVE)
            .tcp_nodelay(true)
            .build()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("etcd")
            .enable_io()
            .enable_time()
            .build()?;
        Ok(Connection {
            runtime: Some(runtime),
            client,
            endpoints,
            current: AtomicUsize::new(0),
            user: options.user.clone(),
            token: Mutex::new(None),
            timeout: options.timeout,
            cluster: AtomicU64::new(0),
            seen: AtomicU64::new(options.revision_seen),
            closed: watch::Sender::new(false),
        })
    }

    /// Carries out what talks to etcd on the calling thread, unless the client is closed meanwhile.
    pub(crate) fn block<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut closed = self.closed.subscribe();
        let runtime = self.runtime.as_ref().expect("it is there until the connection is dropped");
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => Err(EtcdError::Closed),
                done = work => done,
            }
        })
    }

    /// Waits, but not longer than until the client is closed.
    pub(crate) fn pause(&self, time: Duration) -> Result<()> {
        self.block(async {
            tokio::time::sleep(time).await;
            Ok(())
        })
    }

    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Binds the connection to this cluster, from which all answers have to come from now on.
    pub(crate) fn bind(&self, cluster: u64) -> Result<()> {
        match self.cluster.compare_exchange(0, cluster, Ordering::Relaxed, Ordering::Relaxed) {
            Err(found) if found != cluster => Err(EtcdError::OtherCluster { expected: cluster, found }),
            _ => Ok(()),
        }
    }

    /// No answer may be older than this revision.
    pub(crate) fn has_seen(&self, revision: u64) {
        self.seen.fetch_max(revision, Ordering::Relaxed);
    }

    /// Asks every endpoint once, beginning with the one that answered last, until one gives an answer that is clear.
    /// What is asked so may arrive more than once.
    pub(crate) fn call<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.call_within(path, body, self.timeout)
    }

    /// The same, where each of them has so much time.
    pub(crate) fn call_within<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<T> {
        let mut last = None;
        for _ in &self.endpoints {
            match self.call_once(path, body, timeout) {
                Err(unclear) if unclear.may_pass() => last = Some(unclear),
                clear => return clear,
            }
        }
        Err(last.expect("there are endpoints"))
    }

    /// Asks the endpoint that answered last; where it does not, another one is asked the next time.
    pub(crate) fn call_once<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<T> {
        let answered = self.block(async {
            let bytes = serde_json::to_vec(body).expect("requests are plain values");
            let (at, endpoint) = self.endpoint();
            let answered = self.with_token(endpoint, path, bytes, timeout).await;
            self.judge(at, endpoint, answered)
        })?;
        // read as the last thing, so that what is no answer counts as none
        serde_json::from_slice(&answered).map_err(|e| {
            self.without_secrets(EtcdError::Unclear(format!("{path}: an answer that cannot be read: {e}")))
        })
    }

    /// Opens a stream of answers.
    pub(crate) fn stream(&self, path: &str, body: &impl Serialize) -> Result<Response> {
        self.block(async {
            let bytes = serde_json::to_vec(body).expect("requests are plain values");
            let (at, endpoint) = self.endpoint();
            let opened = async {
                self.sign_in(endpoint).await?;
                let request = self.request(endpoint, path, bytes).header("Grpc-Metadata-hasleader", "true");
                let sent = tokio::time::timeout(self.timeout, request.send()).await;
                let response = sent.map_err(|_| EtcdError::Unclear("no answer in time".to_owned()))?.map_err(lost)?;
                match response.status().is_success() {
                    true => Ok(response),
                    false => Err(refusal(response).await),
                }
            };
            self.judge(at, endpoint, opened.await)
        })
    }

    fn endpoint(&self) -> (usize, &str) {
        let at = self.current.load(Ordering::Relaxed);
        (at, &self.endpoints[at % self.endpoints.len()])
    }

    /// Another endpoint is asked the next time.
    pub(crate) fn turn(&self, at: usize) {
        // of several calls that failed at one endpoint, one moves on
        let _ = self.current.compare_exchange(at, at.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns the number of turns of the endpoints so far.
    pub(crate) fn at(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    fn judge<T>(&self, at: usize, endpoint: &str, answered: Result<T>) -> Result<T> {
        answered.map_err(|error| {
            let error = self.without_secrets(error);
            if wants_token(&error) {
                *self.token() = None;
            }
            match error {
                EtcdError::Unclear(detail) => {
                    self.turn(at);
                    EtcdError::Unclear(format!("{endpoint}: {detail}"))
                }
                clear => clear,
            }
        })
    }

    /// `error` without what an answer has repeated of the password or the token.
    pub fn without_secrets(&self, error: EtcdError) -> EtcdError {
        let password = self.user.as_ref().map(|(_, password)| password.expose().to_owned());
        let secrets: Vec<String> = password.into_iter().chain(self.token().clone()).collect();
        error.map_message(|words| secrets.iter().fold(words, |words, secret| without(&words, secret)))
    }

    /// One call; with a new token once, where etcd does not know the one that there is.
    async fn with_token(&self, endpoint: &str, path: &str, body: Vec<u8>, timeout: Duration) -> Result<Vec<u8>> {
        let once = async {
            self.sign_in(endpoint).await?;
            match self.send(endpoint, path, body.clone()).await {
                Err(error) if wants_token(&error) && self.user.is_some() => {
                    *self.token() = None;
                    self.sign_in(endpoint).await?;
                    self.send(endpoint, path, body).await
                }
                answered => answered,
            }
        };
        let in_time = tokio::time::timeout(timeout, once).await;
        in_time.map_err(|_| EtcdError::Unclear("no answer in time".to_owned()))?
    }

    async fn sign_in(&self, endpoint: &str) -> Result<()> {
        let Some((name, password)) = &self.user else {
            return Ok(());
        };
        if self.token().is_some() {
            return Ok(());
        }
        let body = json!({ "name": name, "password": password.expose() }).to_string().into_bytes();
        let answer = self.send(endpoint, "/v3/auth/authenticate", body).await?;
        let answer: TokenAnswer =
            serde_json::from_slice(&answer).map_err(|_| EtcdError::Unclear("no token in the answer".to_owned()))?;
        *self.token() = Some(answer.token);
        Ok(())
    }

    fn token(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, endpoint: &str, path: &str, body: Vec<u8>) -> RequestBuilder {
        let request = self.client.post(format!("{endpoint}{path}")).body(body);
        match &*self.token() {
            Some(token) => request.header(AUTHORIZATION, token),
            None => request,
        }
    }

    async fn send(&self, endpoint: &str, path: &str, body: Vec<u8>) -> Result<Vec<u8>> {
        let response = self.request(endpoint, path, body).send().await.map_err(lost)?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        whole(response).await
    }

    /// Checks what every answer has to fulfil: it is of the right cluster and, where it is a `current` one, not older
    /// than any that had come `before` it was asked for.
    pub(crate) fn check(&self, header: Header, before: Option<u64>) -> Result<()> {
        let expected = self.cluster.load(Ordering::Relaxed);
        if expected != 0 && header.cluster_id != expected {
            return Err(EtcdError::OtherCluster { expected, found: header.cluster_id });
        }
        if let Some(seen) = before {
            if header.revision < seen {
                return Err(EtcdError::WentBack { seen, found: header.revision });
            }
            self.has_seen(header.revision);
        }
        Ok(())
    }

    /// The highest revision so far.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // not waiting for what is in flight: the threads that asked are gone
            runtime.shutdown_background();
        }
    }
}

/// `words` without `secret`, as it is and as JSON has it.
fn without(words: &str, secret: &str) -> String {
    if secret.is_empty() {
        return words.to_owned();
    }
    let quoted = json!(secret).to_string();
    words.replace(quoted.trim_matches('"'), REDACTED).replace(secret, REDACTED)
}

fn endpoint(address: &SecretAddress) -> std::result::Result<String, StartError> {
    let (text, fault) = (address.expose(), || StartError::Endpoint { endpoint: address.clone() });
    let url = url::Url::parse(text).map_err(|_| fault())?;
    let is_plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    let is_known = matches!(url.scheme(), "http" | "https") && url.host().is_some() && url.password().is_none();
    if is_plain && is_known { Ok(text.trim_end_matches('/').to_owned()) } else { Err(fault()) }
}

fn lost(fault: reqwest::Error) -> EtcdError {
    EtcdError::Unclear(with_causes(&fault.without_url()))
}

async fn whole(mut response: Response) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(EtcdError::Unclear("an answer longer than any of etcd's".to_owned()));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Returns the error of an answer whose status is not 200. Without words of etcd it stays unclear whether the call was
/// carried out.
async fn refusal(response: Response) -> EtcdError {
    let status = response.status();
    match whole(response).await.ok().and_then(|bytes| serde_json::from_slice::<Fault>(&bytes).ok()) {
        Some(fault) if fault.code != 0 => of_answer(fault.code, fault.message),
        _ => EtcdError::Unclear(format!("HTTP status {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_plain_addresses() {
        for (text, expected) in [
            ("http://10.0.0.1:2379", "http://10.0.0.1:2379"),
            ("https://etcd.example:2379/", "https://etcd.example:2379"),
            ("http://[::1]:2379", "http://[::1]:2379"),
        ] {
            assert_eq!(endpoint(&SecretAddress::new(text)).unwrap(), expected);
        }
        for text in ["", "10.0.0.1:2379", "ftp://a:1", "http://a:1/v3", "http://user:secret@a:1", "http://a:1/?b"] {
            let refused = endpoint(&SecretAddress::new(text)).unwrap_err();
            assert!(!format!("{refused} {refused:?}").contains("secret"), "{refused}");
        }
    }

    #[test]
    fn what_etcd_repeats_of_a_password_or_a_token_is_left_out_of_its_words() {
        let user = Some(("me".to_owned(), Secret::new("open\"sesame")));
        let endpoints = vec![SecretAddress::new("http://127.0.0.1:1")];
        let connection = Connection::new(&EtcdOptions { endpoints, user, ..EtcdOptions::default() }).unwrap();
        *connection.token() = Some("token-sesame".to_owned());
        let echo = r#"cannot read {"name":"me","password":"open\"sesame"} open"sesame token-sesame"#.to_owned();
        for error in [EtcdError::Unclear(echo.clone()), EtcdError::Refused { code: 3, message: echo.clone() }] {
            let told = connection.judge::<()>(0, "http://127.0.0.1:1", Err(error)).unwrap_err().to_string();
            assert!(!told.contains("sesame") && told.contains(REDACTED) && told.contains("cannot read"), "{told}");
        }
        assert_eq!(without("words", ""), "words");
    }

    #[test]
    fn answers_of_another_cluster_and_older_ones_are_refused() {
        let options =
            EtcdOptions { endpoints: vec![SecretAddress::new("http://127.0.0.1:1")], ..EtcdOptions::default() };
        let connection = Connection::new(&EtcdOptions { revision_seen: 7, ..options }).unwrap();
        let header = |cluster_id, revision| Header { cluster_id, revision };
        assert!(connection.check(header(5, 7), Some(connection.seen())).is_ok(), "any cluster so far");
        connection.bind(5).unwrap();
        assert!(connection.bind(6).is_err());
        let other = connection.check(header(6, 9), None);
        assert_eq!(other, Err(EtcdError::OtherCluster { expected: 5, found: 6 }));
        connection.check(header(5, 9), Some(connection.seen())).unwrap();
        let back = connection.check(header(5, 8), Some(connection.seen()));
        assert_eq!(back, Err(EtcdError::WentBack { seen: 9, found: 8 }));
        // two calls at one time may be answered in any order
        connection.check(header(5, 8), Some(7)).unwrap();
    }
}
