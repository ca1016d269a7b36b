//! The threads of the process pool.

use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};

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
        let start = |name: String, answers: &Receiver<Arrived>, documents: Option<Sender<Arrived>>| {
            let places = places.clone();
            let processor = Processor::new(options.clone());
            let answers = answers.clone();
            thread::Builder::new().name(name).spawn(move || work(processor, &places, &answers, documents.as_ref()))
        };
        let mut started = Vec::new();
        // as many answers can wait as there are workers
        let (to_documents, documents) = unbounded();
        let of_documents = options.documents.as_ref().map(|converter| converter.at_once());
        for number in 0..of_documents.unwrap_or_default() {
            started.push(start(format!("document-{number}"), &documents, None)?);
        }
        for number in 0..threads.max(1) {
            let others = of_documents.map(|_| to_documents.clone());
            started.push(start(format!("process-{number}"), answers, others)?);
        }
        Ok(ProcessPool { threads: started })
    }

    /// Waits for the threads to end.
    pub fn join(self) {
        for thread in self.threads {
            // a panic was reported as an event when it happened
            let _ = thread.join();
        }
    }
}

/// Processes answers; those with documents go to the threads that have time for them. A panic is a fault of this
/// program: the engine hears of the URL that caused it and stops the crawl.
fn work(
    mut processor: Processor,
    places: &FindingsSemaphore,
    answers: &Receiver<Arrived>,
    documents: Option<&Sender<Arrived>>,
) {
    for arrived in answers {
        if let Some(documents) = documents
            && processor.document_in(&arrived.fetched).is_some()
        {
            // its threads wait for more until the last of these ends
            let _ = documents.send(arrived);
            continue;
        }
        let Arrived { fetched, reply, place } = arrived;
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
