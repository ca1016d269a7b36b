//! The threads of the process pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender};

use super::{ProcessOptions, Processor};
use crate::engine::{Event, Fetched};

/// Threads that take answers from one queue and hand what they found to the engine.
#[derive(Debug)]
pub struct ProcessPool {
    threads: Vec<JoinHandle<()>>,
}

impl ProcessPool {
    /// Starts `threads` threads. They end when every sender of `answers` is gone.
    pub fn start(
        threads: usize,
        options: &ProcessOptions,
        answers: &Receiver<Fetched>,
        events: &Sender<Event>,
    ) -> std::io::Result<Self> {
        let start = |number| {
            let processor = Processor::new(options.clone());
            let (answers, events) = (answers.clone(), events.clone());
            thread::Builder::new().name(format!("process-{number}")).spawn(move || work(processor, &answers, &events))
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
fn work(mut processor: Processor, answers: &Receiver<Fetched>, events: &Sender<Event>) {
    for fetched in answers {
        let url = fetched.job.url.as_str().to_owned();
        let event = match catch_unwind(AssertUnwindSafe(|| processor.process(fetched))) {
            Ok(processed) => Event::Page(Box::new(processed)),
            Err(_) => Event::Panic(format!("processing {url} panicked")),
        };
        if events.send(event).is_err() {
            return;
        }
    }
}
