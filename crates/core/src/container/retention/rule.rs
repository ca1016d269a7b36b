//! The rule of which versions of a URL stay.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::container::keys::KeyRecord;

/// Versions that a rule may count.
pub const VERSIONS_MAX: u8 = 250;

/// Versions of a URL that an archive keeps. The newest one always stays.
///
/// A version that brought no content (an error, a redirect) never takes the place of one that did: a server that fails
/// once must not cost the page. So content is counted against content, and everything else against all that is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// All of them.
    #[default]
    All,
    /// This many of the newest ones.
    Versions(u8),
    /// Versions that were the newest one at some time within this time.
    Age(Duration),
}

impl Keep {
    /// Newer versions that a version may have and still stay.
    pub(super) fn newer_max(self) -> Option<u8> {
        match self {
            Keep::All => None,
            Keep::Versions(versions) => Some(versions.clamp(1, VERSIONS_MAX)),
            Keep::Age(_) => Some(1),
        }
    }

    /// True if `record` counts at `now` against the versions before it.
    pub(super) fn counts(self, record: &KeyRecord, now: Time) -> bool {
        match self {
            Keep::All => false,
            Keep::Versions(_) => true,
            Keep::Age(age) => record.time + age <= now,
        }
    }
}

impl fmt::Display for Keep {
    /// Writes the rule as the settings have it: `all`, `3`, `90d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keep::All => f.write_str("all"),
            Keep::Versions(versions) => write!(f, "{versions}"),
            Keep::Age(age) => {
                let seconds = age.as_secs();
                let units = [(86_400, "d"), (3_600, "h"), (1, "s")];
                let (unit, name) =
                    units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit)).unwrap_or((1, "s"));
                write!(f, "{}{name}", seconds / unit)
            }
        }
    }
}

/// True if a version has content of the page: an answer that brought it, or one that said that it is the same.
pub(super) fn has_content(record: &KeyRecord) -> bool {
    matches!(record.status, 200..=299 | 304)
}
