//! Names that ran into a limit: the hosts, domains and patterns of which most URLs were left out.
//!
//! A bounded list, whatever the number of names: the Space-Saving summary (Metwally, Agrawal and El Abbadi 2005). Every
//! name of which more than one part in `PLACES` of all URLs was left out is in it, and a count is never too low;
//! where a name took the place of another, it says by how much it may be too high.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::outcome::Reason;

/// Names that are remembered.
const PLACES: usize = 128;
/// Bytes of a name: a pattern can be as long as a URL.
const NAME_BYTES_MAX: usize = 200;

/// A host, domain or pattern of which URLs were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limited {
    /// The limit for which URLs were left out.
    pub reason: Reason,
    /// The origin, the registrable domain, or origin and pattern.
    pub name: String,
    /// URLs left out.
    pub urls: u64,
    /// Most by which `urls` may be too high.
    pub surplus: u64,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitedList {
    entries: Vec<Limited>,
}

impl LimitedList {
    /// Counts `urls` of `name` that were left out for `reason`; long names are cut.
    pub fn count(&mut self, reason: Reason, name: &str, urls: u64) {
        let name = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.reason == reason && entry.name == name) {
            entry.urls += urls;
            return;
        }
        let mut surplus = 0;
        if self.entries.len() >= PLACES {
            let least = (0..self.entries.len()).min_by_key(|&n| self.entries[n].urls).expect("the list is full");
            surplus = self.entries.swap_remove(least).urls;
        }
        self.entries.push(Limited { reason, name: name.to_owned(), urls: urls + surplus, surplus });
    }

    /// Returns the entries, those with most URLs left out first.
    pub fn by_count(&self) -> Vec<&Limited> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.name.cmp(&b.name)));
        entries
    }
}

/// Adds the list of another shard: a name is in one shard alone, so its count stays as good as it was.
impl AddAssign<&LimitedList> for LimitedList {
    fn add_assign(&mut self, other: &LimitedList) {
        let LimitedList { entries } = other;
        for entry in entries {
            let is_same = |own: &&mut Limited| own.reason == entry.reason && own.name == entry.name;
            match self.entries.iter_mut().find(is_same) {
                Some(own) => {
                    own.urls += entry.urls;
                    own.surplus += entry.surplus;
                }
                None => self.entries.push(entry.clone()),
            }
        }
        self.entries.sort_by_key(|entry| std::cmp::Reverse(entry.urls));
        self.entries.truncate(PLACES);
    }
}

/// The limit by the name of its setting.
pub fn setting(reason: Reason) -> &'static str {
    reason.setting().and_then(|setting| setting.split_once('.')).map_or("trap rules", |(_, key)| key)
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.surplus > 0 { "at most " } else { "" };
        let urls = crate::text::figures::count(self.urls);
        write!(f, "{}: {about}{urls} URLs left out", crate::text::escape::Escaped(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_kept_whatever_the_number_of_names() {
        let mut list = LimitedList::default();
        for n in 0..20_000 {
            list.count(Reason::HostPages, &format!("http://h{n}.test"), 1);
            list.count(Reason::DomainPages, "trap.test", 1);
        }
        assert!(list.entries.len() <= PLACES);
        let worst = list.by_count()[0];
        assert_eq!((worst.name.as_str(), worst.reason), ("trap.test", Reason::DomainPages));
        assert_eq!(worst.urls - worst.surplus, 20_000);
        assert_eq!(worst.to_string(), "trap.test: 20,000 URLs left out");
    }

    #[test]
    fn a_name_is_cut_at_a_character_and_shown_without_what_a_terminal_obeys() {
        let mut list = LimitedList::default();
        list.count(Reason::Pattern, &format!("{}é\x1b[2J", "a".repeat(NAME_BYTES_MAX - 1)), 1);
        list.count(Reason::Pattern, "b\x1b[2J", 2);
        let shown: Vec<String> = list.by_count().into_iter().map(Limited::to_string).collect();
        assert_eq!(shown[0], "b\\x1b[2J: 2 URLs left out");
        assert!(shown[1].starts_with(&format!("{}: 1", "a".repeat(NAME_BYTES_MAX - 1))), "{}", shown[1]);
    }
}
