//! Tests of key.dat, and the record that other tests of the container change.

use super::record::FILE_BITS;
use super::*;
use crate::clock::Time;
use crate::fingerprint::Fingerprint;

pub(in crate::container) fn record(url: &str) -> KeyRecord {
    KeyRecord {
        offset: 0,
        key: Fingerprint::from_bits(7),
        file: 0,
        generation: 0,
        value_offset: 1,
        value_bytes: 2,
        time: Time::from_ms(3),
        status: 200,
        kind: None,
        robots: false,
        of_rendering: false,
        is_rendered: false,
        payload_sha1: [4; 20],
        payload_bytes: 5,
        truncated: false,
        has_statements: false,
        is_external: false,
        payload_at: None,
        was_revisit: false,
        is_removed: false,
        moved_to: None,
        previous: None,
        mime: "text/html".into(),
        url: url.into(),
    }
}

#[test]
fn n10_no_record_is_appended_where_40_bits_of_offset_do_not_reach() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = KeyFile::open(&Disk::real(), dir.path(), None).unwrap();
    // a file with a hole: it takes no room
    keys.len = OFFSET_MAX;
    let offset = keys.append(&record("http://a.example/last")).unwrap();
    assert_eq!(offset, OFFSET_MAX);
    assert_eq!(keys.read(offset).unwrap().url, "http://a.example/last");
    let length = keys.file.len().unwrap();
    let error = keys.append(&record("http://a.example/beyond")).unwrap_err();
    assert!(error.to_string().contains("key.dat") && error.to_string().contains("TiB"), "{error}");
    assert_eq!((keys.len(), keys.file.len().unwrap()), (length, length), "nothing was written");
}

#[test]
fn n10_a_number_that_its_field_cannot_hold_is_an_error_and_not_another_number() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = KeyFile::open(&Disk::real(), dir.path(), None).unwrap();
    let url = "http://a.example/";
    let largest = KeyRecord {
        file: (1 << FILE_BITS) - 1,
        generation: 15,
        value_offset: OFFSET_MAX,
        value_bytes: u64::from(u32::MAX),
        payload_bytes: u64::from(u32::MAX),
        previous: Some(OFFSET_MAX),
        ..record(url)
    };
    let offset = keys.append(&largest).unwrap();
    assert_eq!(keys.read(offset).unwrap(), KeyRecord { offset, ..largest.clone() });
    for beyond in [
        KeyRecord { file: 1 << FILE_BITS, ..record(url) },
        KeyRecord { value_offset: 1 << 40, ..record(url) },
        KeyRecord { value_bytes: 1 << 32, ..record(url) },
        KeyRecord { payload_bytes: 1 << 32, ..record(url) },
        KeyRecord { previous: Some(1 << 40), ..record(url) },
        KeyRecord { payload_at: Some(1 << 40), ..record(url) },
        KeyRecord { time: Time::from_ms(1 << 48), ..record(url) },
    ] {
        let length = keys.len();
        assert!(matches!(keys.append(&beyond), Err(Error::Limit { .. })), "{beyond:?}");
        assert_eq!(keys.len(), length);
    }
}

#[test]
fn a_file_with_another_header_is_not_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = KeyFile::open(&Disk::real(), dir.path(), None).unwrap();
    keys.append(&record("http://a.example/")).unwrap();
    let len = keys.len();
    assert!(KeyFile::open(&Disk::real(), dir.path(), Some(len)).is_ok());
    keys.file.write_all_at(b"x", 0).unwrap();
    assert!(KeyFile::open(&Disk::real(), dir.path(), Some(len)).is_err());
}

#[test]
fn what_a_compaction_changes_leaves_the_length_of_a_record_as_it_is() {
    let url = "http://a.example/";
    let revisit = KeyRecord { payload_at: Some(16), mime: "text/odd".into(), ..record(url) };
    let dir = tempfile::tempdir().unwrap();
    let mut keys = KeyFile::open(&Disk::real(), dir.path(), None).unwrap();
    let offset = [record(url), revisit.clone()].map(|record| keys.append(&record).unwrap())[1];
    let end = keys.len();
    let gone = KeyRecord { is_removed: true, value_offset: 0, value_bytes: 0, ..revisit.clone() };
    for changed in [
        KeyRecord { generation: 3, value_offset: 7, ..revisit.clone() },
        KeyRecord { payload_at: None, was_revisit: true, value_bytes: 9_999, ..revisit.clone() },
        KeyRecord { moved_to: Some(end), ..gone.clone() },
        gone,
    ] {
        keys.overwrite(offset, &changed.encode().unwrap()).unwrap();
        let read = keys.read(offset).unwrap();
        assert_eq!(read, KeyRecord { offset, ..changed.clone() });
        assert_eq!(read.is_response(), changed.was_revisit);
        assert_eq!(KeyFile::open_for_reading(&Disk::real(), dir.path()).unwrap().len(), end);
        assert_eq!(keys.scan(0).count(), 2);
    }
}
