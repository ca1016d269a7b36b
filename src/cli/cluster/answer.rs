//! What `crawler cluster status` prints.

use std::fmt::Write;

use serde_json::json;

use crate::cluster::{FiguresRecord, State, View};
use crate::exchange::Idle;
use crate::text::figures::{count, size};

/// How the crawl stands, as lines or as one JSON object.
pub(super) fn status(id: &str, view: &View, figures: &[(String, FiguresRecord)], as_json: bool) -> String {
    if as_json { object(id, view, figures) } else { table(id, view, figures) }
}

fn wanted(view: &View) -> &'static str {
    match (view.end, view.want.state) {
        (Some(_), _) => "ended",
        (None, State::Run) => "running",
        (None, State::Pause) => "paused",
        (None, State::Stop) => "stopped",
    }
}

fn left(idle: Idle) -> &'static str {
    match idle {
        Idle::No => "busy",
        Idle::Silent => "silent hosts",
        Idle::Yes => "idle",
    }
}

fn table(id: &str, view: &View, figures: &[(String, FiguresRecord)]) -> String {
    let heads = || view.heads.iter().flatten().map(|head| &head.record);
    let (pages, bytes): (u64, u64) = (heads().map(|head| head.pages).sum(), heads().map(|head| head.bytes).sum());
    let mut out = format!(
        "crawl {id}: {}; {} pages, {} received, by the last checkpoints\n",
        wanted(view),
        count(pages),
        size(bytes)
    );
    if let Some(end) = view.end {
        let _ = writeln!(out, "ended: {}", end.finish);
    }
    for (name, node) in &view.nodes {
        let owned = view.owners.iter().flatten().filter(|owner| owner.node == *name).count();
        let told = figures.iter().find(|(of, _)| of == name).map(|(_, figures)| figures.pages);
        let draining = if view.draining.contains(name) { ", drains" } else { "" };
        let pages = told.map_or(String::new(), |pages| format!(", {} pages", count(pages)));
        let _ = writeln!(out, "node {name}: {owned} shards, weight {}{pages}{draining}", node.record.weight);
    }
    for (shard, owner) in view.owners.iter().enumerate() {
        let owner = owner.as_ref().map_or("nobody", |owner| owner.node.as_str());
        let head = view.heads[shard].as_ref().map(|head| &head.record).filter(|head| head.number > 0);
        let head = head.map_or("no checkpoint".to_owned(), |head| {
            format!("checkpoint {}, {} pages, {}", head.number, count(head.pages), left(head.idle))
        });
        let halted = view.halted.get(&(shard as u32));
        let halted = halted.map_or(String::new(), |why| format!("; HALTED at byte {} of {}", why.offset, why.file));
        let _ = writeln!(out, "shard {shard:03}: {owner}, {head}{halted}");
    }
    if !view.halted.is_empty() && view.end.is_none() {
        out.push_str(
            "The crawl cannot complete while shards are halted: crawler cluster resume SHARD, once repaired.\n",
        );
    }
    out
}

fn object(id: &str, view: &View, figures: &[(String, FiguresRecord)]) -> String {
    let nodes: Vec<_> = view
        .nodes
        .iter()
        .map(|(name, node)| {
            let told = figures.iter().find(|(of, _)| of == name).map(|(_, figures)| figures);
            json!({
                "name": name,
                "weight": node.record.weight,
                "version": node.record.version,
                "draining": view.draining.contains(name),
                "pages": told.map(|told| told.pages),
                "hungry": told.map(|told| &told.hungry),
            })
        })
        .collect();
    let shards: Vec<_> = (0..view.owners.len())
        .map(|shard| {
            let head = view.heads[shard].as_ref().map(|head| &head.record);
            json!({
                "shard": shard,
                "owner": view.owners[shard].as_ref().map(|owner| &owner.node),
                "checkpoint": head.map(|head| head.number),
                "pages": head.map(|head| head.pages),
                "bytes": head.map(|head| head.bytes),
                "left": head.map(|head| left(head.idle)),
                "revision": view.heads[shard].as_ref().map(|head| head.revision),
                "links_at": view.heads[shard].as_ref().map(|head| head.links_at()),
                "read_to": head.map(|head| head.read_to),
                "halted": view.halted.get(&(shard as u32)).map(|halted| &halted.file),
            })
        })
        .collect();
    let end = view.end.map(|end| end.finish.to_string());
    let lists = view.seeds.len();
    let all = json!({
        "crawl": id,
        "revision": view.revision,
        "state": wanted(view),
        "end": end,
        "seed_lists": lists,
        "nodes": nodes,
        "shards": shards,
    });
    format!("{all}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{HeadAt, HeadRecord, OwnerAt};

    #[test]
    fn a_shard_is_told_with_its_owner_its_last_checkpoint_and_what_halts_it() {
        let mut view = View::new(2);
        let record = HeadRecord { number: 7, pages: 1_200, ..HeadRecord::default() };
        view.heads[1] = Some(HeadAt { revision: 9, record });
        view.owners[1] = Some(OwnerAt { node: "one".to_owned(), epoch: 3, lease: 5 });
        let text = status("abc", &view, &[], false);
        assert!(text.contains("crawl abc: running; 1,200 pages"), "{text}");
        assert!(text.contains("shard 000: nobody, no checkpoint\n"), "{text}");
        assert!(text.contains("shard 001: one, checkpoint 7, 1,200 pages, busy\n"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&status("abc", &view, &[], true)).unwrap();
        assert_eq!((json["state"].as_str(), json["shards"][1]["checkpoint"].as_u64()), (Some("running"), Some(7)));
    }
}
