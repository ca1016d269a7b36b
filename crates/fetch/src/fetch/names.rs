//! Questions to the name servers: every server in turn, within one time, and only what answers the question.
//!
//! A lookup asks for A and AAAA records at once and ends within `dns.timeout`, whatever the servers do. The servers are
//! asked in the order of the configuration, beginning with the one that answered last: the next one gets the question
//! when one fails (no route, SERVFAIL, REFUSED, nonsense) or takes its time, and the first answer counts. A truncated
//! answer is asked for again over TCP.
//!
//! Servers are asked over UDP, over TLS or over HTTP/2 with TLS. The last two have to show a certificate for their name
//! by an authority that is trusted for web servers too; one that cannot is reported to the operator once, and never
//! asked in another way. Their connections are kept; a question over one that has ended is asked again over a new one.
//!
//! Of an answer only those records are taken that belong to the name, over at most [`CNAMES_MAX`] aliases, and of them
//! a bounded number. Nothing is remembered here: the DNS store keeps answers with their terms, so hickory's own cache
//! is off. Neither search domains nor the file of hosts are looked at; a crawl archives what the public names mean.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use rustls::ClientConfig;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::failure::is_of_files as is_out_of_files;
use super::tls::tls;
use super::{FILES_PAUSE, FetchOptions, StartError};
use crate::outcome::Cause;
use crate::web::name_server::{NameServer, Protocol};

/// Aliases that are followed inside of one answer; hickory follows eight from answer to answer.
const CNAMES_MAX: usize = 16;
/// Addresses of one family that are looked at.
const ADDRESSES_MAX: usize = 64;
/// The next server is asked too when the one before has not answered for this long.
const STAGGER_MAX: Duration = Duration::from_secs(2);
/// Time for which the addresses of one family wait for the other family: some servers never answer AAAA.
const OTHER_FAMILY: Duration = Duration::from_millis(500);
/// Questions in progress over one TCP connection to a server.
const QUESTIONS_MAX: usize = 4_096;

/// The name servers' answer about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// Its addresses by family, in the order in which they came, and how long they hold.
    Found { v4: Vec<IpAddr>, v6: Vec<IpAddr>, valid_for: Duration },
    /// There is no such name, or it has no address, for this long.
    Nothing { valid_for: Duration },
    /// No server answered in time, or none with an answer.
    Unanswered(Cause),
}

/// The answer to one question.
enum Records {
    Some(Vec<IpAddr>, Duration),
    Nothing(Nothing),
    Unanswered(Cause),
}

/// No such name, or none of its addresses.
struct Nothing {
    valid_for: Duration,
    /// The last name of its aliases, where the server does not say how long there is nothing: they may not end.
    end: Option<Name>,
}

/// The name servers of a crawl.
pub(super) struct NameServers {
    servers: Box<[Asked]>,
    /// The server that answered last; it is asked first.
    first: AtomicUsize,
    timeout: Duration,
    ttl: (Duration, Duration),
    negative_ttl: Duration,
}

/// A server that is asked.
struct Asked {
    resolver: TokioResolver,
    /// The server, as it is written, if it is asked over TLS.
    secured: Option<Box<str>>,
    /// The operator was warned why it cannot be asked.
    is_told: AtomicBool,
}

impl NameServers {
    /// The configured name servers, or the ones of the system.
    pub(super) fn new(options: &FetchOptions) -> Result<Self, StartError> {
        let fault = |e: NetError| StartError::Dns(e.to_string());
        let configs: Vec<(NameServerConfig, Option<Box<str>>)> = if options.nameservers.is_empty() {
            let of_system = read_system_conf().map_err(fault)?.0;
            of_system.name_servers().iter().map(|config| (config.clone(), None)).collect()
        } else {
            let secured = |server: &NameServer| (server.protocol != Protocol::Plain).then(|| server.to_string().into());
            options.nameservers.iter().map(|server| (server_at(server), secured(server))).collect()
        };
        if configs.is_empty() {
            return Err(StartError::Dns("the system names no name server".to_owned()));
        }
        let tls = tls(options, &[])?;
        let build = |(config, secured)| {
            let resolver = resolver(config, options.dns_timeout, tls.clone()).map_err(fault)?;
            Ok(Asked { resolver, secured, is_told: AtomicBool::new(false) })
        };
        Ok(NameServers {
            servers: configs.into_iter().map(build).collect::<Result<_, StartError>>()?,
            first: AtomicUsize::new(0),
            timeout: options.dns_timeout,
            ttl: options.ttl,
            negative_ttl: options.negative_ttl,
        })
    }

