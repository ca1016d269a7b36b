//! A fetch executor with nobody around it: one request or lookup at a time, or several.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crawler::clock::{Clock, SystemClock};
use crawler::container::Referrer;
use crawler::contract::{
    Addressed, Fault, FetchFailed, FetchJob, RenderWish, Reply, ReplyTo, RequestSettings, ResolveJob, Response, Target,
    Unresolved,
};
use crawler::fetch::{Arrived, FetchHandle, FetchOptions, Fetcher};
use crawler::fingerprint::Fingerprint;
use crawler::frontier::{Hops, HostId, Provenance};
use crawler::web::address::AddressGuard;
use crawler::web::name_server::NameServer;
use crawler::web::scope::{Scope, ScopeMode, ScopeOptions};
use crawler::web::url::CanonicalUrl;
use crossbeam_channel::{Receiver, bounded};

/// Nothing here takes nearly as long; what hangs must not hang the suite.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Answers of a [`Client`] that can wait to be taken.
const PLACES: usize = 1_024;

/// Outcome of a request.
pub type Outcome = Result<Response, Box<FetchFailed>>;

/// A fetch executor.
pub struct Client {
    requests: Option<FetchHandle>,
    fetcher: Fetcher,
    clock: Arc<dyn Clock>,
    answers: Receiver<Arrived>,
    replies: Receiver<Result<Reply, Fault>>,
    reply: ReplyTo,
}

/// Returns the usual settings of requests, after `change`.
pub fn usual(change: impl FnOnce(&mut RequestSettings)) -> Arc<RequestSettings> {
    let mut usual = RequestSettings {
        user_agent: "ourbot/1.0".to_owned(),
        agent_token: "ourbot".to_owned(),
        body_max: 1 << 20,
        timeout_head: Duration::from_secs(30),
        timeout_total: Duration::from_secs(60),
        ..RequestSettings::default()
    };
    change(&mut usual);
    Arc::new(usual)
}

/// Options that ask nobody for names.
pub fn options() -> FetchOptions {
    FetchOptions {
        usual: usual(|_| ()),
        timeout_connect: Duration::from_secs(20),
        rate_min: 1,
        body_max: 1 << 20,
        spool_dir: std::env::temp_dir(),
        spool_max: 1 << 30,
        http2: true,
        connections_per_host: 1,
        idle_max: 100,
        roots: Vec::new(),
        nameservers: vec!["127.0.0.1:9".parse().unwrap()],
        dns_timeout: Duration::from_secs(10),
        ttl: (Duration::from_secs(60), Duration::from_secs(86_400)),
        negative_ttl: Duration::from_secs(600),
        lease: Default::default(),
    }
}

/// Options that ask `nameservers`.
pub fn options_with(nameservers: impl IntoIterator<Item = SocketAddr>) -> FetchOptions {
    FetchOptions { nameservers: nameservers.into_iter().map(NameServer::plain).collect(), ..options() }
}

impl Client {
    /// A client that may connect to loopback.
    pub fn start(options: FetchOptions) -> Self {
        Client::start_allowing(options, &["127.0.0.0/8", "::1"])
    }

    /// A client that may connect to the public internet and `allowed`.
    pub fn start_allowing(options: FetchOptions, allowed: &[&str]) -> Self {
        let allowed: Vec<_> = allowed.iter().map(|range| range.parse().unwrap()).collect();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let (answers_in, answers) = bounded(PLACES);
        let (replies_in, replies) = bounded(PLACES);
        let fetcher = Fetcher::start(options, AddressGuard::new(&allowed), clock.clone(), answers_in).unwrap();
        let reply = ReplyTo::new(0, move |reply| replies_in.send(reply).unwrap());
        Client { requests: Some(fetcher.handle()), fetcher, clock, answers, replies, reply }
    }

    /// Begins a request to `addresses`; without any the name is asked for.
    pub fn begin(&self, url: &str, addresses: &[&str]) {
        let scope = ScopeOptions { mode: ScopeMode::Any, ..ScopeOptions::default() };
        let provenance = Provenance { depth: 0, seed: 0, hops: Hops::default() };
        let job = FetchJob {
            settings: None,
            host: HostId::NONE,
            target: Target::Robots {
                origin: "".into(),
                key: Fingerprint::from_bits(0),
                redirects: 0,
                provenance,
                for_others: false,
            },
            url: CanonicalUrl::parse(url).unwrap(),
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            scope: Arc::new(Scope::new(&scope, std::iter::empty()).unwrap()),
            via: Referrer::Nobody,
            cookie: None,
            sessions: 0,
            condition: None,
            past: None,
            render: RenderWish::No,
            id_seed: 0,
        };
        self.requests.as_ref().unwrap().fetch(Addressed { job, reply: self.reply.clone() });
    }

    /// The engine whose requests they are is gone.
    pub fn hang_up(&mut self) {
        self.requests = None;
    }

    /// Returns the outcome of a request that was begun.
    pub fn end(&self) -> Outcome {
        crossbeam_channel::select! {
            recv(self.answers) -> answer => Ok(answer.unwrap().fetched.response),
            recv(self.replies) -> reply => match reply.unwrap() {
                Ok(Reply::Failed(failed)) => Err(failed),
                other => panic!("{other:?}"),
            },
            default(PATIENCE) => panic!("the request did not end"),
        }
    }

    /// The fault of the disk that a request ended with.
    pub fn fault(&self) -> crawler::disk::Error {
        match self.replies.recv_timeout(PATIENCE) {
            Ok(Err(Fault::Disk(fault))) => fault,
            other => panic!("{other:?}"),
        }
    }

    /// Sends a request to `addresses`, and returns its outcome.
    pub fn get(&self, url: &str, addresses: &[&str]) -> Outcome {
        self.begin(url, addresses);
        self.end()
    }

    /// The addresses of `name`, and how long they hold.
    pub fn resolve(&self, name: &str) -> Result<(Vec<IpAddr>, Duration), Unresolved> {
        let job = ResolveJob { host: HostId::NONE, name: name.into() };
        self.fetcher.resolve(Addressed { job, reply: self.reply.clone() });
        let Ok(Ok(Reply::Resolved(_, answered, answer))) = self.replies.recv_timeout(PATIENCE) else {
            panic!("{name} got no answer");
        };
        assert_eq!(&*answered, name);
        answer.map(|(addresses, until)| (addresses.to_vec(), until.since(self.clock.now())))
    }
}
