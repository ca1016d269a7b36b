//! The DNS side: answers A for the hosts of the web, nothing for their other types, and NXDOMAIN for all other names.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hickory_server::net::runtime::Time;
use hickory_server::proto::op::{Header, HeaderCounts, Metadata, ResponseCode};
use hickory_server::proto::rr::rdata::{A, SOA};
use hickory_server::proto::rr::{Name, RData, Record, RecordType};
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;

use super::http::Site;

/// Answers queries from the plan of a web.
pub(super) struct NameServer {
    pub site: Arc<Site>,
    pub queries: Arc<AtomicU64>,
}

impl NameServer {
    async fn answer<R: ResponseHandler>(&self, request: &Request, mut handle: R) -> ResponseInfo {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let mut metadata = Metadata::response_from_request(&request.metadata);
        metadata.authoritative = true;
        let (code, answer, authority) = self.records(request);
        metadata.response_code = code;
        let response =
            MessageResponseBuilder::from_message_request(request).build(metadata, &answer, [], &authority, []);
        match handle.send_response(response).await {
            Ok(info) => info,
            // The client is gone; the server wants an account of what was tried.
            Err(_) => Header { metadata, counts: HeaderCounts::default() }.into(),
        }
    }

    /// The response code, the answer and, where there is none, the record that says how long that holds.
    fn records(&self, request: &Request) -> (ResponseCode, Option<Record>, Option<Record>) {
        let Ok(info) = request.request_info() else { return (ResponseCode::FormErr, None, None) };
        let plan = &self.site.answers.plan;
        let name = Name::from(info.query.name().clone());
        let ascii = name.to_ascii().to_ascii_lowercase();
        let ttl_s = plan.options.dns_ttl_s;
        let host = ascii.trim_end_matches('.');
        let address = plan.resolve(host);
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

/// The authority's record for the top-level domain of a name.
fn start_of_authority(name: &Name, ttl_s: u32) -> Record {
    let zone = name.trim_to(1);
    let soa = SOA::new(zone.clone(), zone.clone(), 1, 3_600, 600, 86_400, ttl_s);
    Record::from_rdata(zone, ttl_s, RData::SOA(soa))
}

impl RequestHandler for NameServer {
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
