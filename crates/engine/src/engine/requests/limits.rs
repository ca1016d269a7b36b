//! Limits for the whole crawl: requests a second and bytes a second.
//!
//! governor keeps the accounts (the generic cell rate algorithm), on the engine's clock. A request is asked for before
//! it is made. Bytes are known only after they have come: they are a debt, and no request is made before it is paid.
//! All engines of a process have one account. Where several machines work on a crawl, each has an equal part of the
//! limits, which changes as machines come and go.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use crate::clock::{Clock, Time};

/// Requests of this time may start together.
const BURST: Duration = Duration::from_millis(20);

/// The engine's clock as governor wants it.
#[derive(Clone)]
struct Source(Arc<dyn Clock>);

impl GovernorClock for Source {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.now().ms())
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, Source, NoOpMiddleware<Duration>>;

/// The rates of a process, shared exactly by all of its engines.
pub struct Rates {
    limits: Mutex<Limits>,
}

impl Rates {
    /// Limits of `requests_per_second` and `bytes_per_second`; one that is not set does not limit.
    pub(crate) fn new(clock: Arc<dyn Clock>, requests_per_second: Option<f64>, bytes_per_second: Option<u64>) -> Self {
        Rates { limits: Mutex::new(Limits::new(clock, (requests_per_second, bytes_per_second), 1)) }
    }

    fn lock(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Other limits from now on; what was received and is not paid for stays a debt. Each engine may say so: it is done
    /// once.
    pub(crate) fn renew(&self, requests_per_second: Option<f64>, bytes_per_second: Option<u64>) {
        let mut limits = self.lock();
        let machines = limits.machines;
        limits.change((requests_per_second, bytes_per_second), machines);
    }

    /// Gives equal parts of the limits to `machines` machines from now on. One alone has everything.
    pub fn share(&self, machines: usize) {
        let mut limits = self.lock();
        let rates = limits.rates;
        limits.change(rates, u32::try_from(machines.max(1)).unwrap_or(u32::MAX));
    }

    /// `count` bytes have come.
    pub(crate) fn received(&self, count: u64) {
        let mut limits = self.lock();
        if limits.bytes.is_some() {
            limits.debt_bytes = limits.debt_bytes.saturating_add(count);
        }
    }

    /// Takes the right to make one request, or says when to ask again.
    pub(crate) fn request(&self) -> Result<(), Time> {
        self.lock().request()
    }

    /// A right that was taken and is not used now: the next one that is asked for. One is kept for the process, not one
    /// for each engine, or all of them would be used at once some day.
    pub(crate) fn give_back(&self) {
        self.lock().has_spare = true;
    }
}

/// Rates that are asked for: requests and bytes a second.
type PerSecond = (Option<f64>, Option<u64>);

/// Both limits.
struct Limits {
    clock: Arc<dyn Clock>,
    /// Rates of all machines together, and the number of machines.
    rates: PerSecond,
    machines: u32,
    requests: Option<Limiter>,
    bytes: Option<(Limiter, u32)>,
    debt_bytes: u64,
    /// A right that was taken and given back.
    has_spare: bool,
}

impl Limits {
    fn new(clock: Arc<dyn Clock>, rates: PerSecond, machines: u32) -> Self {
        let source = Source(clock.clone());
        let requests = rates.0.map(|rate| rate / f64::from(machines)).and_then(|rate| {
            // what falls into BURST may start at once, or a clock of milliseconds could not keep up with a high rate
            let burst = NonZeroU32::new((rate * BURST.as_secs_f64()) as u32).unwrap_or(NonZeroU32::MIN);
            let quota = Quota::with_period(Duration::from_secs_f64(1.0 / rate.max(1e-6)))?.allow_burst(burst);
            Some(RateLimiter::direct_with_clock(quota, source.clone()))
        });
        let bytes = rates.1.map(|rate| rate / u64::from(machines)).map(|rate| {
            let rate = NonZeroU32::new(u32::try_from(rate).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN);
            (RateLimiter::direct_with_clock(Quota::per_second(rate), source), rate.get())
        });
        Limits { clock, rates, machines, requests, bytes, debt_bytes: 0, has_spare: false }
    }

    fn change(&mut self, rates: PerSecond, machines: u32) {
        if (self.rates, self.machines) == (rates, machines) {
            return;
        }
        let renewed = Limits::new(self.clock.clone(), rates, machines);
        let debt_bytes = if renewed.bytes.is_some() { self.debt_bytes } else { 0 };
        *self = Limits { debt_bytes, ..renewed };
    }

    fn request(&mut self) -> Result<(), Time> {
        self.pay_debt()?;
        match &self.requests {
            Some(_) if std::mem::take(&mut self.has_spare) => Ok(()),
            Some(limiter) => limiter.check().map_err(|refusal| self.when(refusal.earliest_possible())),
            None => Ok(()),
        }
    }

