//! Entries of the archive that are left out by what is stated about their use: a refusal of a use, or a robots
//! directive; by the page itself, or by the robots.txt of its origin.
//!
//! A crawl records that with each page, so that no page has to be read but `tdmrep.json` of its origin.

use super::archive::{Archive, Entry};
use super::reservations::Reservations;
use crate::web::preferences::Usage;
use crate::web::statements::Statements;

/// The conditions by which an entry is left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    /// Uses that must not be refused.
    pub uses: Vec<Usage>,
    /// Directives of which one must be there, if there are any.
    pub with: Vec<String>,
    /// Directives of which none may be there.
    pub without: Vec<String>,
}

impl Conditions {
    fn hold(&self, stated: &Statements) -> bool {
        let has = |name: &String| stated.has_directive(name);
        !self.uses.iter().any(|&usage| stated.preferences().refuses(usage))
            && (self.with.is_empty() || self.with.iter().any(has))
            && !self.without.iter().any(has)
    }
}

/// Knows what is stated about the use of entries.
pub(super) struct StatementFilter {
    conditions: Conditions,
    /// Those of origins, where a use is asked for that they are about.
    reservations: Option<Reservations>,
}

impl StatementFilter {
    /// Asks for these conditions; nothing where there are none.
    pub(super) fn of(conditions: Conditions) -> Option<Self> {
        let Conditions { uses, with, without } = &conditions;
        let is_asked = !(uses.is_empty() && with.is_empty() && without.is_empty());
        let is_about_mining = uses.iter().any(|usage| matches!(usage, Usage::Tdm | Usage::AiTrain));
        let reservations = is_about_mining.then(Reservations::new);
        is_asked.then_some(StatementFilter { conditions, reservations })
    }

    /// Returns whether an entry is left out.
    pub(super) fn leaves_out(&self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<bool> {
        let mut stated = stated(archive, entry)?;
        if let Some(reservations) = &self.reservations {
            reservations.add_to(archive, entry, &mut stated)?;
        }
        Ok(!self.conditions.hold(&stated))
    }
}

/// Returns what is stated with an entry, and with the version that it says is unchanged.
pub(super) fn stated(archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Statements> {
    let mut stated = archive.statements(entry)?;
    if let Some(payload) = entry.payload.filter(|_| entry.is_confirmed()) {
        stated.add(&archive.statements(&archive.entry(payload)?)?);
    }
    Ok(stated)
}

#[cfg(test)]
mod tests {
    use super::super::archive::Response;
    use super::super::archive::tests::FakeArchive;
    use super::*;

    fn archive() -> FakeArchive {
        let mut archive = FakeArchive::default();
        let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let with = |status, headers| Response { status, headers, ..Response::default() };
        archive.store("https://a.example/", "text/html", with(200, vec![field("Content-Usage", "train-ai=n")]));
        archive.page("https://a.example/free/", 200, "text/html", b"");
        archive.page("https://b.example/", 200, "text/html", b"<html><meta name=robots content='noai, noindex'>");
        archive.store("https://b.example/p.png", "image/png", with(200, vec![field("TDM-Reservation", "1")]));
        archive.page("https://b.example/plain", 200, "text/plain", b"<meta name=robots content=noai>");
        let unchanged = Response { payload_headers: vec![field("a", "b")], ..with(304, Vec::new()) };
        archive.store("https://b.example/", "text/html", unchanged);
        archive
    }

    /// Handles of the entries that conditions leave out.
    fn left_out(archive: &FakeArchive, conditions: Conditions) -> Vec<u64> {
        let filter = StatementFilter::of(conditions).unwrap();
        let entries = archive.stored.iter().map(|(entry, _)| entry);
        entries.filter(|entry| filter.leaves_out(archive, entry).unwrap()).map(|entry| entry.handle).collect()
    }

    #[test]
    fn pages_refuse_and_so_do_answers_that_confirm_them() {
        let archive = archive();
        let refusing = |uses: &[Usage]| left_out(&archive, Conditions { uses: uses.to_vec(), ..Conditions::default() });
        assert_eq!(refusing(&[Usage::AiTrain]), [0, 2, 3, 5]);
        assert_eq!(refusing(&[Usage::Search]), [2, 5]);
        assert_eq!(refusing(&[Usage::Tdm, Usage::Search]), [2, 3, 5]);
        assert!(StatementFilter::of(Conditions::default()).is_none());
    }

    #[test]
    fn a_file_of_reservations_counts_for_pages_that_were_fetched_after_it() {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/news/0", 200, "text/html", b"");
        let file = br#"[{"location": "/news/", "tdm-reservation": 1}]"#;
        archive.page("https://a.example/.well-known/tdmrep.json", 200, "application/json", file);
        for url in ["https://a.example/news/1", "https://a.example/free", "https://b.example/news/"] {
            archive.page(url, 200, "text/html", b"");
        }
        for (number, (entry, _)) in archive.stored.iter_mut().enumerate() {
            entry.time = crate::clock::Time::from_ms(1_000 + number as u64);
        }
        let refusing = |uses: &[Usage]| left_out(&archive, Conditions { uses: uses.to_vec(), ..Conditions::default() });
        assert_eq!(refusing(&[Usage::Tdm]), [2]);
        assert_eq!(refusing(&[Usage::AiTrain]), [2]);
        assert_eq!(refusing(&[Usage::Search]), [0_u64; 0]);
    }

    #[test]
    fn pages_are_told_apart_by_their_directives() {
        let archive = archive();
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let with = |with: &[&str]| left_out(&archive, Conditions { with: names(with), ..Conditions::default() });
        let without =
            |without: &[&str]| left_out(&archive, Conditions { without: names(without), ..Conditions::default() });
        assert_eq!(without(&["noindex"]), [2, 5]);
        assert_eq!(without(&["nofollow", "noai"]), [2, 5]);
        assert_eq!(without(&["nofollow"]), [0_u64; 0]);
        assert_eq!(with(&["nofollow", "noindex"]), [0, 1, 3, 4]);
        let both = Conditions { with: names(&["noindex"]), uses: vec![Usage::AiTrain], ..Conditions::default() };
        assert_eq!(left_out(&archive, both), [0, 1, 2, 3, 4, 5]);
    }
}
