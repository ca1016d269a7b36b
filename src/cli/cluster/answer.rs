//! The output of `crawler cluster status`.

use std::fmt::Write;

use serde_json::json;

use crate::cluster::{FiguresRecord, State, View};
use crate::crawl::cluster::Look;
use crate::exchange::Idle;
use crate::text::figures::{count, size};

/// Returns the state of the crawl, as lines or as one JSON object.
pub(super) fn status(look: &Look, as_json: bool) -> String {
    if as_json { object(look) } else { table(look) }
}

/// Returns the message for an order to all machines, where the crawl was in the state `before`.
pub(super) fn wanted(state: State, before: &View) -> String {
    if let Some(end) = before.end {
        return format!("the crawl has ended: {}; new seeds let it go on: crawler cluster add-seeds", end.finish);
    }
    let nobody = match before.nodes.len() {
        0 => "; no machine takes part at present",
        _ => "",
    };
    match state {
        State::Run if before.nodes.is_empty() => {
            "resumed; no machine takes part at present: crawler cluster run starts one".to_owned()
        }
        State::Run => "resumed".to_owned(),
        State::Pause => {
            format!("paused: requests in flight may finish, new ones wait for crawler cluster resume{nobody}")
        }
        State::Stop if before.nodes.is_empty() => {
            "stopped: no machine takes part, and none can before crawler cluster resume".to_owned()
        }
        State::Stop => format!(
            "stopping: {} machines end behind a last checkpoint; crawler cluster resume lets them be started again",
            before.nodes.len()
        ),
    }
}

fn state(view: &View) -> &'static str {
    match (view.end, view.want.state) {
        (Some(_), _) => "ended",
        (None, State::Run) => "running",
        (None, State::Pause) => "paused",
        (None, State::Stop) if view.nodes.is_empty() => "stopped",
        (None, State::Stop) => "stopping",
    }
}

/// Returns the sum of the figures of all machines.
fn sum(figures: &[(String, FiguresRecord)]) -> FiguresRecord {
    figures.iter().fold(FiguresRecord::default(), |sum, (_, of)| FiguresRecord {
        hungry: [sum.hungry, of.hungry.clone()].concat(),
        pages: sum.pages + of.pages,
        bytes: sum.bytes + of.bytes,
        pages_per_1000s: sum.pages_per_1000s + of.pages_per_1000s,
        in_flight: sum.in_flight + of.in_flight,
        queued: sum.queued + of.queued,
    })
}

fn figures_text(figures: &FiguresRecord) -> String {
    format!(
        "{} pages, {} received, {:.1} pages/s, {} queued, {} in flight",
        count(figures.pages),
        size(figures.bytes),
        figures.pages_per_1000s as f64 / 1_000.0,
        count(figures.queued),
        count(figures.in_flight)
    )
}

fn left(idle: Idle) -> &'static str {
    match idle {
        Idle::No => "busy",
        Idle::Silent => "silent hosts",
        Idle::Yes => "idle",
    }
}

