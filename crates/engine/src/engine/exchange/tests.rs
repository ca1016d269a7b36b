//! Tests of when a shard of several cuts early.

use std::sync::Mutex;

use super::*;
use crate::disk::simulated::SimulatedDisk;
use crate::exchange::{OutFile, Position, Revision, UpTo, Visible};

/// A registry of which the test says what is known.
#[derive(Debug, Default)]
struct ScriptedRegistry(Mutex<News>);

impl Registry for ScriptedRegistry {
    fn open(&self, _: u32, _: Head) -> Revision {
        0
    }

    fn commit(&self, _: u32, _: Head) -> Revision {
        0
    }

    fn news(&self) -> News {
        self.0.lock().unwrap().clone()
    }

    fn set_hungry(&self, _: u32, _: bool) {}

    fn is_hungry(&self, _: u32) -> bool {
        false
    }
}

/// An idle shard that has read up to this revision, and has committed a link file at that one.
fn idle(read_to: Revision, links_at: Option<Revision>) -> Option<HeadAt> {
    let file = |revision| Visible { file: OutFile { number: 1, has_notes: false }, revision };
    let head = Head { number: 1, idle: Idle::Yes, read_to: UpTo::all(read_to), ..Head::default() };
    let files = links_at.map(file).into_iter().collect();
    Some(HeadAt { revision: links_at.unwrap_or(100), links_at: links_at.unwrap_or(0), head, files })
}

#[test]
fn an_idle_shard_does_not_cut_for_links_that_it_cannot_say_to_have_read_yet() {
    let disk = SimulatedDisk::new(1).disk();
    let dir = Path::new("/crawl/shard-001");
    disk.create_dir_all(dir).unwrap();
    let told = Arc::new(ScriptedRegistry::default());
    let options = ExchangeOptions {
        shard: Shard::new(1, 3),
        registry: told.clone(),
        crawl_dir: "/crawl".into(),
        disk: disk.clone(),
    };
    // the file of shard 2, which is of the same node, is read; what shard 0 has committed since 111 is not known
    let positions = vec![Position::default(), Position::default(), Position::behind(1)];
    let state = ExchangeState { positions, heads: vec![0; 3], ..ExchangeState::default() };
    let mut exchange = Exchange::open(options, &disk, dir, 1, state).unwrap();
    let heads = vec![idle(111, None), idle(111, None), idle(111, Some(120))];
    exchange.news = News { known: UpTo::all(111), heads, ..News::default() };
    assert!(exchange.is_read());
    assert!(!exchange.wants_cut(Idle::Yes), "it would say the same as its last checkpoint, again and again");
    exchange.news.known = UpTo::all(120);
    assert!(exchange.wants_cut(Idle::Yes), "now it can say that it has read the file");
    exchange.news.heads[1] = idle(120, None);
    assert!(!exchange.wants_cut(Idle::Yes), "it has said so");
}
