//! The thread that owns the DRUM: asks, dispatches, sends merges and checkpoints out.

use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use crawler::disk::{Disk, Ledger, Result, SavedState};
use crawler::drum::{
    Admission, Dispatcher, Drum, DrumCounters, DrumOptions, DrumState, FrontCounters, FrontOptions, Need, Store,
};
use crawler::fingerprint::Fingerprint;

use crate::crew::{Checkpoint, Crew, Done};
use crate::stream::{Context, Question, key};

const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);
/// More bytes than this wait for a merge: the owner waits too.
const BACKLOG_MAX: u64 = 4 << 30;
const LONG_PAUSE: Duration = Duration::from_millis(5);
/// Questions that come together, between two looks at the clock.
const LINKS_OF_A_PAGE: usize = 64;

/// The DRUM alone or with its front.
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
pub enum Subject {
    Drum(Drum<Fingerprint, (), Context>),
    Store(Store<(), Context>),
}

/// Calls the same method of either.
macro_rules! either {
    ($subject:expr, $it:ident => $call:expr) => {
        match $subject {
            Subject::Drum($it) => $call,
            Subject::Store($it) => $call,
        }
    };
}

impl Subject {
    pub fn open(dir: &Path, options: DrumOptions, front: bool, cut: Option<SavedState<'_, DrumState>>) -> Result<Self> {
        let disk = Disk::real();
        Ok(match front {
            true => Subject::Store(Store::open(
                disk,
                dir,
                options,
                FrontOptions { bloom_memory: 160 << 20, ..FrontOptions::default() },
                cut,
                &mut |_, _| {},
            )?),
            false => Subject::Drum(Drum::open(disk, dir, options, cut)?),
        })
    }

    pub fn counters(&self) -> DrumCounters {
        match self {
            Subject::Drum(drum) => drum.counters(),
            Subject::Store(store) => store.drum_counters(),
        }
    }

    pub fn front(&self) -> Option<FrontCounters> {
        match self {
            Subject::Drum(_) => None,
            Subject::Store(store) => Some(store.counters()),
        }
    }

    pub fn keys(&self) -> u64 {
        either!(self, it => it.keys())
    }
}

#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub unique: u64,
    pub duplicate: u64,
}

impl Dispatcher<Fingerprint, (), Context> for Tally {
    fn unique_key_check(&mut self, _: Fingerprint, _: Option<Context>) -> Result<()> {
        self.unique += 1;
        Ok(())
    }

    fn unique_key_update(&mut self, _: Fingerprint, (): (), _: Option<Context>) -> Result<()> {
        self.unique += 1;
        Ok(())
    }

    fn duplicate_key_update(&mut self, _: Fingerprint, (): (), _: Option<Context>) -> Result<()> {
        self.duplicate += 1;
        Ok(())
    }
}

pub struct Owner {
    pub subject: Subject,
    crew: Crew,
    merging: bool,
    checkpointing: bool,
    checkpoint_due: Instant,
    pub tally: Tally,
    pub checkpoints: u32,
    /// Files that cuts supersede, by the number of cuts before.
    superseded: Ledger,
    /// The last cut, to open the DRUM with again.
    pub cut: Option<(DrumState, Vec<u8>)>,
    /// The longest time that the questions of a page took, and the number of the first of them.
    pub pause_max: (Duration, u64),
    /// The number of times it was longer than it should be.
    pub long_pauses: u32,
    pub pending_bytes_max: u64,
}

impl Owner {
    pub fn new(subject: Subject, crew: Crew) -> Self {
        Owner {
            subject,
            crew,
            merging: false,
            checkpointing: false,
            superseded: Ledger::new(0),
            checkpoint_due: Instant::now() + CHECKPOINT_EVERY,
            tally: Tally::default(),
            checkpoints: 0,
            cut: None,
            pause_max: (Duration::ZERO, 0),
            long_pauses: 0,
            pending_bytes_max: 0,
        }
    }

    /// Asks everything, and meanwhile dispatches and keeps the crew busy.
    pub fn ask_all(&mut self, mut questions: impl Iterator<Item = Question>) -> Result<()> {
        let mut page = Vec::with_capacity(LINKS_OF_A_PAGE);
        for number in 0_u64.. {
            page.extend(questions.by_ref().take(LINKS_OF_A_PAGE));
            if page.is_empty() {
                break;
            }
            let before = Instant::now();
            either!(&mut self.subject, it => it.prefetch(page.iter().map(|question| question.key)));
            for question in page.drain(..) {
                self.ask(question)?;
            }
            if number % 16 == 0 {
                self.attend(Need::Threshold)?;
            }
            let pause = before.elapsed();
            self.pause_max = self.pause_max.max((pause, number * LINKS_OF_A_PAGE as u64));
            self.long_pauses += u32::from(pause >= LONG_PAUSE);
            if number % 256 == 0 {
                self.hold_back()?;
            }
        }
        Ok(())
    }

