//! Every parser of bytes that somebody else wrote, or that were on a disk, behind one kind of door: a [`Target`].
//!
//! A target takes any bytes. It must return, in time and memory that follow from their number, and it must not panic;
//! beside that it asserts what its parser promises (what is written again is read back the same, a bound is a bound).
//! It returns whether the bytes were what the parser wants, so that tests know that a corpus still reaches past the
//! first check. Formats with checksums are taken twice: as they are, and with their checksums made right, since no
//! mutation finds those.
//!
//! Two things drive the targets: `cargo test`, which mutates the corpus in fuzz/corpus for a fixed number of rounds
//! (`fuzzing::tests`), and libFuzzer, by the crate in fuzz/. The module exists in tests and with the feature `fuzzing`
//! only; no release has it.

mod documents;
mod input;
mod samples;
mod stored;
mod stores;
#[cfg(test)]
mod tests;
mod web;

/// One parser.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name: also the name of its binary and of its folder in fuzz/corpus.
    pub name: &'static str,
    /// Feeds it; true where the bytes are a whole one of what it reads.
    pub run: fn(&[u8]) -> bool,
    /// Examples by the program's own writers, for formats that nobody writes by hand.
    pub samples: fn() -> Vec<Vec<u8>>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn by_hand(name: &'static str, run: fn(&[u8]) -> bool) -> Target {
    Target { name, run, samples: Vec::new }
}

/// All of them.
pub(crate) const TARGETS: &[Target] = &[
    by_hand("html", web::html),
    by_hand("css", documents::css),
    by_hand("documents", documents::documents),
    by_hand("office", documents::office),
    by_hand("encodings", web::encodings),
    by_hand("robots", web::robots),
    by_hand("sitemap", web::sitemap),
    Target { name: "codings", run: web::codings, samples: samples::codings },
    by_hand("http_fields", web::http_fields),
    by_hand("url", web::url),
    by_hand("seeds", web::seeds),
    by_hand("config", web::config),
    by_hand("extract", stores::extract),
    by_hand("main_content", documents::main_content),
    by_hand("cdxj", stores::cdxj),
    by_hand("logs", crate::crawl::explain::fuzzing::logs),
    Target { name: "drum", run: stores::drum, samples: stores::drum_samples },
    Target { name: "values", run: stored::values, samples: samples::values },
    Target { name: "keys", run: crate::container::fuzzing::keys, samples: crate::container::fuzzing::key_samples },
    Target { name: "addresses", run: stores::addresses, samples: stores::address_samples },
    Target { name: "warc", run: crate::container::fuzzing::warc, samples: crate::container::fuzzing::warc_samples },
    Target { name: "frontier", run: stores::frontier, samples: stores::frontier_samples },
    Target { name: "calendar", run: stores::calendar, samples: stores::calendar_samples },
    Target { name: "checkpoint", run: stored::checkpoint, samples: samples::checkpoint },
    Target { name: "manifest", run: crate::ship::fuzzing::manifest, samples: crate::ship::fuzzing::manifest_samples },
    Target { name: "hold_log", run: stored::hold_log, samples: samples::hold_log },
];

/// Feeds the target `name`: what the binaries of fuzz/ call.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("fuzz/ has a binary for each target");
    (target.run)(bytes);
}
