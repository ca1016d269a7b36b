//! The content of a file: what is there, what a power cut leaves for certain, and what has changed since.

/// The unit that a disk writes as a whole.
const SECTOR: u64 = 512;

#[derive(Debug, Default)]
pub(super) struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Changes since the last sync that left nothing doomed, in order.
    changes: Vec<(Change, Certainty)>,
}

#[derive(Debug)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Len(u64),
}

/// The certainty with which a power cut leaves a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certainty {
    /// Uncertain; a sync makes it certain.
    Open,
    /// Uncertain, and no sync changes that: one failed.
    Doomed,
    /// Certain, but a doomed one came before.
    Synced,
}

/// The fate at a power cut of the changes that are not certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Keep,
    Lose,
    Mix,
}

impl Mood {
    pub(super) fn draw(rng: &mut fastrand::Rng) -> Self {
        [Mood::Keep, Mood::Lose, Mood::Mix, Mood::Mix][rng.usize(0..4)]
    }
}

impl Content {
    /// Content that a power cut leaves.
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        Content { now: bytes.clone(), durable: bytes, changes: Vec::new() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.now
    }

    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> usize {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.now.len());
        let count = buf.len().min(self.now.len() - start);
        buf[..count].copy_from_slice(&self.now[start..start + count]);
        count
    }

    pub(super) fn len(&self) -> u64 {
        self.now.len() as u64
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) {
        if !bytes.is_empty() {
            self.change(Change::Write { offset, bytes: bytes.to_vec() });
        }
    }

    pub(super) fn set_len(&mut self, len: u64) {
        if len != self.len() {
            self.change(Change::Len(len));
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.changes.push((change, Certainty::Open));
    }

    pub(super) fn sync(&mut self) {
        if self.changes.iter().any(|(_, certainty)| *certainty == Certainty::Doomed) {
            let open = self.changes.iter_mut().filter(|(_, certainty)| *certainty == Certainty::Open);
            open.for_each(|(_, certainty)| *certainty = Certainty::Synced);
            return;
        }
        for (change, _) in self.changes.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// A sync failed: what it covered cannot be made certain any more.
    pub(super) fn doom(&mut self) {
        let open = self.changes.iter_mut().filter(|(_, certainty)| *certainty == Certainty::Open);
        open.for_each(|(_, certainty)| *certainty = Certainty::Doomed);
    }

    /// The process that met a failed sync is gone. The system may still have the doomed changes in memory, where who
    /// comes next reads them and no sync writes them; or it has forgotten them, and each is on the disk or is not.
    pub(super) fn settle(&mut self, rng: &mut fastrand::Rng) {
        if self.changes.iter().all(|(_, certainty)| *certainty != Certainty::Doomed) || rng.bool() {
            return;
        }
        let (open, old): (Vec<_>, Vec<_>) =
            self.changes.drain(..).partition(|(_, certainty)| *certainty == Certainty::Open);
        for (change, certainty) in old {
            if certainty == Certainty::Synced || rng.bool() {
                change.apply(&mut self.durable);
            }
        }
        self.now.clone_from(&self.durable);
        open.iter().for_each(|(change, _)| change.apply(&mut self.now));
        self.changes = open;
    }

    /// Reduces the content to what a power cut leaves.
    pub(super) fn cut(&mut self, mood: Mood, rng: &mut fastrand::Rng) {
        for (change, certainty) in self.changes.drain(..) {
            match mood {
                _ if certainty == Certainty::Synced => change.apply(&mut self.durable),
                Mood::Keep => change.apply(&mut self.durable),
                Mood::Lose => {}
                Mood::Mix => change.apply_in_part(&mut self.durable, rng),
            }
        }
        self.now.clone_from(&self.durable);
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Change::Len(len) => content.resize(place(*len), 0),
            Change::Write { offset, bytes } => {
                let start = place(*offset);
                let end = start + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[start..end].copy_from_slice(bytes);
            }
        }
    }

    /// Kept, lost, torn between sectors, zeroed or garbled; only the write's own bytes are touched.
    fn apply_in_part(&self, content: &mut Vec<u8>, rng: &mut fastrand::Rng) {
        let fate = rng.u8(0..6);
        match (fate, self) {
            (0 | 1, _) => self.apply(content),
            (2, _) | (_, Change::Len(_)) => {}
            (_, Change::Write { offset, bytes }) => {
                let mut bytes = bytes.clone();
                let mut end = bytes.len();
                let before = |content: &Vec<u8>, at: usize| content.get(place(*offset) + at).copied().unwrap_or(0);
                let mut start = 0;
                while start < bytes.len() {
                    let next = ((*offset + start as u64) / SECTOR + 1) * SECTOR - *offset;
                    let next = place(next).min(bytes.len());
                    if rng.bool() {
                        for (at, byte) in (start..next).zip(&mut bytes[start..next]) {
                            *byte = match fate {
                                3 => before(content, at),
                                4 => 0,
                                _ => rng.u8(..),
                            };
                        }
                    } else {
                        end = next;
                    }
                    start = next;
                }
                // a torn append may leave the file short
                let end = if fate == 3 && rng.bool() { end } else { bytes.len() };
                Change::Write { offset: *offset, bytes: bytes[..end].to_vec() }.apply(content);
            }
        }
    }
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).expect("simulated files are small")
}
