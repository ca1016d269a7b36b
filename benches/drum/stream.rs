//! The questions that are put to the DRUM.

use crawler::drum::Aux;
use crawler::fingerprint::Fingerprint;

/// A context that is as long as a URL.
pub struct Context {
    id: u64,
}

const REST: [u8; 62] = [b'u'; 62];

impl Aux for Context {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&REST);
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        (rest == REST).then_some(Context { id: u64::from_le_bytes(*id) })
    }
}

/// One operation.
pub struct Question {
    pub key: Fingerprint,
    pub aux: Context,
    /// True if the key is to be stored.
    pub update: bool,
}

impl Question {
    fn new(id: u64, update: bool) -> Self {
        Question { key: key(id), aux: Context { id }, update }
    }
}

/// The key of the thing with this number.
pub fn key(id: u64) -> Fingerprint {
    Fingerprint::from_bits(mix(id.wrapping_mul(2_654_435_761).wrapping_add(99)))
}

/// A bijection that leaves no pattern.
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Check+updates of new things and, every second time, of one that may have come before.
pub struct Growing {
    number: u64,
    operations: u64,
    state: u64,
}

impl Growing {
    pub fn new(operations: u64) -> Self {
        Growing { number: 0, operations, state: 12_345 }
    }
}

impl Iterator for Growing {
    type Item = Question;

    #[inline]
    fn next(&mut self) -> Option<Question> {
        let number = self.number;
        if number == self.operations {
            return None;
        }
        self.number += 1;
        self.state = mix(self.state.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
        let id = if number % 2 == 1 { mix(self.state) % (number + 1) } else { number };
        Some(Question::new(id, true))
    }
}

/// Check+updates of things that are stored and, every second time, checks of others: the repository keeps its size.
pub struct Steady {
    number: u64,
    operations: u64,
    stored: u64,
}

impl Steady {
    /// The things with numbers below `stored` are stored.
    pub fn new(stored: u64, operations: u64) -> Self {
        Steady { number: 0, operations, stored }
    }
}

impl Iterator for Steady {
    type Item = Question;

    #[inline]
    fn next(&mut self) -> Option<Question> {
        let number = self.number;
        if number == self.operations {
            return None;
        }
        self.number += 1;
        let (id, known) = match number % 2 {
            0 => (mix(number) % self.stored, true),
            _ => (u64::MAX / 2 + number, false),
        };
        Some(Question::new(id, known))
    }
}
