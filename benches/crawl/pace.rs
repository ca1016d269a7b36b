//! The speed of the machine's cores at a moment: on a shared one, others that use the same cores change it by a third.

use std::hint::black_box;

use flate2::{Compress, Compression, FlushCompress};

use super::thread::cpu_s;

/// A page of text is compressed so often: a few milliseconds.
const TIMES: usize = 16;
const TEXT_BYTES: usize = 64 << 10;

/// A fixed piece of work like that of a crawl.
pub struct Pace {
    text: Vec<u8>,
    out: Vec<u8>,
    compress: Compress,
}

impl Pace {
    pub fn new() -> Self {
        let mut rng = fastrand::Rng::with_seed(1);
        let words: Vec<String> = (0..500).map(|_| (0..rng.usize(2..9)).map(|_| rng.lowercase()).collect()).collect();
        let mut text = Vec::new();
        while text.len() < TEXT_BYTES {
            text.extend_from_slice(words[rng.usize(..words.len())].as_bytes());
            text.push(b' ');
        }
        Pace { text, out: Vec::with_capacity(2 * TEXT_BYTES), compress: Compress::new(Compression::fast(), false) }
    }

    /// Seconds of CPU that the work takes now.
    pub fn measure(&mut self) -> f64 {
        let before = cpu_s();
        for _ in 0..TIMES {
            self.compress.reset();
            self.out.clear();
            let done = self.compress.compress_vec(&self.text, &mut self.out, FlushCompress::Finish);
            black_box(done.expect("there is room for what does not shrink"));
        }
        cpu_s() - before
    }
}
