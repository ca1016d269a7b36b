//! Hours in which hosts are asked, in words: which ones there are, and whether they have begun.

use std::sync::Arc;

use serde::Serialize;

use super::{CrawlError, sites, treatment};
use crate::clock::Time;
use crate::config::Config;
use crate::hours::Hours;
use crate::text::figures::span;
use crate::web::site::SiteIndex;

/// Hours of some hosts at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HoursNow {
    /// The hosts: all, or those of a table.
    pub hosts: String,
    /// The hours as they are written.
    pub hours: String,
    /// Time at which they begin; `None` within them.
    #[serde(rename = "opens_ms")]
    pub opens: Option<Time>,
    /// The state in words.
    pub state: String,
}

impl HoursNow {
    /// All hours that `config` has, at `now`.
    pub(super) fn all(config: &Config, now: Time) -> Vec<HoursNow> {
        let of_all = treatment::hours(config).map(|hours| HoursNow::of("all hosts".to_owned(), &hours, now));
        let tables = config.site.iter().enumerate().filter(|(_, site)| site.hours.is_some());
        let of_tables = tables.filter_map(|(number, site)| {
            let hours = treatment::hours(&config.at(site))?;
            Some(HoursNow::of(format!("[[site]] {}", number + 1), &hours, now))
        });
        of_all.into_iter().chain(of_tables).collect()
    }

    fn of(hosts: String, hours: &Hours, now: Time) -> HoursNow {
        let opens = Some(hours.opens(now)).filter(|&opens| opens > now);
        HoursNow { hosts, hours: hours.to_string(), opens, state: state(hours, now) }
    }
}

/// Returns whether `hours` have begun at `now`, and how long that stays so.
pub(super) fn state(hours: &Hours, now: Time) -> String {
    let (opens, closes) = (hours.opens(now), hours.closes(now));
    match (opens > now, closes) {
        (true, _) => format!("waits until {} (in {})", hours.local(opens, now), span(opens.since(now))),
        (false, Time::MAX) => "open".to_owned(),
        (false, _) => format!("open until {} (for {})", hours.local(closes, now), span(closes.since(now))),
    }
}

/// The hours of each host by a configuration.
pub(super) struct HostHours {
    config: Config,
    index: SiteIndex,
}

impl HostHours {
    /// The hours by `config`.
    pub(super) fn by(config: Config) -> Result<HostHours, CrawlError> {
        let index = sites::index(&config)?;
        Ok(HostHours { config, index })
    }

    /// The hours of `host`, a name or an address; `None` for all.
    pub(super) fn of(&self, host: &str) -> Option<Arc<Hours>> {
        treatment::hours(&sites::overlaid(&self.config, &self.index.of_host(host)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn hours_are_told_with_their_hosts_and_their_next_change() {
        let text = "[politeness]\nhours = \"22:00-06:00 Europe/Berlin\"\n[[site]]\nhost = \"a.example\"\nhours = \
                    \"always\"\n[[site]]\nhost = \"b.example\"\nhours = \"Fri 00:00-24:00\"\n";
        let config = Config::parse(text, "my.toml").unwrap();
        // a Friday, 09:00 in Berlin
        let now = Time::from_ms(1_800_000_000_000);
        let told: Vec<_> = HoursNow::all(&config, now).into_iter().map(|told| (told.hosts, told.state)).collect();
        let expected = [
            ("all hosts", "waits until 22:00 Europe/Berlin (in 13h 00m)"),
            ("[[site]] 2", "open until Sat 00:00 UTC (for 16h 00m)"),
        ];
        assert_eq!(told, expected.map(|(hosts, state)| (hosts.to_owned(), state.to_owned())));
        assert_eq!(state(&"00:00-24:00".parse().unwrap(), now + Duration::from_secs(9)), "open");
        let hours = HostHours::by(config).unwrap();
        let shown = |host| hours.of(host).map(|hours| hours.to_string());
        assert_eq!(shown("a.example"), None);
        assert_eq!(shown("b.example").as_deref(), Some("Fri 00:00-24:00"));
        assert_eq!(shown("c.example").as_deref(), Some("22:00-06:00 Europe/Berlin"));
    }
}
