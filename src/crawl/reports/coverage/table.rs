//! The coverage report: what a crawl got of the URLs that it knows, row by row, and host by host.

use serde::Serialize;

use super::{Coverage, Row, coverage};
use crate::crawl::reports::{Form, HOST_COLUMNS, HOSTS_IN_FILE, NO_CHECKPOINT, Out, ReportError};
use crate::dirs::CrawlDirs;
use crate::disk::Disk;
use crate::report::closing::shell_word;
use crate::text::escape::field;
use crate::text::figures::count;

/// Hosts in the table for people.
const HOSTS_SHOWN: usize = 20;

/// The statement as the first JSON object.
#[derive(Serialize)]
struct Statement<'a> {
    report: &'static str,
    #[serde(flatten)]
    coverage: &'a Coverage,
}

pub(in crate::crawl::reports) fn write(disk: &Disk, dirs: &CrawlDirs, out: &mut Out<'_>) -> Result<(), ReportError> {
    let Some(found) = coverage(disk, dirs)? else { return out.text(format_args!("{NO_CHECKPOINT}")) };
    let text = format_args!("content  {}\n", found.sentence()).to_string();
    out.row(&Statement { report: "coverage", coverage: &found }, format_args!("{text}"))?;
    let dir = shell_word(dirs.root());
    part(out, "known and not got", &found.missing, &dir)?;
    part(out, "known and not counted", &found.uncounted, &dir)?;
    part(out, "links that your rules leave out, as often as they were found", &found.left_out, "")?;
    if found.in_sitemaps > 0 {
        out.text(format_args!("\nsitemaps and feeds name {} URLs\n", count(found.in_sitemaps)))?;
    }
    hosts(out, &found)
}

fn part(out: &mut Out<'_>, title: &str, rows: &[Row], dir: &str) -> Result<(), ReportError> {
    if rows.is_empty() {
        return Ok(());
    }
    out.text(format_args!("\n{title}\n"))?;
    for Row { what, urls, list } in rows {
        let how = match list.split(' ').next() {
            Some("list" | "report") => format!("crawler {list} --dir {dir}"),
            _ => list.clone(),
        };
        out.text(format_args!("{:>11}  {what:<34}  {how}\n", count(*urls)))?;
    }
    Ok(())
}

fn hosts(out: &mut Out<'_>, found: &Coverage) -> Result<(), ReportError> {
    let most = match out.form {
        Form::Json => out.hosts_max.unwrap_or(usize::MAX),
        Form::Text => out.hosts_max.map_or(HOSTS_SHOWN, |_| HOSTS_IN_FILE),
    };
    out.text(format_args!("\n{:<HOST_COLUMNS$} {:>9} {:>9} {:>9}\n", "host", "content", "other", "waiting"))?;
    for host in found.hosts.iter().take(most) {
        let kinds: Vec<String> = host.by_kind.iter().map(|(kind, urls)| format!("{kind} {urls}")).collect();
        let name = field(&host.host);
        let (content, other, waiting) = (host.content, host.other, host.waiting);
        let kinds = kinds.join(", ");
        out.row(host, format_args!("{name:<HOST_COLUMNS$} {content:>9} {other:>9} {waiting:>9}  {kinds}\n"))?;
    }
    let more = found.hosts.len().saturating_sub(most);
    if more > 0 {
        out.text(format_args!("{} more hosts: --json has all\n", count(more as u64)))?;
    }
    Ok(())
}
