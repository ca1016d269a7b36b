//! `[recrawl]`, turned into the options of a schedule.

use std::time::Duration;

use super::{CrawlError, CrawlRequest, sites};
use crate::calendar::{Bounds, Mode, Rule, ScheduleOptions, WheelOptions};
use crate::config::{Config, Recrawl, RecrawlChange, RecrawlMode, RecrawlPattern};
use crate::engine::RecrawlOptions;
use crate::web::expression::bounded_regex;
use crate::web::site::SiteMatch;

/// Returns how the engine fetches pages again. Where it does not, it keeps the calendar that there is.
pub(super) fn options(request: &CrawlRequest) -> Result<RecrawlOptions, CrawlError> {
    let config = &request.config;
    let schedule = schedule(config)?;
    Ok(RecrawlOptions {
        is_on: schedule.is_some(),
        schedule: schedule.unwrap_or_else(none),
        wheel: WheelOptions::default(),
        by_text: config.recrawl.change == RecrawlChange::Text,
        until_fresh: request.until_fresh,
    })
}

/// The schedule of a crawl that fetches each page once.
fn none() -> ScheduleOptions {
    let bounds = Bounds { min: Duration::ZERO, max: Duration::MAX };
    ScheduleOptions { mode: Mode::Off, bounds, maps: bounds, rules: Vec::new() }
}

/// The options of the schedule; `None` where each page is fetched once.
pub fn schedule(config: &Config) -> Result<Option<ScheduleOptions>, CrawlError> {
    let recrawl = &config.recrawl;
    if recrawl.mode == RecrawlMode::Off {
        return Ok(None);
    }
    Ok(Some(ScheduleOptions {
        mode: mode(recrawl.mode, recrawl.interval, recrawl.gain),
        bounds: Bounds { min: recrawl.min, max: recrawl.max },
        maps: Bounds { min: recrawl.sitemap_min, max: recrawl.sitemap_max },
        rules: site_rules(config)
            .chain(recrawl.patterns.iter().map(|pattern| pattern_rule(config, pattern)))
            .collect::<Result<_, _>>()?,
    }))
}

/// The rules of sites, which come before patterns.
fn site_rules(config: &Config) -> impl Iterator<Item = Result<Rule, CrawlError>> {
    config.site.iter().enumerate().filter_map(|(number, site)| {
        let there = config.recrawl.with(&site.recrawl?);
        let include = sites::matches("[[site]]", site);
        Some(include.map(|include| rule(format!("[[site]] {}", number + 1), include, &there)))
    })
}

fn pattern_rule(config: &Config, pattern: &RecrawlPattern) -> Result<Rule, CrawlError> {
    let include = bounded_regex(&pattern.include);
    let include = include.map_err(|e| CrawlError::Usage(format!("recrawl.patterns: {:?}: {e}", pattern.include)))?;
    let there = config.recrawl.with(&pattern.settings);
    Ok(rule(format!("recrawl.patterns: {}", pattern.include), vec![SiteMatch::Pattern(include)], &there))
}

/// Returns the rule for the URLs of `include`, which has the settings that hold `there`.
fn rule(name: String, include: Vec<SiteMatch>, there: &Recrawl) -> Rule {
    Rule {
        name,
        include,
        mode: mode(there.mode, there.interval, there.gain),
        bounds: Bounds { min: there.min, max: there.max },
    }
}

fn mode(mode: RecrawlMode, interval: Duration, gain: Duration) -> Mode {
    match mode {
        RecrawlMode::Off => Mode::Off,
        RecrawlMode::Adaptive => Mode::Adaptive { gain },
        RecrawlMode::Fixed => Mode::Fixed { interval },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<ScheduleOptions> {
        schedule(&Config::parse(text, "my.toml").unwrap()).unwrap()
    }

    #[test]
    fn without_recrawl_there_is_no_schedule() {
        assert!(of("").is_none());
        assert!(of("[recrawl]\npatterns = [{ include = \"a\", mode = \"fixed\" }]").is_none());
    }

    #[test]
    fn a_pattern_has_what_it_says_and_else_what_holds_for_all() {
        let options = of("[recrawl]\nmode = \"adaptive\"\nmin = \"2h\"\ngain = \"3h\"\n\
                          patterns = [{ include = \"/news/\", max = \"24h\" }, { include = \"x\", mode = \"fixed\" }]");
        let options = options.unwrap();
        let hours = |hours: u64| Duration::from_secs(3_600 * hours);
        assert_eq!(options.mode, Mode::Adaptive { gain: hours(3) });
        assert_eq!(options.bounds, Bounds { min: hours(2), max: hours(720) });
        assert_eq!(options.maps, Bounds { min: hours(1), max: hours(24) });
        let [news, x] = &options.rules[..] else { panic!("{:?}", options.rules) };
        assert!(news.include[0].holds_for("https://a.example/news/1"));
        assert_eq!((news.mode, news.bounds), (options.mode, Bounds { min: hours(2), max: hours(24) }));
        assert_eq!((x.mode, x.bounds), (Mode::Fixed { interval: hours(168) }, options.bounds));
    }
}
