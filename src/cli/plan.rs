//! `crawler plan`: what seeds and configuration imply, before a crawl begins. The network is not asked, nothing is
//! written.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::exit::Exit;
use super::{run, status};
use crate::clock::{Clock, SystemClock};
use crate::config::{Bytes, Config, parse_bytes};
use crate::crawl::due;
use crate::crawl::plan::Plan;
use crate::disk::Disk;
use crate::report::closing::Table;
use crate::text::escape::{Escaped, json_line};
use crate::text::figures::{brief, count, counted, rate, size};
use crate::web::seeds::parse_seeds;

#[derive(Debug, Args)]
#[command(after_help = "\
Rates count the hosts of the seeds only; more hosts allow more requests. Disk is an estimate from the page size in \
--page-bytes; memory is a ceiling. If there is a crawl with a recrawl calendar in --dir, the pages that will be due \
are counted too.

Examples:
  crawler plan seeds.txt
  crawler plan seeds.txt --config my.toml --memory
  crawler plan seeds.txt --page-bytes 80KiB --json")]
pub(super) struct PlanArgs {
    /// File of seed URLs, one per line; - reads standard input
    #[arg(value_name = "SEEDS")]
    seeds: PathBuf,
    /// Settings in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory that the crawl would have
    #[arg(long, value_name = "DIR", default_value = "./crawl")]
    dir: PathBuf,
    /// Average size of a page
    #[arg(long, value_name = "SIZE", default_value = "30KiB", value_parser = page_bytes)]
    page_bytes: Bytes,
    /// Show the parts of the memory ceiling too
    #[arg(long)]
    memory: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn page_bytes(text: &str) -> Result<Bytes, String> {
    parse_bytes(text).filter(|size| size.get() > 0).ok_or_else(|| "write a size such as 30KiB".to_owned())
}

impl PlanArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let config = Config::load(self.config.as_deref())?;
        let (seeds, problems) = parse_seeds(&run::read_seeds(&self.seeds)?);
        let plan = Plan::of(&config, &seeds, &problems, &self.dir, self.page_bytes.get());
        let due = due::due(&Disk::real(), &self.dir, SystemClock::new().now())?;
        let plan = plan.with_due(&config, due);
        let mut out = io::stdout().lock();
        if self.json {
            writeln!(out, "{}", json_line(&plan)?)?;
        } else {
            out.write_all(self.text(&plan, &config).as_bytes())?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn text(&self, plan: &Plan, config: &Config) -> String {
        let mut table = Table::default();
        let (seeds, hosts) = (counted(plan.seeds, "URL"), counted(plan.hosts, "host"));
        table.row("seeds", format!("{seeds} of {hosts}, {}", counted(plan.domains, "domain")));
        if plan.shards > 1 {
            table.row("shards", format!("{}, each with its own engine and a part of the memory", count(plan.shards)));
        }
        table.row("user agent", config.user_agent());
        for bound in &plan.rates {
            let name = format!("answers in {}", brief(bound.answer));
            let (per_host, all, delay) = (rate(bound.per_host), rate(bound.all), brief(bound.delay));
            let a_day = count((bound.all * 86_400.0) as u64);
            table.row(&name, format!("{per_host} requests/s per host, {all}/s in total, {a_day} per day"));
            table.row("", format!("{delay} between two requests to a host; limited by {}", bound.by));
        }
        for hours in &plan.hours {
            table.row("hours", format!("{}: {}; {}", hours.hosts, hours.hours, hours.state));
        }
        let machine = plan.machine_memory.map_or(String::new(), |bytes| format!(" of {}", size(bytes)));
        table.row("memory ceiling", format!("{}{machine} (--memory lists its parts)", size(plan.memory.bytes)));
        let total = size(plan.disk_total());
        table.row("disk per million pages", format!("{total} with pages of {}", size(self.page_bytes.get())));
        for part in &plan.disk_per_million {
            table.row(&format!("  {}", part.name), size(part.bytes));
        }
        if let Some(free) = plan.disk_free {
            table.row(
                "disk free",
                format!("{}; the crawl stops at {}", size(free), size(config.crawl.disk_floor.get())),
            );
        }
        if let Some(needs) = &plan.recrawl {
            let (least, most) = (needs.visits_per_day_least as u64, needs.visits_per_day_most as u64);
            let range = if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) };
            table.row("visits per day", format!("{range} for {}, by [recrawl]", counted(needs.pages, "page")));
        }
        for due in &plan.due {
            table.row(&format!("due {}", due.term), counted(due.pages, "page"));
        }
        let mut text = table.0;
        if self.memory {
            text.push_str(&status::parts(&plan.memory));
        }
        for warning in &plan.warnings {
            let _ = writeln!(text, "warning: {}", Escaped(warning));
        }
        text
    }
}