    #[inline]
    fn ask(&mut self, Question { key, aux, update }: Question) -> Result<()> {
        match &mut self.subject {
            Subject::Drum(drum) if update => drum.check_update(key, (), Some(aux)),
            Subject::Drum(drum) => drum.check(key, Some(aux)),
            Subject::Store(store) => {
                match store.admit(key, (), aux)? {
                    Admission::Unique(_) => self.tally.unique += 1,
                    Admission::Duplicate(_) => self.tally.duplicate += 1,
                    Admission::Pending => {}
                }
                Ok(())
            }
        }
    }

    /// Stores the things with these numbers.
    pub fn fill(&mut self, ids: Range<u64>) -> Result<()> {
        for id in ids {
            match &mut self.subject {
                Subject::Drum(drum) => drum.update(key(id), (), None)?,
                Subject::Store(store) => store.put(key(id), ())?,
            }
            if id % 1024 == 0 {
                self.attend(Need::Threshold)?;
                self.hold_back()?;
            }
        }
        Ok(())
    }

    /// Takes what the crew has done, dispatches some results, gives the crew more to do.
    fn attend(&mut self, need: Need) -> Result<()> {
        match self.crew.merged.try_recv() {
            Ok(done) => self.finish(done)?,
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => panic!("the merge thread is gone"),
        }
        either!(&mut self.subject, it => it.dispatch(&mut self.tally, 4096))?;
        if !self.merging
            && let Some(job) = either!(&mut self.subject, it => it.next_merge(need))?
        {
            let unneeded = either!(&mut self.subject, it => it.take_unneeded());
            self.superseded.supersede(0, unneeded);
            let removal = self.superseded.take(&Disk::real(), usize::MAX);
            self.crew.merges.send((removal, job)).expect("the merge thread lives");
            self.merging = true;
        }
        if self.checkpointing
            && let Ok(done) = self.crew.checkpointed.try_recv()
        {
            self.checkpointed(done)?;
        }
        if !self.checkpointing && Instant::now() >= self.checkpoint_due {
            self.checkpoint()?;
        }
        Ok(())
    }

    fn finish(&mut self, done: Result<Done>) -> Result<()> {
        self.merging = false;
        let done = done?;
        either!(&mut self.subject, it => it.finish_merge(done));
        Ok(())
    }

    /// Merges and dispatches everything.
    pub fn drain(&mut self) -> Result<()> {
        while either!(&self.subject, it => it.pending()) > 0 {
            self.attend(Need::All)?;
            self.wait_for_merge()?;
        }
        Ok(())
    }

    fn wait_for_merge(&mut self) -> Result<()> {
        if self.merging {
            let done = self.crew.merged.recv().expect("the merge thread lives");
            self.finish(done)?;
            while either!(&mut self.subject, it => it.dispatch(&mut self.tally, 4096))? > 0 {}
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<()> {
        let mut ram = Vec::new();
        let cut = either!(&mut self.subject, it => it.cut(&mut ram))?;
        let checkpoint = Checkpoint { ram: ram.clone(), sync: cut.sync, sync_dirs: cut.sync_dirs };
        self.superseded.supersede(u64::from(self.checkpoints) + 1, cut.superseded);
        self.cut = Some((cut.state, ram));
        self.crew.checkpoints.send(checkpoint).expect("the checkpoint thread lives");
        self.checkpointing = true;
        self.checkpoint_due = Instant::now() + CHECKPOINT_EVERY;
        Ok(())
    }

    fn checkpointed(&mut self, done: Result<()>) -> Result<()> {
        done?;
        self.checkpointing = false;
        self.checkpoints += 1;
        self.superseded.durable(u64::from(self.checkpoints));
        Ok(())
    }

    fn wait_for_checkpoint(&mut self) -> Result<()> {
        let done = self.crew.checkpointed.recv().expect("the checkpoint thread lives");
        self.checkpointed(done)
    }

    /// Makes everything durable, here and now.
    pub fn checkpoint_and_wait(&mut self) -> Result<()> {
        if self.checkpointing {
            self.wait_for_checkpoint()?;
        }
        self.checkpoint()?;
        self.wait_for_checkpoint()?;
        either!(&mut self.subject, it => it.synchronize(&mut self.tally))?;
        self.superseded.take(&Disk::real(), usize::MAX).run()
    }

    fn hold_back(&mut self) -> Result<()> {
        self.pending_bytes_max = self.pending_bytes_max.max(self.subject.counters().pending_bytes);
        while self.subject.counters().pending_bytes > BACKLOG_MAX {
            self.attend(Need::Threshold)?;
            self.wait_for_merge()?;
        }
        Ok(())
    }
}
