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
        let (code, answer, authority) = self.records(request);
        self.wait(request).await;
        metadata.response_code = code;
        let response =
            MessageResponseBuilder::from_message_request(request).build(metadata, &answer, [], &authority, []);
        match handle.send_response(response).await {
            Ok(info) => info,
            // The client is gone; the server wants an account of what was tried.
            Err(_) => Header { metadata, counts: HeaderCounts::default() }.into(),
        }
    }

    /// Waits for the delay of the name that is asked for.
    async fn wait(&self, request: &Request) {
        let Ok(info) = request.request_info() else { return };
        let delay = self.names.delay(host_of(&Name::from(info.query.name().clone())).as_str());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }

    /// The response code, the answer and, where there is none, the record that says how long that holds.
    fn records(&self, request: &Request) -> (ResponseCode, Option<Record>, Option<Record>) {
        let Ok(info) = request.request_info() else { return (ResponseCode::FormErr, None, None) };
        let name = Name::from(info.query.name().clone());
        let ttl_s = self.names.ttl_s();
        let address = self.names.resolve(&host_of(&name));
        match (address, info.query.query_type()) {
            (Some(address), RecordType::A | RecordType::ANY) => {
                let address = RData::A(A(address));
                (ResponseCode::NoError, Some(Record::from_rdata(name, ttl_s, address)), None)
            }
            (Some(_), _) => (ResponseCode::NoError, None, Some(start_of_authority(&name, ttl_s))),
            (None, _) => (ResponseCode::NXDomain, None, Some(start_of_authority(&name, ttl_s))),
        }
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
