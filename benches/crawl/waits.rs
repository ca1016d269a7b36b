//! Waits of links between shards, by what the crawler logs of link files (`-vv`).

use std::collections::HashMap;

/// The state of the log's reading so far.
#[derive(Debug, Default)]
pub struct Waits {
    /// Times at which a file was cut, and the one before it, by its shard and number: no link in it is older than that.
    cuts: HashMap<(u64, u64), (f64, f64)>,
    /// Time at which the shard has cut its last file. Its first one began with the crawl.
    last: HashMap<u64, f64>,
    begun: Option<f64>,
    links: u64,
    bytes: u64,
    /// Seconds from a cut to the admission of what was in it, and from the cut before it, for how many links.
    admitted: Vec<(f64, f64, u64)>,
}

impl Waits {
    /// Reads a line of the log.
    pub fn read(&mut self, line: &str) {
        let Some(now) = seconds(line) else { return };
        let begun = *self.begun.get_or_insert(now);
        let of = |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
        if line.contains("links to other shards")
            && let (Some(shard), Some(number), Some(links), Some(bytes)) =
                (of("shard="), of("number="), of("links="), of("bytes="))
        {
            let before = self.last.insert(shard, now).unwrap_or(begun);
            self.cuts.insert((shard, number), (now, before));
            (self.links, self.bytes) = (self.links + links, self.bytes + bytes);
        } else if line.contains("links of another shard")
            && let (Some(sender), Some(number), Some(links)) = (of("sender="), of("number="), of("links="))
            && let Some((cut, before)) = self.cuts.get(&(sender, number))
        {
            self.admitted.push((now - cut, now - before, links));
        }
    }

    /// One line for people, where links have crossed.
    pub fn tell(&mut self, name: &str, pages: u64) {
        if self.links == 0 {
            return;
        }
        let read: u64 = self.admitted.iter().map(|(_, _, links)| links).sum();
        let cut = quantiles(self.admitted.iter().map(|&(cut, _, links)| (cut, links)).collect(), read);
        let mid = quantiles(self.admitted.iter().map(|&(cut, old, links)| ((cut + old) / 2.0, links)).collect(), read);
        println!(
            "{name}: {:.2} links a page cross, {:.1} bytes each; {read} of {} admitted; seconds from the cut to the \
             admission: median {:.3}, 95 % within {:.3}; from the finding (taken as midway between two cuts): median \
             {:.3}, 95 % within {:.3}",
            self.links as f64 / pages.max(1) as f64,
            self.bytes as f64 / self.links as f64,
            self.links,
            cut.0,
            cut.1,
            mid.0,
            mid.1,
        );
    }
}

/// Seconds of the day at which the line was written: it begins with a date and a time of RFC 3339.
fn seconds(line: &str) -> Option<f64> {
    let time = line.get(11..26)?;
    let mut parts = time.splitn(3, ':');
    let mut part = || parts.next()?.parse::<f64>().ok();
    Some(part()? * 3_600.0 + part()? * 60.0 + part()?)
}

/// The median and the 95th percentile of values that count several times.
fn quantiles(mut values: Vec<(f64, u64)>, count: u64) -> (f64, f64) {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |share: u64| {
        let mut left = count * share / 100;
        let found = values.iter().find(|&&(_, times)| {
            let is_here = left < times;
            left = left.saturating_sub(times);
            is_here
        });
        found.or(values.last()).map_or(f64::NAN, |value| value.0)
    };
    (at(50), at(95))
}