    fn pay_debt(&mut self) -> Result<(), Time> {
        let Some((limiter, burst)) = &self.bytes else { return Ok(()) };
        while self.debt_bytes > 0 {
            let part = u32::try_from(self.debt_bytes).unwrap_or(u32::MAX).min(*burst);
            let part_checked = NonZeroU32::new(part).unwrap_or(NonZeroU32::MIN);
            match limiter.check_n(part_checked) {
                Ok(Ok(())) => self.debt_bytes -= u64::from(part),
                Ok(Err(refusal)) => return Err(self.when(refusal.earliest_possible())),
                // a part is never larger than the burst
                Err(_) => self.debt_bytes = 0,
            }
        }
        Ok(())
    }

    fn when(&self, earliest: Duration) -> Time {
        let at = Time::from_ms(u64::try_from(earliest.as_millis()).unwrap_or(u64::MAX).saturating_add(1));
        at.max(self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn requests_are_spread_over_the_second() {
        let clock = Arc::new(ManualClock::new(Time::from_ms(1_000_000)));
        let limits = Rates::new(clock.clone(), Some(10.0), None);
        let mut made = 0;
        for _ in 0..1_000 {
            made += u32::from(limits.request().is_ok());
            clock.advance(Duration::from_millis(10));
        }
        assert!((95..=102).contains(&made), "{made} requests in 10 s at 10 a second");
    }

    #[test]
    fn bytes_that_came_hold_the_next_request_back() {
        let clock = Arc::new(ManualClock::new(Time::from_ms(1_000_000)));
        let limits = Rates::new(clock.clone(), None, Some(1_000));
        assert!(limits.request().is_ok());
        limits.received(5_000);
        let began = clock.now();
        while let Err(again) = limits.request() {
            assert!(again > clock.now());
            clock.advance(again.since(clock.now()));
        }
        let held = clock.now().since(began).as_millis();
        assert!((3_900..=5_000).contains(&held), "5,000 bytes at 1,000 a second held a request back for {held} ms");
    }

    #[test]
    fn a_debt_outlives_a_change_of_the_limit_and_not_its_end() {
        let clock = Arc::new(ManualClock::new(Time::from_ms(1_000_000)));
        let limits = Rates::new(clock.clone(), None, Some(1_000));
        limits.received(50_000);
        limits.renew(None, Some(2_000));
        let again = limits.request().unwrap_err();
        assert!(again > clock.now());
        limits.renew(None, None);
        assert!(limits.request().is_ok());
        limits.renew(None, Some(1_000));
        assert!(limits.request().is_ok(), "what came while there was no limit is no debt");
    }

    #[test]
    fn machines_have_equal_parts_of_the_limits_as_they_come_and_go() {
        let clock = Arc::new(ManualClock::new(Time::from_ms(1_000_000)));
        let rates = Rates::new(clock.clone(), Some(12.0), Some(9_000));
        let in_10_s = |machines| {
            rates.share(machines);
            let made: u32 = (0..10_000)
                .map(|_| {
                    clock.advance(Duration::from_millis(1));
                    u32::from(rates.request().is_ok())
                })
                .sum();
            made
        };
        for (machines, most) in [(1, 120), (3, 40), (4, 30), (1, 120), (0, 120)] {
            let made = in_10_s(machines);
            assert!((most - 5..=most + 2).contains(&made), "{made} requests in 10 s as one of {machines}");
        }
        rates.share(3);
        rates.received(9_000);
        let began = clock.now();
        while let Err(again) = rates.request() {
            clock.advance(again.since(clock.now()));
        }
        let held = clock.now().since(began).as_millis();
        assert!((1_900..=3_100).contains(&held), "9,000 bytes at 3,000 a second held a request back for {held} ms");
    }

    #[test]
    fn engines_of_a_process_share_one_rate_and_one_debt() {
        let clock = Arc::new(ManualClock::new(Time::from_ms(1_000_000)));
        let rates = Arc::new(Rates::new(clock.clone(), Some(10.0), None));
        let mut made = [0; 3];
        for step in 0..3_000 {
            made[step % 3] += u32::from(rates.request().is_ok());
            clock.advance(Duration::from_millis(10));
        }
        let all: u32 = made.iter().sum();
        assert!((295..=302).contains(&all), "{made:?} requests in 30 s at 10 a second");
        // what several engines do not use is one request later, and not one of each
        clock.advance(Duration::from_secs(10));
        for _ in 0..3 {
            assert!(rates.request().is_ok());
            clock.advance(Duration::from_millis(100));
        }
        (0..3).for_each(|_| rates.give_back());
        assert!(rates.request().is_ok() && rates.request().is_ok() && rates.request().is_err());
        rates.renew(None, Some(1_000));
        rates.received(3_000);
        // the others hear of the same change, and nothing is forgiven by that
        rates.renew(None, Some(1_000));
        assert!(rates.request().is_err());
    }
}
