//! The entry of a page in the store of visits, so that a calendar record that is no longer the page's is recognised,
//! and a date that somebody names for the page can be compared with the last fetch.
//!
//! ```text
//! | fetched s 4 | due s 4 | visits 1 | changes 1 | days 1 | changed days 1 | flags 1 | text 4 |
//!                                                                              1 gone for good, 2 found
//! ```
//! The text is the lower half of its digest: a visit that a hint has brought forward is compared by text too. Visits
//! and changes are quarters, at most 63; days have eight steps a power of two, from a thousandth of a day on.

use super::past::{History, Past};
use crate::clock::Time;
use crate::drum::Value;

const GONE: u8 = 1;
const FOUND: u8 = 2;
/// Parts of a visit that are distinguished.
const PARTS: f32 = 4.0;
/// Steps of a code of days in a power of two, and the days of code 1.
const STEPS: f32 = 8.0;
const DAYS_MIN: f32 = 0.001;

/// Knowledge of the visits of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visited {
    /// Time of the last one, in whole seconds.
    pub fetched: Time,
    /// Time at which the page is due, in whole seconds.
    pub due: Time,
    /// Rough counts of its visits and changes.
    pub history: History,
    /// True if the page is gone for good and not looked for any more.
    pub is_gone: bool,
    /// Set once a visit has found it.
    pub is_found: bool,
    /// Digest of its text, the lower half; 0 where it is not known.
    pub text: u32,
}

impl Visited {
    /// Returns what the store keeps of a page of which this is known.
    pub fn of(past: &Past) -> Visited {
        let Past { fetched, due, history, is_found, text, .. } = *past;
        Visited { fetched, due, history, is_gone: false, is_found, text: text as u32 }
    }

    /// The same as [`Past`], as far as it goes.
    pub fn to_past(self) -> Past {
        let Visited { fetched, due, history, is_found, text, .. } = self;
        Past { text: text.into(), is_found, ..Past::of_visited(fetched, due, history) }
    }
}

impl Value for Visited {
    const FIXED_BYTES: Option<usize> = Some(17);

    fn encode(&self, out: &mut Vec<u8>) {
        for time in [self.fetched, self.due] {
            out.extend_from_slice(&u32::try_from(time.ms() / 1_000).unwrap_or(u32::MAX).to_le_bytes());
        }
        let History { visits, changes, days, changed_days } = self.history;
        let parts = |count: f32| (count * PARTS).round() as u8;
        let flags = if self.is_gone { GONE } else { 0 } | if self.is_found { FOUND } else { 0 };
        out.extend([parts(visits), parts(changes), code_of(days), code_of(changed_days), flags]);
        out.extend_from_slice(&self.text.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (fetched, rest) = bytes.split_first_chunk()?;
        let (due, rest) = rest.split_first_chunk()?;
        let &[visits, changes, days, changed_days, flags, ref text @ ..] = rest else { return None };
        let seconds = |bytes: &[u8; 4]| Time::from_ms(u64::from(u32::from_le_bytes(*bytes)) * 1_000);
        let history = History {
            visits: f32::from(visits) / PARTS,
            changes: f32::from(changes) / PARTS,
            days: days_of(days),
            changed_days: days_of(changed_days),
        };
        let (is_gone, is_found) = (flags & GONE != 0, flags & FOUND != 0);
        let text = u32::from_le_bytes(text.try_into().ok()?);
        let visited = Visited { fetched: seconds(fetched), due: seconds(due), history, is_gone, is_found, text };
        (flags & !(GONE | FOUND) == 0).then_some(visited)
    }
}

fn code_of(days: f32) -> u8 {
    let step = (days / DAYS_MIN).max(1.0).log2() * STEPS;
    if days > 0.0 { 1 + (step.round() as u8).min(u8::MAX - 1) } else { 0 }
}

fn days_of(code: u8) -> f32 {
    if code == 0 { 0.0 } else { DAYS_MIN * (f32::from(code - 1) / STEPS).exp2() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visited(visits: f32, days: f32) -> Visited {
        let history = History { visits, changes: visits / 2.0, days, changed_days: days / 3.0 };
        let (fetched, due) = (Time::from_ms(1_700_000_000_000), Time::from_ms(1_700_003_600_000));
        Visited { fetched, due, history, is_gone: visits > 5.0, is_found: visits < 20.0, text: 0x8000_0001 }
    }

    #[test]
    fn times_come_back_to_the_second_and_the_history_as_exact_as_its_codes() {
        for (visits, days) in [(0.0, 0.0), (0.5, 0.002), (2.0, 1.0), (7.25, 30.0), (31.0, 900.0)] {
            let before = visited(visits, days);
            let mut bytes = Vec::new();
            before.encode(&mut bytes);
            assert_eq!(Some(bytes.len()), Visited::FIXED_BYTES);
            let after = Visited::decode(&bytes).unwrap();
            let exact =
                |visited: Visited| (visited.fetched, visited.due, visited.is_gone, visited.is_found, visited.text);
            assert_eq!(exact(after), exact(before));
            assert!((after.history.visits - visits).abs() <= 1.0 / 8.0, "{after:?}");
            assert!((after.history.days - days).abs() <= days / 16.0, "{after:?}");
        }
        assert_eq!(Visited::decode(&[0; 16]), None);
        assert_eq!(Visited::decode(&[4; 17]), None);
    }
}
