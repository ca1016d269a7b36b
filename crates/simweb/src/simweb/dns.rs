//! The DNS side: answers A for the hosts of a web, nothing for their other types, and NXDOMAIN for all other names.

use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hickory_server::net::runtime::Time;
use hickory_server::proto::op::{Header, HeaderCounts, Metadata, ResponseCode};
use hickory_server::proto::rr::rdata::{A, SOA};
use hickory_server::proto::rr::{Name, RData, Record, RecordType};
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;
use tokio::net::{TcpListener, UdpSocket};

use super::http::Site;

/// Time for which a silent TCP connection stays open.
const TCP_TIMEOUT: Duration = Duration::from_secs(30);
/// Answers that may wait on a TCP connection.
const TCP_ANSWERS_MAX: usize = 64;

/// The names that a DNS server knows, and the time that it takes for them.
pub trait Names: Send + Sync + Unpin + 'static {
    /// The address of a name in lower case, if it exists.
    fn resolve(&self, name: &str) -> Option<Ipv4Addr>;

    /// Seconds for which an answer holds.
    fn ttl_s(&self) -> u32;

    /// The time before the answer for a name.
    fn delay(&self, _name: &str) -> Duration {
        Duration::ZERO
    }
}

impl Names for Arc<Site> {
    fn resolve(&self, name: &str) -> Option<Ipv4Addr> {
        self.answers.plan.resolve(name)
    }

    fn ttl_s(&self) -> u32 {
        self.answers.plan.options.dns_ttl_s
    }
}

/// A DNS server for the names of a web. It answers until it is dropped.
pub struct NameServer<N: Names> {
    server: hickory_server::Server<Answers<N>>,
}

impl<N: Names> NameServer<N> {
    /// Answers queries at `socket`, on the runtime that this is called in, and counts them in `queries`.
    pub fn start(names: N, queries: Arc<AtomicU64>, socket: UdpSocket) -> Self {
        let mut server = hickory_server::Server::new(Answers { names, queries });
        server.register_socket(socket);
        NameServer { server }
    }

    /// Answers queries over TCP as well.
    pub fn listen(&mut self, listener: TcpListener) {
        self.server.register_listener(listener, TCP_TIMEOUT, TCP_ANSWERS_MAX);
    }
}

/// Answers queries from the names.
struct Answers<N> {
    names: N,
    queries: Arc<AtomicU64>,
}

impl<N: Names> Answers<N> {
    async fn answer<R: ResponseHandler>(&self, request: &Request, mut handle: R) -> ResponseInfo {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let mut metadata = Metadata::response_from_request(&request.metadata);
        metadata.authoritative = true;
        let Found { code, answer, authority, delay } = self.find(request);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        metadata.response_code = code;
        let response =
            MessageResponseBuilder::from_message_request(request).build(metadata, &answer, [], &authority, []);
        match handle.send_response(response).await {
            Ok(info) => info,
            // The client is gone; the server wants an account of what was tried.
            Err(_) => Header { metadata, counts: HeaderCounts::default() }.into(),
        }
    }

    /// Returns what is known of the name that is asked for.
    fn find(&self, request: &Request) -> Found {
        let Ok(info) = request.request_info() else { return Found::of(ResponseCode::FormErr, Duration::ZERO) };
        let name = Name::from(info.query.name().clone());
        let (host, ttl_s) = (host_of(&name), self.names.ttl_s());
        let (address, delay) = (self.names.resolve(&host), self.names.delay(&host));
        match (address, info.query.query_type()) {
            (Some(address), RecordType::A | RecordType::ANY) => {
                let answer = Some(Record::from_rdata(name, ttl_s, RData::A(A(address))));
                Found { answer, ..Found::of(ResponseCode::NoError, delay) }
            }
            (address, _) => {
                let code = if address.is_some() { ResponseCode::NoError } else { ResponseCode::NXDomain };
                Found { authority: Some(start_of_authority(&name, ttl_s)), ..Found::of(code, delay) }
            }
        }
    }
}

/// An answer, and how long it takes.
struct Found {
    code: ResponseCode,
    answer: Option<Record>,
    /// The record that says how long it holds that there is no answer.
    authority: Option<Record>,
    /// The time before the answer.
    delay: Duration,
}

impl Found {
    fn of(code: ResponseCode, delay: Duration) -> Self {
        Found { code, answer: None, authority: None, delay }
    }
}

/// The name as URLs have it.
fn host_of(name: &Name) -> String {
    let mut host = name.to_ascii().to_ascii_lowercase();
    host.truncate(host.trim_end_matches('.').len());
    host
}

/// The authority's record for the top-level domain of a name.
fn start_of_authority(name: &Name, ttl_s: u32) -> Record {
    let zone = name.trim_to(1);
    let soa = SOA::new(zone.clone(), zone.clone(), 1, 3_600, 600, 86_400, ttl_s);
    Record::from_rdata(zone, ttl_s, RData::SOA(soa))
}

impl<N: Names> RequestHandler for Answers<N> {
    // Written out, because the trait's macro is a separate crate.
    fn handle_request<'server, 'request, 'future, R, T>(
        &'server self,
        request: &'request Request,
        handle: R,
    ) -> Pin<Box<dyn Future<Output = ResponseInfo> + Send + 'future>>
    where
        'server: 'future,
        'request: 'future,
        R: ResponseHandler + 'future,
        T: Time + 'future,
    {
        Box::pin(self.answer(request, handle))
    }
}
