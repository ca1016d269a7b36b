//! The page for people: one file with its styles and pictures in it, and no scripts. It asks for nothing elsewhere, and
//! what the site says is text in it.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::super::compare::State;
use super::super::finding::{Kind, Weight};
use super::picture::{self, text};
use super::shown::{Group, OfKind, Shown};
use super::{About, Summary};
use crate::text::figures::{count, counted, date};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:light-dark(#1d2733,#dfe6ee);--soft:light-dark(#657284,#93a1b3);\
--ground:light-dark(#fff,#14191f);--panel:light-dark(#f4f6f9,#1d242d);--line:light-dark(#dde3ea,#303a46);\
--bar:light-dark(#3b76c4,#6aa3ec);--fault:light-dark(#c23b3b,#ec7a72);--warn:light-dark(#b97a11,#e0ac4d);\
--other:light-dark(#9fb0c4,#5c6b7d)}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:1080px;margin:0 auto;\
padding:24px}h1{font-size:26px;margin:0}h2{font-size:19px;margin:36px 0 8px}p.soft,.soft{color:var(--soft)}\
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}.tile{background:var(--panel);border-radius:8px;\
padding:10px 16px;min-width:110px}.tile b{display:block;font-size:24px}.error b,.error{color:var(--fault)}\
.warning b,.warning{color:var(--warn)}table{border-collapse:collapse;width:100%}td,th{text-align:left;\
padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}td.n,th.n{text-align:right;\
font-variant-numeric:tabular-nums}a{color:inherit}summary,li,div{overflow-wrap:anywhere}\
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:16px}figure{margin:0;\
background:var(--panel);border-radius:8px;padding:12px}figcaption{font-weight:600;margin-bottom:6px}\
svg{width:100%;height:auto}svg text{font:13px system-ui,sans-serif;fill:var(--ink)}svg text.soft{fill:var(--soft)}\
.bar{fill:var(--bar)}.other{fill:var(--other)}.fault{fill:var(--fault)}.graph{max-width:640px;display:block;\
background:var(--panel);border-radius:8px}.graph line{stroke:var(--soft);stroke-opacity:.25}.d0{fill:#d9482b}\
.d1{fill:#e8963a}.d2{fill:#5fa55a}.d3{fill:#3b8fb5}.d4{fill:#5a6fc0}.d5{fill:#8a63a8}\
details{border-bottom:1px solid var(--line);padding:6px 0}summary{cursor:pointer}ul{margin:6px 0 6px 4px}\
@media(max-width:640px){td.about,th.about{display:none}}\
.state{font-size:12px;border:1px solid;border-radius:4px;padding:0 4px;margin-left:6px}";

pub(super) fn write(out: &mut dyn Write, about: &About, summary: &Summary, shown: &Shown) -> io::Result<()> {
    let title = text(&about.title);
    write!(
        out,
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' \
         content='width=device-width'><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; \
         style-src 'unsafe-inline'\"><meta name='robots' content='noindex'><title>Audit of {title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>Audit of {title}</h1><p class='soft'>{}, crawl {}</p>\n",
        date(about.now),
        text(&about.crawl)
    )?;
    tiles(out, about, summary)?;
    kinds(out, summary)?;
    if let Some(counts) = &summary.external {
        writeln!(out, "<p class='soft'>{}</p>", text(&counts.to_string()))?;
    }
    pictures(out, about)?;
    for (kind, of_kind) in &shown.kinds {
        section(out, *kind, of_kind, summary)?;
    }
    if summary.is_compared {
        fixed(out, about, summary, shown)?;
    }
    out.write_all(b"</body></html>\n")
}

fn tiles(out: &mut dyn Write, about: &About, summary: &Summary) -> io::Result<()> {
    let figures = &about.figures;
    let tiles = [
        ("", "pages", figures.pages),
        ("", "answers", figures.answers),
        ("", "links", figures.links),
        ("error", "errors", summary.of_weight(Weight::Error)),
        ("warning", "warnings", summary.of_weight(Weight::Warning)),
        ("", "notices", summary.of_weight(Weight::Notice)),
    ];
    out.write_all(b"<div class='tiles'>")?;
    for (class, name, number) in tiles {
        write!(out, "<div class='tile {class}'><b>{}</b>{name}</div>", count(number))?;
    }
    if summary.is_compared {
        let (new, fixed) = (count(summary.new_places()), count(summary.fixed_places()));
        write!(out, "<div class='tile'><b>{new}</b>new</div><div class='tile'><b>{fixed}</b>fixed</div>")?;
    }
    out.write_all(b"</div>\n")
}

/// Writes what was found, the gravest first, and in a sentence what was looked for and not found.
fn kinds(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let is_found = |kind: &Kind| summary.of(*kind).places + summary.of(*kind).fixed > 0;
    let (mut found, none): (Vec<Kind>, Vec<Kind>) = Kind::ALL.iter().partition(|kind| is_found(kind));
    found.sort_by_key(|kind| (kind.weight(), Reverse(summary.of(*kind).findings)));
    if !found.is_empty() {
        let more = if summary.is_compared { "<th class='n'>new<th class='n'>fixed" } else { "" };
        let head = "<table><tr><th>what<th class='n'>findings<th class='n'>places";
        write!(out, "{head}{more}<th class='about'>meaning</tr>")?;
        found.into_iter().try_for_each(|kind| row(out, kind, summary))?;
        out.write_all(b"</table>\n")?;
    }
    let (checked, unchecked): (Vec<Kind>, Vec<Kind>) = none.into_iter().partition(|kind| summary.is_checked(*kind));
    let names = |kinds: &[Kind]| kinds.iter().map(|kind| text(kind.title())).collect::<Vec<_>>().join(", ");
    if !checked.is_empty() {
        writeln!(out, "<p class='soft'>Nothing found of: {}.</p>", names(&checked))?;
    }
    if !unchecked.is_empty() {
        writeln!(out, "<p class='soft'>Not checked: {} (--check-external).</p>", names(&unchecked))?;
    }
    Ok(())
}

fn row(out: &mut dyn Write, kind: Kind, summary: &Summary) -> io::Result<()> {
    let found = summary.of(kind);
    let title = if found.places > 0 {
        format!("<a href='#{}'>{}</a>", kind.name(), text(kind.title()))
    } else {
        text(kind.title())
    };
    let class = if found.findings > 0 { class(kind) } else { "soft" };
    let more = match summary.is_compared {
        true => format!("<td class='n'>{}<td class='n'>{}", count(found.new), count(found.fixed)),
        false => String::new(),
    };
    writeln!(
        out,
        "<tr><td class='{class}'>{title}<td class='n'>{}<td class='n'>{}{more}<td class='soft about'>{}</tr>",
        count(found.findings),
        count(found.places),
        text(kind.about())
    )
}

fn class(kind: Kind) -> &'static str {
    match kind.weight() {
        Weight::Error => "error",
        Weight::Warning => "warning",
        Weight::Notice => "notice",
    }
}

fn pictures(out: &mut dyn Write, about: &About) -> io::Result<()> {
    let figures = &about.figures;
    out.write_all(b"<h2>Distributions</h2><div class='charts'>")?;
    for (title, classes) in [
        ("Pages by clicks from a seed", figures.clicks()),
        ("Pages by depth (a sitemap's entries: 1)", figures.depths()),
        ("Answers by status", figures.statuses()),
        ("Answers by response time", figures.times()),
        ("Pages by size", figures.sizes()),
        ("Answers by type", figures.types().into_iter().take(10).collect()),
    ] {
        out.write_all(picture::bars(title, &classes).as_bytes())?;
    }
    let (tree, sample) = (picture::tree(&about.tree), &about.sample);
    write!(
        out,
        "</div>\n<h2>Site tree</h2><p class='soft'>The largest directories: pages, other answers, URLs that fail.</p>\
         {tree}\n<h2>Link graph</h2><p class='soft'>A sample of {} and the {} between them: those nearest the seeds, \
         and some of all others. Colours: depth, from red (0) to violet (5 and more). Larger ones have more links \
         within the sample.</p>{}\n",
        counted(sample.pages.len() as u64, "page"),
        counted(sample.edges.len() as u64, "link"),
        picture::graph(sample)
    )
}

fn section(out: &mut dyn Write, kind: Kind, of_kind: &OfKind, summary: &Summary) -> io::Result<()> {
    let found = summary.of(kind);
    write!(
        out,
        "<h2 id='{}' class='{}'>{} <span class='soft'>{}</span></h2><p class='soft'>{}</p>",
        kind.name(),
        class(kind),
        text(kind.title()),
        count(found.findings),
        text(kind.about())
    )?;
    for group in &of_kind.groups {
        finding(out, group)?;
    }
    if of_kind.more > 0 {
        write!(out, "<p class='soft'>and {} more: see the CSV or JSON file</p>", count(of_kind.more))?;
    }
    out.write_all(b"\n")
}

fn finding(out: &mut dyn Write, group: &Group) -> io::Result<()> {
    let detail = if group.detail.is_empty() { String::new() } else { format!(": {}", text(&group.detail)) };
    let subject = link(&group.subject);
    let has_places = group.places.iter().any(|(item, _)| !item.url.is_empty());
    if !has_places {
        let state = group.places.first().and_then(|(_, state)| *state);
        return write!(out, "<div>{subject}{detail}{}</div>", mark(state));
    }
    let places = counted(group.places.len() as u64 + group.more, "place");
    write!(out, "<details><summary>{subject}{detail} <span class='soft'>{places}</span></summary><ul>")?;
    for (item, state) in &group.places {
        let words: Vec<String> =
            [&item.how, &item.text].iter().filter(|word| !word.is_empty()).map(|word| text(word)).collect();
        write!(out, "<li>{} <span class='soft'>{}</span>{}</li>", link(&item.url), words.join(": "), mark(*state))?;
    }
    if group.more > 0 {
        write!(out, "<li class='soft'>and {} more</li>", count(group.more))?;
    }
    out.write_all(b"</ul></details>")
}

fn mark(state: Option<State>) -> String {
    let new = state.filter(|state| *state == State::New);
    new.map_or(String::new(), |_| "<span class='state'>new</span>".to_owned())
}

/// A URL that can be followed, without telling where from; any other text as it is.
fn link(subject: &str) -> String {
    let shown = text(subject);
    if subject.starts_with("https://") || subject.starts_with("http://") {
        format!("<a rel='noreferrer noopener' href='{shown}'>{shown}</a>")
    } else {
        shown
    }
}

fn fixed(out: &mut dyn Write, about: &About, summary: &Summary, shown: &Shown) -> io::Result<()> {
    let earlier = text(about.earlier.as_deref().unwrap_or_default());
    write!(
        out,
        "<h2>Fixed <span class='soft'>{}</span></h2><p class='soft'>In {earlier}, and not found any more. A page \
         that was not crawled this time looks like that, too.</p><ul>",
        count(summary.fixed_places())
    )?;
    for finding in &shown.fixed {
        let (kind, place) = (text(finding.kind.title()), link(&finding.item.url));
        write!(out, "<li>{kind}: {} {place}</li>", link(&finding.subject))?;
    }
    out.write_all(b"</ul>\n")
}
