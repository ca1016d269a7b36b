//! Cases whose hosts are asked within hours alone: plain ones, half of whose hosts have hours of their own.

use std::sync::Arc;
use std::time::Duration;

use super::{Case, pick, rendered};
use crate::frontier::{Budget, Politeness, Treatment, Treatments};
use crate::hours::Hours;

/// Tells the generator of this part from the others of a seed.
const SEVENTH: u64 = 0x6807_0000_0000_0000;
/// Hours of some minutes up to a day, of which every day has some.
const HOURS: [&str; 6] = [
    "22:00-06:00 Europe/Berlin",
    "00:00-00:10, 04:00-04:10, 08:00-08:10, 12:00-12:10, 16:00-16:10, 20:00-20:10",
    "Mon-Fri 01:00-05:00, Sat-Sun 00:00-24:00 America/New_York",
    "17:20-17:25 America/New_York",
    "Tue 23:00-02:30, Mon-Sun 12:30-13:00 Europe/Berlin",
    "00:00-23:59 Asia/Kathmandu",
];

/// Gives the hosts of a plain case hours, and has the pages of some rendered.
pub(super) fn limit(case: &mut Case) {
    let rng = &mut fastrand::Rng::with_seed(case.seed ^ SEVENTH);
    let mut hours = || rng.bool().then(|| Arc::new(pick(rng, &HOURS).parse::<Hours>().expect("they are hours")));
    let (of_all, of_some) = (hours(), hours());
    let politeness = Politeness { hours: of_some, ..case.frontier.politeness.clone() };
    case.frontier.politeness.hours = of_all;
    if rng.bool() {
        let treatment = Treatment { politeness, budget: Budget::UNLIMITED };
        case.frontier.treatments = Some(Arc::new(SomeHosts { half: rng.u8(0..2), treatment: Arc::new(treatment) }));
    }
    // their clocks are the true one, and who is away for hours must not pass for dead
    case.lives.iter_mut().for_each(|life| life.clock_set = None);
    (case.web.dead_share, case.web.robots_broken_share) = (0.0, 0.0);
    case.frontier.politeness.dead_after = u32::MAX;
    case.frontier.give_up = Duration::from_secs(90 * 24 * 3_600);
    if rng.u8(0..4) == 0 {
        rendered::render(case);
    }
}

/// Half of the hosts, by their names.
#[derive(Debug)]
struct SomeHosts {
    half: u8,
    treatment: Arc<Treatment>,
}

impl Treatments for SomeHosts {
    fn of(&self, host: &str) -> Option<Arc<Treatment>> {
        let sum = host.bytes().fold(0_u8, u8::wrapping_add);
        (sum % 2 == self.half).then(|| self.treatment.clone())
    }

    fn delay_max(&self) -> Duration {
        self.treatment.politeness.delay_max
    }

    fn as_json(&self) -> &str {
        "{}"
    }
}
