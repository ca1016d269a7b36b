//! The threads of the process pool.

use std::thread::{self, JoinHandle};

use crossbeam_channel::Receiver;

use super::findings_semaphore::FindingsSemaphore;
use super::{ProcessOptions, Processor};
use crate::contract::{Fault, Findings, Reply};
use crate::fetch::Arrived;

/// Findings that wait for the engine may be so large without a place.
pub const SMALL_FINDINGS_BYTES: usize = 256 << 10;
/// Larger ones that wait for it at once.
pub const LARGE_FINDINGS: usize = 2;

/// Threads that take answers from one queue and hand what they found to the engine that asked.
#[derive(Debug)]
pub struct ProcessPool {
    threads: Vec<JoinHandle<()>>,
}

impl ProcessPool {
    /// Starts `threads` threads for the engines of a crawl with these options. They end when every sender of `answers`
    /// is gone.
    pub fn start(threads: usize, options: &ProcessOptions, answers: &Receiver<Arrived>) -> std::io::Result<Self> {
        let places = FindingsSemaphore::new(LARGE_FINDINGS);
        let start = |number| {
            let places = places.clone();
            let processor = Processor::new(options.clone());
            let answers = answers.clone();
            thread::Builder::new().name(format!("process-{number}")).spawn(move || work(processor, &places, &answers))
        };
        Ok(ProcessPool { threads: (0..threads.max(1)).map(start).collect::<Result<_, _>>()? })
    }

    /// Waits for the threads to end.
    pub fn join(self) {
        for thread in self.threads {
            // a panic was reported as an event when it happened
            let _ = thread.join();
        }
    }
}

/// A panic is a fault of this program: the engine hears of the URL that caused it and stops the crawl.
fn work(mut processor: Processor, places: &FindingsSemaphore, answers: &Receiver<Arrived>) {
    for Arrived { fetched, reply, place } in answers {
        let url = fetched.job.url.as_str().to_owned();
        let process = || processor.process_for(reply.engine(), *fetched);
        let processed = Fault::catch(|| format!("processing {url} panicked"), process);
        reply.send(processed.map(|mut processed| {
            processed.permits.hold(place);
            if bytes_of(&processed.findings) > SMALL_FINDINGS_BYTES {
                processed.permits.hold(places.take());
            }
            Reply::Page(Box::new(processed))
        }));
    }
}

/// Memory of findings.
fn bytes_of(findings: &Findings) -> usize {
    let links = findings.links.iter().chain(&findings.too_deep);
    links.map(|link| size_of_val(link) + link.url.len()).sum()
}