    /// The addresses of `name`, within `dns.timeout`.
    pub(super) async fn lookup(&self, name: &str) -> Resolution {
        let Some(name) = absolute(name) else {
            // what no name server could be asked for does not exist
            return Resolution::Nothing { valid_for: self.negative_ttl };
        };
        let deadline = Instant::now() + self.timeout;
        let v4 = self.ask(&name, RecordType::A, deadline);
        let v6 = self.ask(&name, RecordType::AAAA, deadline);
        match both(v4, v6).await {
            (Records::Some(v4, a), Records::Some(v6, b)) => Resolution::Found { v4, v6, valid_for: a.min(b) },
            (Records::Some(v4, valid_for), _) => Resolution::Found { v4, v6: Vec::new(), valid_for },
            (_, Records::Some(v6, valid_for)) => Resolution::Found { v4: Vec::new(), v6, valid_for },
            (Records::Nothing(a), Records::Nothing(b)) => {
                let valid_for = a.valid_for.min(b.valid_for);
                match a.end.or(b.end) {
                    Some(end) if self.is_alias(&end, deadline).await => Resolution::Unanswered(Cause::AliasLoop),
                    _ => Resolution::Nothing { valid_for },
                }
            }
            // half an answer is none: the other half may hold the addresses
            (Records::Unanswered(cause), _) | (_, Records::Unanswered(cause)) => Resolution::Unanswered(cause),
        }
    }

    /// Returns whether `name`, which was reached over aliases, is one itself: then there is no end of them.
    async fn is_alias(&self, name: &Name, deadline: Instant) -> bool {
        let server = self.first.load(Ordering::Relaxed) % self.servers.len();
        let answer = timeout_at(deadline, self.servers[server].lookup(name, RecordType::CNAME)).await;
        let Ok(Ok(lookup)) = answer else { return false };
        lookup.answers().iter().any(|record| record.name == *name && matches!(record.data, RData::CNAME(_)))
    }

    /// Asks one server after the other until one answers or `deadline` comes.
    async fn ask(&self, name: &Name, family: RecordType, deadline: Instant) -> Records {
        let count = self.servers.len();
        let first = self.first.load(Ordering::Relaxed) % count;
        let stagger = (self.timeout / (count as u32 + 1)).min(STAGGER_MAX);
        let mut asked = 0;
        let mut open = FuturesUnordered::new();
        let mut next_at = Instant::now();
        // what a server said counts more than that another one said nothing
        let mut cause = Cause::DnsSilent;
        loop {
            if asked < count && (open.is_empty() || next_at <= Instant::now()) {
                let server = (first + asked) % count;
                open.push(async move { (server, self.ask_one(server, name, family).await) });
                asked += 1;
                next_at = Instant::now() + stagger;
            }
            if open.is_empty() {
                return Records::Unanswered(cause);
            }
            tokio::select! {
                () = sleep_until(deadline) => return Records::Unanswered(cause),
                () = sleep_until(next_at), if asked < count => {}
                Some((server, records)) = open.next() => {
                    match records {
                        Records::Unanswered(Cause::DnsSilent) => {}
                        Records::Unanswered(said) => cause = said,
                        records => {
                            if server != first {
                                self.first.store(server, Ordering::Relaxed);
                            }
                            return records;
                        }
                    }
                    next_at = Instant::now();
                }
            }
        }
    }

    async fn ask_one(&self, server: usize, name: &Name, family: RecordType) -> Records {
        let answer = self.servers[server].lookup(name, family).await;
        match answer {
            Ok(lookup) => match records_of(name, &lookup) {
                (addresses, ttl) if addresses.is_empty() => {
                    Records::Nothing(Nothing { valid_for: self.negative(ttl), end: None })
                }
                (addresses, ttl) => Records::Some(addresses, self.positive(ttl)),
            },
            Err(NetError::Dns(DnsError::NoRecordsFound(none)))
                if matches!(none.response_code, ResponseCode::NXDomain | ResponseCode::NoError) =>
            {
                // without an SOA record nobody said that it holds at all (RFC 2308, section 5)
                let is_said = none.negative_ttl.is_some() || none.response_code == ResponseCode::NXDomain;
                let end = (!is_said).then(|| none.query.name().clone());
                Records::Nothing(Nothing { valid_for: self.negative(none.negative_ttl.unwrap_or(0)), end })
            }
            Err(error) => {
                tracing::debug!(%name, %family, %error, "a name server gave no answer");
                Records::Unanswered(cause_of(&error))
            }
        }
    }