fn table(Look { id, era, view, figures, left: limits }: &Look) -> String {
    let heads = || view.heads.iter().flatten().map(|head| &head.record);
    let (pages, bytes): (u64, u64) = (heads().map(|head| head.pages).sum(), heads().map(|head| head.bytes).sum());
    let recovered = if *era > 0 { format!(", era {era}") } else { String::new() };
    let mut out = format!(
        "crawl {id}{recovered}: {}; {} pages, {} received, by the last checkpoints\n",
        state(view),
        count(pages),
        size(bytes)
    );
    if let Some(pages) = limits.pages {
        let _ = writeln!(out, "limit: {} pages that no shard has yet", count(pages));
    }
    if let Some(bytes) = limits.bytes {
        let _ = writeln!(out, "limit: {} that no shard has yet", size(bytes));
    }
    if let Some(end) = view.end {
        let _ = writeln!(out, "ended: {}", end.finish);
    }
    if view.nodes.is_empty() && view.end.is_none() {
        out.push_str("No machine takes part: crawler cluster run starts one.\n");
    }
    if figures.len() > 1 {
        let _ = writeln!(out, "{} nodes: {}", figures.len(), figures_text(&sum(figures)));
    }
    for (name, node) in &view.nodes {
        let owned = view.owners.iter().flatten().filter(|owner| owner.node == *name).count();
        let figures = figures.iter().find(|(of, _)| of == name).map(|(_, figures)| figures);
        let draining = if view.draining.contains(name) { ", drains" } else { "" };
        let figures = figures.map_or(String::new(), |figures| format!(", {}", figures_text(figures)));
        let _ = writeln!(out, "node {name}: {owned} shards, weight {}{draining}{figures}", node.record.weight);
    }
    for (shard, owner) in view.owners.iter().enumerate() {
        let owner = owner.as_ref().map_or("nobody", |owner| owner.node.as_str());
        let head = view.heads[shard].as_ref().map(|head| &head.record).filter(|head| head.number > 0);
        let head = head.map_or("no checkpoint".to_owned(), |head| {
            // the last checkpoint before the end is made while nothing is asked for any more, and does not say "idle"
            let left = if view.end.is_some() { String::new() } else { format!(", {}", left(head.idle)) };
            format!("checkpoint {}, {} pages{left}", head.number, count(head.pages))
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

fn figures_of(told: &FiguresRecord) -> serde_json::Value {
    json!({
        "pages": told.pages,
        "bytes": told.bytes,
        "pages_per_second": told.pages_per_1000s as f64 / 1_000.0,
        "queued": told.queued,
        "in_flight": told.in_flight,
        "hungry": told.hungry,
    })
}

fn object(Look { id, era, view, figures, left: limits }: &Look) -> String {
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
                "figures": told.map(figures_of),
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
                "left": head.filter(|_| view.end.is_none()).map(|head| left(head.idle)),
                "revision": view.heads[shard].as_ref().map(|head| head.revision),
                "links_at": view.heads[shard].as_ref().map(|head| head.links_at()),
                "read_to": head.map(|head| head.read_to.last()),
                "halted": view.halted.get(&(shard as u32)).map(|halted| &halted.file),
            })
        })
        .collect();
    let end = view.end.map(|end| end.finish.to_string());
    let lists = view.seeds.len();
    let all = json!({
        "crawl": id,
        "era": era,
        "revision": view.known.last(),
        "state": state(view),
        "end": end,
        "seed_lists": lists,
        "rounds": view.seeds.values().map(|list| list.record.round).max(),
        "limits_left": { "pages": limits.pages, "bytes": limits.bytes },
        "figures": figures_of(&sum(figures)),
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
        let figures = ["one", "two"].map(|name| {
            let told = FiguresRecord { pages: 700, pages_per_1000s: 2_500, queued: 30, ..FiguresRecord::default() };
            (name.to_owned(), told)
        });
        let look = Look { id: "abc".to_owned(), view, figures: figures.to_vec(), ..Look::default() };
        let text = status(&look, false);
        assert!(text.contains("crawl abc: running; 1,200 pages"), "{text}");
        assert!(text.contains("\n2 nodes: 1,400 pages, 0 B received, 5.0 pages/s, 60 queued, 0 in flight\n"), "{text}");
        assert!(text.contains("shard 000: nobody, no checkpoint\n"), "{text}");
        assert!(text.contains("shard 001: one, checkpoint 7, 1,200 pages, busy\n"), "{text}");
        assert!(status(&Look { era: 2, ..look.clone() }, false).starts_with("crawl abc, era 2: running; "));
        let json: serde_json::Value = serde_json::from_str(&status(&look, true)).unwrap();
        assert_eq!(json["figures"]["pages_per_second"].as_f64(), Some(5.0));
        assert_eq!((json["state"].as_str(), json["shards"][1]["checkpoint"].as_u64()), (Some("running"), Some(7)));
    }

    #[test]
    fn orders_say_what_comes_of_them() {
        let mut view = View::new(1);
        assert!(wanted(State::Stop, &view).contains("none can before crawler cluster resume"));
        assert!(wanted(State::Run, &view).contains("crawler cluster run starts one"));
        view.nodes.insert("one".to_owned(), crate::cluster::NodeAt { lease: 1, record: Default::default() });
        assert!(wanted(State::Stop, &view).starts_with("stopping: 1 machines end"));
        assert_eq!(wanted(State::Run, &view), "resumed");
        view.end = Some(crate::cluster::EndRecord { finish: crate::record::Finish::Complete });
        assert!(wanted(State::Pause, &view).starts_with("the crawl has ended: "));
    }
}
