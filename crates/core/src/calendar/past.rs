//! The knowledge of a page from earlier visits, as far as its archive does not have it: when it changed, what a
//! condition sends.
//!
//! ```text
//! | due s | fetched ms | changed ms | visits f32 | changes f32 | days f32 | changed days f32 | digest 20 | text 8 |
//! | flags: 1 map, 2 found, gone visits * 4 | if gone: since ms | ETag | Last-Modified |
//! ```
//! Times are varints, those behind `fetched` differences to it; texts follow their length, and an empty one is none.
//!
//! It has no place of the archive: where a record is, the archive's index alone says, which may be rebuilt at any time.
//! A visit asks the index for the payload by [`digest`](Past::digest).

use std::time::Duration;

use crate::clock::{Stored, Time};
use crate::varint;
use crate::web::validators::Validators;

/// Visits in a row without a page that are counted.
const GONE_VISITS_MAX: u8 = 63;
const MAP: u8 = 1;
const FOUND: u8 = 2;
/// Bits of the flags.
const FLAGS: u32 = 2;

/// Knowledge of a page from its earlier visits.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// Time at which it is due, in whole seconds. URL-seen has the same moment for its key; a record with another one
    /// is stale.
    pub due: Time,
    /// The beginning of the last fetch that brought an answer about the page.
    pub fetched: Time,
    /// Time at which the page was found changed the last time; at first the time of the first fetch.
    pub changed: Time,
    /// Counts of its visits and changes.
    pub history: History,
    /// SHA-1 of the payload that its last visit found, to which the validators belong; zeros where it is not known.
    pub digest: [u8; 20],
    /// Digest of its text, dates and numbers aside; 0 where there is none.
    pub text: u64,
    /// True if it is a sitemap or a feed.
    pub is_map: bool,
    /// Set once a visit has found it.
    pub is_found: bool,
    /// Validators that a conditional request sends.
    pub validators: Option<Validators>,
    /// Visits in a row that found no page, if it was not there when it was looked for last.
    pub gone: Option<Gone>,
}

/// Visits and changes so far, the older ones for less.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct History {
    /// Visits that compared the page with the one before.
    pub visits: f32,
    /// Visits that found it changed.
    pub changes: f32,
    /// Days between the first and the last of them.
    pub days: f32,
    /// Days of those between a visit that found it changed and the visit before.
    pub changed_days: f32,
}

/// Visits in a row that found no page (404, 410).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The number of such visits.
    pub visits: u8,
    /// Time of the first of them.
    pub since: Time,
}

impl Past {
    /// Knowledge of a page of which only [`Visited`](super::Visited) is left.
    pub fn of_visited(fetched: Time, due: Time, history: History) -> Past {
        Past {
            due,
            fetched,
            changed: fetched,
            history,
            digest: [0; 20],
            text: 0,
            is_map: false,
            is_found: false,
            validators: None,
            gone: None,
        }
    }

    /// The same as a visit at `at` believes it: what has happened was no later. The clock that dated it may have been
    /// ahead. When the payload was fetched is a date of the archive, and stays.
    #[must_use]
    pub fn as_of(self, at: Time) -> Past {
        let passed = |moment: Time| Stored::new(moment).passed(at);
        let gone = self.gone.map(|gone| Gone { since: passed(gone.since), ..gone });
        Past { fetched: passed(self.fetched), changed: passed(self.changed), gone, ..self }
    }

    /// Returns true where the payload is known that its last visit found.
    pub fn has_digest(&self) -> bool {
        self.digest != [0; 20]
    }

