//! Signs requests: what is covered, for how long it holds, and in which form the sender is named.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use super::base::{self, Parameter};
use super::key::SigningKey;
use crate::clock::Time;
use crate::contract::{RequestSigner, SignatureFields};
use crate::web::url::CanonicalUrl;

/// Bytes of a nonce, as the drafts recommend.
pub const NONCE_BYTES: usize = 64;
/// Label of the signature among others of a request, and of the sender's member of `Signature-Agent`.
const LABEL: &str = "sig1";
const TAG: &str = "web-bot-auth";
const ALGORITHM: &str = "ed25519";

/// The form in which `Signature-Agent` names the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentForm {
    /// A member of a dictionary, `sig1="https://bot.example"`: draft-ietf-webbotauth-httpsig-protocol, and
    /// draft-meunier-http-message-signatures-directory from its revision 04 on.
    Dictionary,
    /// A string, `"https://bot.example"`: draft-meunier-http-message-signatures-directory up to its revision 03.
    String,
}

/// A part of a request that a signature can cover (RFC 9421, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Component {
    /// The host, and its port where that is not the usual one.
    Authority,
    /// The method.
    Method,
    /// The path.
    Path,
    /// The query with its `?`; if there is none, the `?` alone.
    Query,
    /// The whole URL.
    TargetUri,
}

impl Component {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Component::Authority => "@authority",
            Component::Method => "@method",
            Component::Path => "@path",
            Component::Query => "@query",
            Component::TargetUri => "@target-uri",
        }
    }

    /// All that there are.
    pub const ALL: [Component; 5] =
        [Component::Authority, Component::Method, Component::Path, Component::Query, Component::TargetUri];

    pub(super) fn value(self, method: &str, url: &CanonicalUrl) -> String {
        let (path, query) = url.path_and_query().split_once('?').unwrap_or((url.path_and_query(), ""));
        match self {
            Component::Authority => authority(url),
            Component::Method => method.to_owned(),
            Component::Path => path.to_owned(),
            Component::Query => format!("?{query}"),
            Component::TargetUri => url.plain().to_owned(),
        }
    }
}

/// The host in lower case, and its port where that is not the one of the scheme.
fn authority(url: &CanonicalUrl) -> String {
    match (url.is_https(), url.port()) {
        (true, 443) | (false, 80) => url.host().to_owned(),
        (_, port) => format!("{}:{port}", url.host()),
    }
}

/// A source of nonces: no two are the same.
pub trait Nonces: fmt::Debug + Send + Sync {
    /// The next one.
    fn next(&self) -> [u8; NONCE_BYTES];
}

/// The machine's randomness.
#[derive(Debug)]
pub struct SystemNonces;

impl Nonces for SystemNonces {
    fn next(&self) -> [u8; NONCE_BYTES] {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).expect("the operating system has randomness");
        nonce
    }
}

/// Options of signing requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignerOptions {
    /// The origin with the key directory, `https://bot.example`.
    pub agent: String,
    /// The form of its name.
    pub form: AgentForm,
    /// Components that are covered in addition to it.
    pub components: Vec<Component>,
    /// Time for which a signature holds.
    pub lifetime: Duration,
}

/// Signs requests with a key.
#[derive(Clone, Debug)]
pub struct Signer {
    key: Arc<SigningKey>,
    options: SignerOptions,
    nonces: Arc<dyn Nonces>,
}

impl Signer {
    /// One with these options.
    pub fn new(key: Arc<SigningKey>, options: SignerOptions, nonces: Arc<dyn Nonces>) -> Signer {
        Signer { key, options, nonces }
    }

    /// The same with another form.
    pub fn in_form(&self, form: AgentForm) -> Signer {
        let mut other = self.clone();
        other.options.form = form;
        other
    }
}

impl RequestSigner for Signer {
    fn sign(&self, method: &str, url: &CanonicalUrl, now: Time) -> SignatureFields {
        let agent = base::string(&self.options.agent);
        let (identifier, field) = match self.options.form {
            AgentForm::Dictionary => (format!("\"signature-agent\";key=\"{LABEL}\""), format!("{LABEL}={agent}")),
            AgentForm::String => ("\"signature-agent\"".to_owned(), agent.clone()),
        };
        let own = self.options.components.iter();
        let own: Vec<_> = own.map(|part| (format!("\"{}\"", part.name()), part.value(method, url))).collect();
        let mut covered: Vec<_> = own.iter().map(|(identifier, value)| (&**identifier, &**value)).collect();
        covered.push((&identifier, &agent));
        let created = now.ms() / 1_000;
        let nonce = BASE64.encode(&self.nonces.next());
        let parameters = [
            ("created", Parameter::Number(created)),
            ("keyid", Parameter::Text(self.key.thumbprint())),
            ("alg", Parameter::Text(ALGORITHM)),
            ("expires", Parameter::Number(created + self.options.lifetime.as_secs())),
            ("nonce", Parameter::Text(&nonce)),
            ("tag", Parameter::Text(TAG)),
        ];
        let input = base::input(&covered, &parameters);
        let signature = self.key.sign(&base::base(&covered, &input));
        [
            ("signature-agent", field),
            ("signature-input", format!("{LABEL}={input}")),
            ("signature", format!("{LABEL}=:{signature}:")),
        ]
    }

    fn identity(&self) -> String {
        format!("{} {:?}", self.key.thumbprint(), self.options)
    }
}
