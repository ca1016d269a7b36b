//! The record of a checkpoint as versions 1 to 3 of the file wrote it: without a count of requisites.
//!
//! Records are stored by position, so a count that is missing in the middle of one makes everything behind it something
//! else. All that lies before is read, to find where that is, and the record is read with a zero there.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::Checkpoint;
use crate::clock::Time;
use crate::container::ContainerState;
use crate::drum::DrumState;
use crate::frontier::FrontierState;
use crate::outcome::{Failure, Reason};
use crate::record::{CheckpointCosts, Ends, Finish, LimitedList};

/// The fields of a [`Checkpoint`] up to its counters.
#[derive(Deserialize)]
struct UpToCounters(
    #[expect(dead_code, reason = "only its length is of interest")] Named,
    #[expect(dead_code, reason = "only its length is of interest")] Counters,
);

type Named = (u64, Time, bool, Option<Finish>, [DrumState; 3], FrontierState, ContainerState);

/// Pages, requests and bytes; statuses, failures and reasons; who was limited; seventeen counts from links to hosts;
/// depth, time, costs, ends.
type Counters = (
    [u64; 4],
    (BTreeMap<u16, u64>, BTreeMap<Failure, u64>, BTreeMap<Reason, u64>),
    LimitedList,
    [u64; 17],
    (u16, Duration, CheckpointCosts, Ends),
);

/// What a record without pairs of domains lacks at its end: that it has no store of them.
pub(super) const WITHOUT_SUPPORT: [u8; 1] = [0];
/// What one without a calendar lacks: that it has none, no store of visits, and none of pairs.
pub(super) const WITHOUT_CALENDAR: [u8; 3] = [0, 0, 0];

/// A record without what it says of a calendar.
pub(super) fn without_calendar(record: Checkpoint) -> Checkpoint {
    Checkpoint { calendar: None, visits: None, ..record }
}

/// Reads the record in `bytes`, which says nothing of pairs of domains.
pub(super) fn read_without_support(bytes: &[u8]) -> postcard::Result<Checkpoint> {
    postcard::from_bytes(&[bytes, &WITHOUT_SUPPORT].concat())
}

/// Reads the record in `bytes`, which says nothing of a calendar.
pub(super) fn read_without_calendar(bytes: &[u8]) -> postcard::Result<Checkpoint> {
    postcard::from_bytes(&[bytes, &WITHOUT_CALENDAR].concat())
}

/// Reads the record in `bytes`, which has no count of requisites either.
pub(super) fn read(bytes: &[u8]) -> postcard::Result<Checkpoint> {
    let (_, rest) = postcard::take_from_bytes::<UpToCounters>(bytes)?;
    let mut whole = bytes[..bytes.len() - rest.len()].to_vec();
    whole.push(0);
    whole.extend_from_slice(rest);
    read_without_calendar(&whole)
}

#[cfg(test)]
mod tests {
    use super::super::tests::checkpoint;
    use super::*;

    #[test]
    fn a_record_without_a_count_of_requisites_is_read_with_none() {
        let mut record = checkpoint(300);
        record.statistics.count_status(200);
        record.statistics.count_failure(Failure::Tls);
        record.statistics.count_dropped(Reason::Robots);
        record.statistics.limited.count(Reason::HostPages, "http://a", 3);
        record.statistics.hosts = 77_000;
        record.statistics.ends.dropped = 9;
        record.statistics.elapsed = Duration::from_millis(1_234_567);
        let bytes = |requisites_stored| {
            let mut record = record.clone();
            record.statistics.requisites_stored = requisites_stored;
            let mut bytes = postcard::to_stdvec(&record).unwrap();
            assert_eq!(bytes.split_off(bytes.len() - WITHOUT_CALENDAR.len()), WITHOUT_CALENDAR);
            bytes
        };
        let (none, one) = (bytes(0), bytes(1));
        let place = none.iter().zip(&one).position(|(a, b)| a != b).unwrap();
        let mut earlier = none.clone();
        earlier.remove(place);
        let found = read(&earlier).unwrap();
        assert_eq!(postcard::to_stdvec(&found).unwrap(), [&none, &WITHOUT_CALENDAR[..]].concat());
        assert!(read(&earlier[..earlier.len() - 1]).is_err() && read(&[]).is_err());
    }
}