    /// Appends it to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        varint::push(self.due.ms() / 1_000, out);
        varint::push(self.fetched.ms(), out);
        let before = |time: Time| self.fetched.ms().wrapping_sub(time.ms());
        varint::push(before(self.changed), out);
        let History { visits, changes, days, changed_days } = self.history;
        for figure in [visits, changes, days, changed_days] {
            out.extend_from_slice(&figure.to_le_bytes());
        }
        out.extend_from_slice(&self.digest);
        out.extend_from_slice(&self.text.to_le_bytes());
        let visits = self.gone.map_or(0, |gone| gone.visits.clamp(1, GONE_VISITS_MAX));
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(visits << FLAGS | flag(self.is_map, MAP) | flag(self.is_found, FOUND));
        if let Some(gone) = self.gone {
            varint::push(before(gone.since), out);
        }
        let (etag, last_modified) = match &self.validators {
            None => (&[][..], &[][..]),
            Some(validators) => validators.parts(),
        };
        for text in [etag, last_modified] {
            varint::push(text.len() as u64, out);
            out.extend_from_slice(text);
        }
    }

    /// Reads one at `*at` and moves on; `None` for what [`Past::encode`] cannot have written.
    pub(crate) fn decode(bytes: &[u8], at: &mut usize) -> Option<Past> {
        let due = Time::from_ms(varint::read(bytes, at)?.checked_mul(1_000)?);
        let fetched = varint::read(bytes, at)?;
        let before = |bytes: &[u8], at: &mut usize| Some(Time::from_ms(fetched.wrapping_sub(varint::read(bytes, at)?)));
        let changed = before(bytes, at)?;
        let history = History {
            visits: figure(bytes, at)?,
            changes: figure(bytes, at)?,
            days: figure(bytes, at)?,
            changed_days: figure(bytes, at)?,
        };
        let digest = *take::<20>(bytes, at)?;
        let text = u64::from_le_bytes(*take(bytes, at)?);
        let flags = take::<1>(bytes, at)?[0];
        let gone = match flags >> FLAGS {
            0 => None,
            visits => Some(Gone { visits, since: before(bytes, at)? }),
        };
        let (etag, last_modified) = (varint::read_slice(bytes, at)?, varint::read_slice(bytes, at)?);
        let validators = Validators::from_parts(etag, last_modified)?;
        let fetched = Time::from_ms(fetched);
        let past = Past {
            due,
            fetched,
            changed,
            history,
            digest,
            text,
            is_map: flags & MAP != 0,
            is_found: flags & FOUND != 0,
            validators,
            gone,
        };
        Some(past)
    }

    /// Returns the time from the last fetch to the moment at which it is due.
    pub fn interval(&self) -> Duration {
        self.due.since(self.fetched)
    }
}

fn take<'a, const N: usize>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8; N]> {
    let taken = bytes.get(*at..)?.first_chunk()?;
    *at += N;
    Some(taken)
}

/// A count: nothing below 0, nothing that is no number.
fn figure(bytes: &[u8], at: &mut usize) -> Option<f32> {
    let figure = f32::from_le_bytes(*take(bytes, at)?);
    (figure.is_finite() && figure.is_sign_positive()).then_some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past() -> Past {
        Past {
            due: Time::from_ms(1_700_000_500_000),
            fetched: Time::from_ms(1_700_000_000_123),
            changed: Time::from_ms(1_690_000_000_001),
            history: History { visits: 2.5, changes: 1.0, days: 30.25, changed_days: 7.5 },
            digest: [7; 20],
            text: 0x0123_4567_89ab_cdef,
            is_map: true,
            is_found: true,
            validators: Validators::from_parts(b"\"tag\"", b"Sun, 06 Nov 1994 08:49:37 GMT").unwrap(),
            gone: Some(Gone { visits: 2, since: Time::from_ms(1_699_999_000_000) }),
        }
    }

    #[test]
    fn what_was_written_is_read_back_and_nothing_shorter() {
        let changes: [fn(&mut Past); 5] = [
            |_| {},
            |past| past.gone = None,
            |past| past.validators = None,
            |past| past.changed = past.due,
            |past| (past.is_map, past.is_found) = (false, true),
        ];
        for change in changes {
            let mut past = past();
            change(&mut past);
            let mut bytes = Vec::new();
            past.encode(&mut bytes);
            let mut at = 0;
            assert_eq!(Past::decode(&bytes, &mut at), Some(past));
            assert_eq!(at, bytes.len());
            for cut in 0..bytes.len() {
                assert_eq!(Past::decode(&bytes[..cut], &mut 0), None, "{cut} bytes");
            }
        }
    }

    #[test]
    fn figures_that_count_nothing_are_refused() {
        for figure in [f32::NAN, f32::INFINITY, -1.0] {
            let wrong = Past { history: History { visits: figure, ..History::default() }, ..past() };
            let mut bytes = Vec::new();
            wrong.encode(&mut bytes);
            assert_eq!(Past::decode(&bytes, &mut 0), None, "{figure}");
        }
    }
}