    fn positive(&self, ttl_s: u32) -> Duration {
        ttl(ttl_s).clamp(self.ttl.0, self.ttl.1.max(self.ttl.0))
    }

    fn negative(&self, ttl_s: u32) -> Duration {
        ttl(ttl_s).max(self.ttl.0).min(self.negative_ttl)
    }
}

impl Asked {
    async fn lookup(&self, name: &Name, family: RecordType) -> Result<Lookup, NetError> {
        let mut is_new = self.secured.is_none();
        loop {
            match self.resolver.lookup(name.clone(), family).await {
                // no file is left for the question, which says nothing of the name
                Err(NetError::Io(error)) if is_out_of_files(&error) => sleep(FILES_PAUSE).await,
                Err(error) if is_of_connection(&error) && !is_new => is_new = true,
                Err(error) => {
                    self.tell(&error);
                    return Err(error);
                }
                answer => return answer,
            }
        }
    }

    /// The operator hears once why a server cannot be asked over TLS: a certificate that does not hold is no passing
    /// fault.
    fn tell(&self, error: &NetError) {
        if let Some(server) = &self.secured
            && is_of_connection(error)
            && !self.is_told.swap(true, Ordering::Relaxed)
        {
            // the library says of a certificate no more than that there is no connection
            tracing::warn!(
                "the name server {server} of dns.nameservers cannot be asked: {error}; is it there, and is its \
                 certificate for that name and by an authority that is trusted (fetch.ca_file adds some)?"
            );
        }
    }
}

/// True if a server could not be asked, or hung up, other than by taking its time.
fn is_of_connection(error: &NetError) -> bool {
    !matches!(error, NetError::Dns(_) | NetError::Timeout)
}

/// Returns the reason for which a name server gave no answer.
fn cause_of(error: &NetError) -> Cause {
    let code = match error {
        NetError::Dns(DnsError::ResponseCode(code)) => *code,
        NetError::Dns(DnsError::NoRecordsFound(none)) => none.response_code,
        NetError::Timeout => return Cause::DnsSilent,
        _ => return Cause::Dns,
    };
    match code {
        ResponseCode::ServFail => Cause::ServFail,
        ResponseCode::Refused => Cause::DnsRefused,
        _ => Cause::Dns,
    }
}

/// A TTL with its highest bit set counts as none (RFC 2181, section 8).
fn ttl(seconds: u32) -> Duration {
    if seconds > i32::MAX as u32 { Duration::ZERO } else { Duration::from_secs(u64::from(seconds)) }
}

/// Both answers. Where one has addresses, the other is waited for no longer than [`OTHER_FAMILY`].
async fn both(v4: impl Future<Output = Records>, v6: impl Future<Output = Records>) -> (Records, Records) {
    let (mut v4, mut v6) = (pin!(v4), pin!(v6));
    tokio::select! {
        first = &mut v4 => {
            let second = rest(&first, v6).await;
            (first, second)
        }
        first = &mut v6 => {
            let second = rest(&first, v4).await;
            (second, first)
        }
    }
}

async fn rest(first: &Records, second: impl Future<Output = Records>) -> Records {
    if matches!(first, Records::Some(..)) {
        timeout(OTHER_FAMILY, second).await.unwrap_or(Records::Unanswered(Cause::DnsSilent))
    } else {
        second.await
    }
}

/// `name` as the name servers are asked for it, absolute; nothing where it cannot be a name: empty or too long labels,
/// too long as a whole. Characters are not judged: names with underscores exist.
fn absolute(name: &str) -> Option<Name> {
    let labels = name.strip_suffix('.').unwrap_or(name);
    if labels.is_empty() || labels.split('.').any(str::is_empty) {
        return None;
    }
    Name::from_labels(labels.split('.').map(str::as_bytes)).ok()
}

/// The addresses that an answer has for `name`, each once, and the shortest TTL on the way to them.
fn records_of(name: &Name, lookup: &Lookup) -> (Vec<IpAddr>, u32) {
    let answers = lookup.answers();
    let mut owner = name;
    let mut ttl_s = u32::MAX;
    for _ in 0..CNAMES_MAX {
        let alias = answers.iter().find_map(|record| match &record.data {
            RData::CNAME(target) if record.name == *owner => Some((&target.0, record.ttl)),
            _ => None,
        });
        let Some((target, alias_ttl_s)) = alias else { break };
        owner = target;
        ttl_s = ttl_s.min(alias_ttl_s);
    }
    let mut addresses = Vec::new();
    for record in answers.iter().filter(|record| record.name == *owner) {
        if let Some(address) = record.data.ip_addr()
            && !addresses.contains(&address)
            && addresses.len() < ADDRESSES_MAX
        {
            addresses.push(address);
            ttl_s = ttl_s.min(record.ttl);
        }
    }
    (addresses, ttl_s)
}

