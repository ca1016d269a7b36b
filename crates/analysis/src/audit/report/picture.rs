//! Pictures in SVG, within the page: bars of a distribution, the tree of the site, the graph of a sample of its pages.

use std::fmt::Write;

use super::super::figures::Class;
use super::super::sample::Sample;
use super::super::tree::Branch;
use super::layout;
use crate::text::escape::escaped;
use crate::text::figures::count;

const BAR_HEIGHT: usize = 22;
const WIDTH: usize = 520;
const GRAPH: f64 = 640.0;
/// Depths that have their own colours.
const COLOURS: usize = 6;

/// A text within markup.
pub(super) fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// Classes as bars.
pub(super) fn bars(title: &str, classes: &[Class]) -> String {
    let most = classes.iter().map(|class| class.count).max().unwrap_or(0).max(1);
    let height = classes.len() * BAR_HEIGHT;
    let mut svg =
        format!("<figure><figcaption>{}</figcaption><svg viewBox='0 0 {WIDTH} {height}' role='img'>", text(title));
    for (row, class) in classes.iter().enumerate() {
        let (y, length) = (row * BAR_HEIGHT, class.count as f64 / most as f64 * 300.0);
        let (name, number) = (text(&class.name), count(class.count));
        let base = y + 15;
        let _ = write!(
            svg,
            "<text x='112' y='{base}' text-anchor='end'>{name}</text><rect class='bar' x='120' y='{}' \
             width='{length:.1}' height='16' rx='2'/><text class='soft' x='{:.1}' y='{base}'>{number}</text>",
            y + 3,
            126.0 + length
        );
    }
    svg.push_str("</svg></figure>");
    svg
}

/// The tree of a site, a line for each directory.
pub(super) fn tree(root: &Branch) -> String {
    let mut lines = Vec::new();
    for host in &root.children {
        branch(host, 0, &mut lines);
    }
    if root.more > 0 {
        lines.push((0, format!("and {} more hosts", count(root.more)), 0, 0, 0));
    }
    let most = lines.iter().map(|line| line.2 + line.3 + line.4).max().unwrap_or(0).max(1);
    let (width, height) = (900, lines.len() * BAR_HEIGHT);
    let mut svg = format!("<svg viewBox='0 0 {width} {height}' role='img'>");
    for (row, (level, name, pages, others, faults)) in lines.iter().enumerate() {
        let y = row * BAR_HEIGHT;
        let _ = write!(svg, "<text x='{}' y='{}'>{}</text>", 4 + level * 24, y + 15, text(name));
        let mut x = 420.0;
        for (class, number) in [("bar", pages), ("other", others), ("fault", faults)] {
            let length = *number as f64 / most as f64 * 380.0;
            let _ = write!(svg, "<rect class='{class}' x='{x:.1}' y='{}' width='{length:.1}' height='16'/>", y + 3);
            x += length;
        }
        let all = pages + others + faults;
        if all > 0 {
            let _ = write!(svg, "<text class='soft' x='{:.1}' y='{}'>{}</text>", x + 6.0, y + 15, count(all));
        }
    }
    svg.push_str("</svg>");
    svg
}

type TreeLine = (usize, String, u64, u64, u64);

fn branch(found: &Branch, level: usize, lines: &mut Vec<TreeLine>) {
    let name: String = found.name.chars().take(44).collect();
    lines.push((level, name, found.pages, found.others, found.faults));
    for child in &found.children {
        branch(child, level + 1, lines);
    }
    if found.more > 0 {
        lines.push((level + 1, format!("and {} more", count(found.more)), 0, 0, 0));
    }
}

/// The pages of a sample and the links between them.
pub(super) fn graph(sample: &Sample) -> String {
    let places = layout::places(sample);
    let at = |page: usize| (12.0 + places[page].x * (GRAPH - 24.0), 12.0 + places[page].y * (GRAPH - 24.0));
    let mut svg = format!("<svg class='graph' viewBox='0 0 {GRAPH} {GRAPH}' role='img'>");
    for &(from, to) in &sample.edges {
        let ((x, y), (to_x, to_y)) = (at(from), at(to));
        let _ = write!(svg, "<line x1='{x:.1}' y1='{y:.1}' x2='{to_x:.1}' y2='{to_y:.1}'/>");
    }
    for (number, page) in sample.pages.iter().enumerate() {
        let ((x, y), linked) = (at(number), sample.edges.iter().filter(|edge| edge.1 == number).count());
        let radius = 3.0 + (linked as f64).sqrt();
        let depth = page.depth.map_or(COLOURS - 1, |depth| (depth as usize).min(COLOURS - 1));
        let (url, from) = (text(&page.url), page.depth.map_or("?".to_owned(), |depth| depth.to_string()));
        let _ = write!(
            svg,
            "<circle class='d{depth}' cx='{x:.1}' cy='{y:.1}' r='{radius:.1}'><title>{url}, depth {from}, linked \
             from {linked} of these</title></circle>"
        );
    }
    svg.push_str("</svg>");
    svg
}
