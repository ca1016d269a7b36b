//! Addresses of etcd, and the identity of the client.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::web::secret::{Secret, SecretAddress};

/// The way in which etcd is reached.
#[derive(Clone)]
pub struct EtcdOptions {
    /// `http://host:port` or `https://host:port`, one or more members of one cluster.
    pub endpoints: Vec<SecretAddress>,
    /// Certificates (PEM) by which the members are verified; none: those that browsers have.
    pub ca: Option<PathBuf>,
    /// Certificate chain and key (PEM) of this client.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// User and password, where etcd has authentication on.
    pub user: Option<(String, Secret)>,
    /// An endpoint that has not answered a call after this time is given up, and the next one asked.
    pub timeout: Duration,
    /// A question without a clear answer is repeated for this long.
    pub patience: Duration,
    /// The highest revision that is known from before, such as from names of objects: an etcd that has not come as far
    /// is another one.
    pub revision_seen: u64,
}

impl Default for EtcdOptions {
    fn default() -> Self {
        EtcdOptions {
            endpoints: Vec::new(),
            ca: None,
            certificate: None,
            user: None,
            timeout: Duration::from_secs(5),
            patience: Duration::from_secs(30),
            revision_seen: 0,
        }
    }
}

impl fmt::Debug for EtcdOptions {
    /// Leaves the password out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdOptions")
            .field("endpoints", &self.endpoints)
            .field("user", &self.user.as_ref().map(|(name, _)| name))
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Reasons for which a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no endpoint.
    #[error("no endpoint of etcd is given")]
    NoEndpoint,
    /// An endpoint is not of the form that is understood.
    #[error(
        "{endpoint} is no endpoint of etcd: it has to be like http://10.0.0.1:2379, or https, without user and password"
    )]
    Endpoint {
        /// The endpoint as given.
        endpoint: SecretAddress,
    },
    /// A certificate or key cannot be read.
    #[error("{path}: {detail}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The fault, in words.
        detail: String,
    },
    /// Certificates that do not go together, or a protocol that is not there.
    #[error("TLS for etcd: {0}")]
    Tls(#[from] rustls::Error),
    /// The HTTP client.
    #[error("the HTTP client for etcd: {0}")]
    Http(#[from] reqwest::Error),
    /// The runtime's thread.
    #[error("the thread for etcd: {0}")]
    Thread(#[from] std::io::Error),
}