/// A resolver that asks one server.
fn resolver(server: NameServerConfig, timeout: Duration, tls: ClientConfig) -> Result<TokioResolver, NetError> {
    let config = ResolverConfig::from_name_servers(vec![server]);
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    options.timeout = timeout;
    // a question is sent again over UDP within the time; another server is worth more than another try
    options.attempts = 0;
    options.cache_size = 0;
    // TTLs come as they are; their bounds are this module's
    options.positive_max_ttl = Some(Duration::from_secs(u64::from(u32::MAX)));
    options.use_hosts_file = ResolveHosts::Never;
    options.preserve_intermediates = true;
    options.max_active_requests = QUESTIONS_MAX;
    builder.with_tls_config(tls).build()
}

fn server_at(server: &NameServer) -> NameServerConfig {
    let ip = server.address.ip();
    let mut config = match &server.protocol {
        Protocol::Plain => NameServerConfig::udp_and_tcp(ip),
        Protocol::Tls { name } => NameServerConfig::tls(ip, (**name).into()),
        Protocol::Https { name, path } => NameServerConfig::https(ip, (**name).into(), Some((**path).into())),
    };
    for connection in &mut config.connections {
        connection.port = server.address.port();
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::proto::op::Query;
    use hickory_resolver::proto::rr::Record;
    use hickory_resolver::proto::rr::rdata::{A, CNAME};

    fn name(text: &str) -> Name {
        absolute(text).unwrap()
    }

    fn a(owner: &str, last: u8, ttl_s: u32) -> Record {
        Record::from_rdata(name(owner), ttl_s, RData::A(A::new(192, 0, 2, last)))
    }

    fn alias(owner: &str, target: &str, ttl_s: u32) -> Record {
        Record::from_rdata(name(owner), ttl_s, RData::CNAME(CNAME(name(target))))
    }

    fn records(answers: Vec<Record>) -> (Vec<IpAddr>, u32) {
        let asked = name("a.example");
        records_of(&asked, &Lookup::new_with_max_ttl(Query::query(asked.clone(), RecordType::A), answers))
    }

    #[test]
    fn a_name_is_asked_for_as_it_is_and_absolute() {
        for text in ["a.example", "A.example.", "_dmarc.a-.example", "xn--bcher-kva.example", "localhost"] {
            assert!(absolute(text).unwrap().is_fqdn(), "{text}");
        }
        assert!(absolute(&format!("{}.example", "a".repeat(63))).is_some());
    }

    #[test]
    fn what_cannot_be_a_name_is_asked_of_nobody() {
        let many = "a.".repeat(128) + "example";
        for text in ["", ".", "a..example", ".example", "a.example..", &"a".repeat(64), &many] {
            assert_eq!(absolute(text), None, "{text}");
        }
    }

    #[test]
    fn records_of_other_names_are_left_out() {
        assert_eq!(records(vec![a("b.example", 1, 60)]).0, Vec::<IpAddr>::new());
        let (addresses, ttl_s) = records(vec![a("b.example", 1, 5), a("A.example", 2, 60), a("a.example", 2, 60)]);
        assert_eq!(addresses, [IpAddr::from([192, 0, 2, 2])]);
        assert_eq!(ttl_s, 60);
    }

    #[test]
    fn aliases_lead_to_their_addresses_in_any_order_and_the_shortest_ttl_holds() {
        let answers = vec![
            a("c.example", 3, 600),
            alias("b.example", "c.example", 30),
            alias("a.example", "b.example", 300),
            a("a.example", 1, 1),
        ];
        assert_eq!(records(answers), (vec![[192, 0, 2, 3].into()], 30));
    }

    #[test]
    fn aliases_that_go_round_lead_nowhere() {
        let answers = vec![alias("a.example", "b.example", 60), alias("b.example", "a.example", 60)];
        assert!(records(answers).0.is_empty());
    }

    #[test]
    fn hundreds_of_addresses_are_cut() {
        let answers = (0..=255).map(|last| a("a.example", last, 60)).collect();
        assert_eq!(records(answers).0.len(), ADDRESSES_MAX);
    }
}
