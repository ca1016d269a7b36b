//! Names: the look-up of one, and what follows from the answer of the name servers.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::contract::{ResolveJob, Unresolved};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::hosts::SAID_FOR;
use crate::engine::values::{Addresses, Term};
use crate::frontier::{Contact, HostId, NameAnswer};
use crate::outcome::{Failure, HostFault};

/// A failure of the name servers is not remembered for longer (RFC 2308, section 7).
const UNANSWERED_MAX: Duration = Duration::from_secs(5 * 60);

impl Engine {
    /// A name is to be resolved: by the name servers, unless the answer that another origin of the name got still
    /// holds.
    pub(in crate::engine) fn start_resolve(&mut self, host: HostId, name: Box<str>) -> Result<()> {
        if let Some(addresses) = self.admission.settings.hosts.get(&name) {
            let arrival = &mut self.admission.stores.arrival;
            let until = arrival.now + SAID_FOR;
            return arrival.frontier.resolved(host, NameAnswer::Found(addresses), until, arrival.now);
        }
        let stored = self.admission.stores.dns.peek(self.admission.home.keys.of(&name));
        let arrival = &mut self.admission.stores.arrival;
        match stored.as_ref().and_then(|stored| stored.fresh_since(arrival.now, arrival.anew)) {
            Some((NameAnswer::Unanswered, until)) => arrival.frontier.defer(host, until, arrival.now),
            Some((answer, until)) => arrival.frontier.resolved(host, answer.clone(), until, arrival.now)?,
            None => {
                self.requests.begin(host, Contact::Known, self.admission.clock.now());
                self.executors.resolve(ResolveJob { host, name });
            }
        }
        Ok(())
    }

    /// The name servers answered.
    pub(in crate::engine) fn resolved(
        &mut self,
        host: HostId,
        name: &str,
        answer: std::result::Result<(Arc<[IpAddr]>, Time), Unresolved>,
    ) -> Result<()> {
        let worker = self.requests.end(host, self.admission.stores.arrival.now);
        match &answer {
            Ok(_) => self.admission.books.statistics.dns_resolved += 1,
            Err(Unresolved { failure, cause, .. }) => {
                self.admission.stores.arrival.frontier.active_mut().blame(host, HostFault::Host(*cause));
                self.admission.books.statistics.dns_failed += 1;
                self.admission.books.statistics.count_failure(*failure);
                self.admission.books.log_unresolved(self.admission.stores.arrival.now, name, *failure, worker)?;
            }
        }
        let now = self.admission.stores.arrival.now;
        let of_prerequisite = answer.as_ref().map(|(list, _)| list).map_err(|unresolved| unresolved.cause);
        if let Some(failed) = self.prerequisites.resolved(host, name, of_prerequisite) {
            self.not_requested(failed)?;
        }
        let (answer, mut until) = match answer {
            Ok((addresses, expires)) => (NameAnswer::Found(addresses), expires),
            Err(Unresolved { failure, valid_for, .. }) => {
                let negative_ttl = self.admission.settings.negative_ttl;
                let holds = now + valid_for.map_or(negative_ttl, |holds| holds.min(negative_ttl));
                match failure {
                    Failure::NoSuchHost => (NameAnswer::NoSuchHost, holds),
                    Failure::PrivateAddress => (NameAnswer::PrivateAddress, holds),
                    _ => (NameAnswer::Unanswered, holds.min(now + UNANSWERED_MAX)),
                }
            }
        };
        self.admission.stores.arrival.frontier.resolved(host, answer.clone(), until, now)?;
        if answer == NameAnswer::Unanswered
            && let Some(held) = self.admission.stores.arrival.frontier.active().held(host)
        {
            until = until.min(held.until);
        }
        self.admission
            .stores
            .dns
            .put(self.admission.home.keys.of(name), Addresses::new(answer, Term { from: now, until }))
    }
}
