//! Figures of the sinks of a process.

use std::sync::Arc;

use super::text::{Exposition, Kind::Counter};
use crate::sink::{Count, Counters};

/// The counters of each sink, with its name.
pub type SinkCounters = Vec<(String, Arc<Counters>)>;

/// The families of sinks.
pub(super) fn sinks(out: &mut Exposition, sinks: &SinkCounters) {
    for count in Count::ALL {
        let (name, help) = family(count);
        out.family(name, Counter, help);
        for (sink, counters) in sinks {
            out.labelled(&[("sink", sink)], counters.get(count));
        }
    }
}

fn family(count: Count) -> (&'static str, &'static str) {
    match count {
        Count::Documents => ("crawler_sink_documents_total", "Documents that the sink has stored."),
        Count::Deletions => ("crawler_sink_deletions_total", "Deletions that the sink has applied."),
        Count::Batches => ("crawler_sink_batches_total", "Batches that were delivered to the sink."),
        Count::Retries => ("crawler_sink_retries_total", "Tries that followed a failure of the sink."),
        Count::DeadLetters => ("crawler_sink_dead_letters_total", "Changes that the sink has refused for good."),
        Count::Bytes => ("crawler_sink_sent_bytes_total", "Bytes that were sent to the sink or written."),
    }
}
