//! Examples of formats that nobody writes by hand, made by the program's own writers or by the libraries it reads with.

use std::io::Write;
use std::path::Path;

use super::stored;
use crate::checkpoint::{self, Checkpoint, Sections, Shape, begin, checkpoint_path};
use crate::clock::{Stored, Time};
use crate::container::ContainerState;
use crate::disk::simulated::SimulatedDisk;
use crate::drum::Value;
use crate::engine::hold_log::HoldLog;
use crate::engine::values::{Addresses, Robots, RobotsAnswer, Term};
use crate::fingerprint::Fingerprint;
use crate::frontier::fuzzing::queued;
use crate::frontier::{FrontierState, NameAnswer};
use crate::record::Statistics;
use crate::record::layout::StoreName;
use crate::web::robots::RobotsRules;

const TEXT: &[u8] = b"<a href=/one>one</a> <a href=/two>two</a> <a href=/three>three</a>";
const TERM: Term = Term { from: Time::from_ms(1_000), until: Time::from_ms(2_000) };

fn chosen(choice: u8, bytes: &[u8]) -> Vec<u8> {
    [&[choice], bytes].concat()
}

pub(super) fn codings() -> Vec<Vec<u8>> {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes all")
    };
    let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 3).expect("memory takes all");
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(TEXT).expect("memory takes all");
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    raw.write_all(TEXT).expect("memory takes all");
    let bomb = vec![b'0'; 4 << 20];
    vec![
        chosen(0, &gzip(TEXT)),
        chosen(0, &[gzip(TEXT), gzip(b"second member")].concat()),
        chosen(0, &gzip(&bomb)),
        chosen(1, &zlib.finish().expect("memory takes all")),
        chosen(1, &raw.finish().expect("memory takes all")),
        chosen(3, &zstd(TEXT)),
        chosen(3, &zstd(&bomb)),
        chosen(7, &gzip(&gzip(&bomb))),
    ]
}

pub(super) fn values() -> Vec<Vec<u8>> {
    let encoded = |choice: u8, encode: &dyn Fn(&mut Vec<u8>)| {
        let mut out = vec![choice];
        encode(&mut out);
        out
    };
    let text = b"User-agent: *\nDisallow: /private/*.pdf$\nAllow: /private/a\nCrawl-delay: 3\nDisallow: /cgi-bin";
    let rules = Robots::new(RobotsAnswer::Rules(RobotsRules::parse("crawler", text).into()), TERM);
    let unreachable = Robots::new(RobotsAnswer::Unreachable { since: Time::from_ms(900) }, TERM);
    let list = ["192.0.2.1", "2001:db8::1"].map(|text| text.parse().expect("an address")).into();
    let (found, none) = (Addresses::new(NameAnswer::Found(list), TERM), Addresses::new(NameAnswer::NoSuchHost, TERM));
    vec![
        encoded(0, &|out| rules.encode(out)),
        encoded(0, &|out| unreachable.encode(out)),
        encoded(1, &|out| found.encode(out)),
        encoded(1, &|out| none.encode(out)),
        encoded(2, &|out| queued(5).encode(out)),
    ]
}

pub(super) fn checkpoint() -> Vec<Vec<u8>> {
    let nothing = || postcard::from_bytes(&[0]).expect("a store without buckets");
    let made = Checkpoint {
        number: 7,
        time: Time::from_ms(7),
        clean: true,
        finish: None,
        stores: StoreName::ALL.map(|name| (name, nothing())).into(),
        frontier: FrontierState { partitions: vec![Default::default(); 2], ram_bytes: 3, ram_crc: 4 },
        container: ContainerState {
            value_number: 1,
            value_bytes: 2,
            key_bytes: 16,
            pages: 3,
            total_bytes: 4,
            moved_bytes: 0,
        },
        statistics: Statistics::default(),
        round: Default::default(),
        calendar: None,
        rechecked: Default::default(),
    };
    let sections = Sections {
        stores: [(StoreName::Seen, vec![1, 2, 3])].into(),
        replayed: vec![(Fingerprint::from_bits(9), true)],
        patterns: vec![3, 1, 200, 1],
        ..Sections::default()
    };
    let (disk, dir) = (SimulatedDisk::with_dir("crawl"), Path::new("crawl"));
    let shape = Shape { buckets: 4, partitions: 16, strip_query_params: &["utm".to_owned()] };
    let (identity, _) = begin::begin(&disk.disk(), dir, Time::ZERO, 5, shape).expect("memory takes all");
    checkpoint::renew(&disk.disk(), dir, &identity, &made, &sections).expect("memory takes all");
    vec![disk.get(checkpoint_path(dir, 7)).expect("the file was written")]
}

pub(super) fn hold_log() -> Vec<Vec<u8>> {
    let (disk, dir) = (SimulatedDisk::with_dir("crawl"), Path::new("crawl"));
    let (mut log, _) = HoldLog::open(disk.disk(), dir, 3, Stored::default(), Time::ZERO).expect("nothing is there");
    let hold = |bits: u64| (Fingerprint::from_bits(bits), Time::from_ms(5_000 * bits));
    log.push(&[hold(1), hold(2), hold(300)]).expect("memory takes all");
    let whole = disk.get(dir.join("rests.g000003")).expect("the log was written");
    let torn = whole[..whole.len() - 7].to_vec();
    vec![whole, torn, stored::hold_log_header().to_vec()]
}
