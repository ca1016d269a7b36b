//! Connections to servers, straight or through a proxy, with TLS where the URL wants it; all of them are metered.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tower_service::Service;

use super::connection::{Metered, Stream};
use super::resolver::GuardedResolver;

/// A connection that is silent for so long is asked whether it is still there, as often again, and given up then.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 3;
/// What was sent has to be confirmed within this time.
const UNCONFIRMED_MAX: Duration = Duration::from_secs(30);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections to addresses that the resolver permits.
#[derive(Clone)]
pub(super) struct Connector {
    http: HttpConnector<GuardedResolver>,
    tls: Arc<ClientConfig>,
    proxy: Option<Proxy>,
    timeout: Duration,
}

/// A proxy for all connections.
#[derive(Clone)]
pub(super) struct Proxy {
    /// Where it is.
    pub uri: Uri,
    /// `Proxy-Authorization`, where its URL has a name and a password.
    pub authorization: Option<HeaderValue>,
    /// TLS to itself, which speaks no HTTP/2.
    pub tls: Arc<ClientConfig>,
}

impl Connector {
    /// Connections that are made within `timeout`, handshakes included.
    pub(super) fn new(
        resolver: GuardedResolver,
        tls: Arc<ClientConfig>,
        proxy: Option<Proxy>,
        timeout: Duration,
    ) -> Self {
        let mut http = HttpConnector::new_with_resolver(resolver);
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEPALIVE));
        http.set_keepalive_interval(Some(KEEPALIVE));
        http.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        #[cfg(target_os = "linux")]
        http.set_tcp_user_timeout(Some(UNCONFIRMED_MAX));
        Connector { http, tls, proxy, timeout }
    }

    async fn connect(self, to: Uri) -> Result<TokioIo<Metered>, BoxError> {
        let Some(proxy) = self.proxy else {
            return open(HttpsConnector::from((self.http, self.tls)), to, false).await;
        };
        let to_proxy = HttpsConnector::from((self.http, proxy.tls));
        if to.scheme_str() != Some("https") {
            return open(to_proxy, proxy.uri, true).await;
        }
        let mut tunnel = Tunnel::new(proxy.uri, to_proxy);
        if let Some(authorization) = proxy.authorization {
            tunnel = tunnel.with_auth(authorization);
        }
        open(HttpsConnector::from((tunnel, self.tls)), to, false).await
    }
}

async fn open<C>(mut connector: C, to: Uri, proxied: bool) -> Result<TokioIo<Metered>, BoxError>
where
    C: Service<Uri, Error = BoxError>,
    C::Response: Stream + 'static,
{
    std::future::poll_fn(|cx| connector.poll_ready(cx)).await?;
    Ok(Metered::new(connector.call(to).await?, proxied))
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Metered>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the time for connecting is over");
            tokio::time::timeout(this.timeout, this.connect(to)).await.map_err(late)?
        })
    }
}
