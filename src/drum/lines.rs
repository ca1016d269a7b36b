//! Zeroed memory in cache lines: a look at one line costs one miss.

/// Words of 64 bits in a cache line.
pub(super) const WORDS: usize = 8;

/// Lines of eight words. Memory that was never written costs none: the system gives zeroed pages when they are touched.
#[derive(Debug)]
pub(super) struct Lines {
    /// The lines from `start` on; the words before it align them.
    words: Vec<u64>,
    start: usize,
}

impl Lines {
    pub fn new(count: usize) -> Self {
        let words = vec![0_u64; count * WORDS + WORDS - 1];
        let offset = words.as_ptr().align_offset(WORDS * 8);
        // an allocator may refuse to say: then lines merely straddle two lines of the cache
        let start = if offset < WORDS { offset } else { 0 };
        Lines { words, start }
    }

    #[inline]
    pub fn line(&self, index: usize) -> &[u64; WORDS] {
        self.words[self.start + index * WORDS..].first_chunk().expect("lines are whole")
    }

    #[inline]
    pub fn line_mut(&mut self, index: usize) -> &mut [u64; WORDS] {
        self.words[self.start + index * WORDS..].first_chunk_mut().expect("lines are whole")
    }
}

/// The place of `bits`, which are spread evenly, among `count` places; its top bits decide.
#[inline]
pub(super) fn place_among(bits: u64, count: usize) -> usize {
    ((u128::from(bits) * count as u128) >> 64) as usize
}
