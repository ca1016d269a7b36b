//! Zeroed memory in cache lines: a look at one line costs one miss.
//!
//! The memory is mapped, not allocated, for two reasons. It may ask for huge pages: with small ones a look at a random
//! line of a large table misses the TLB as well. And it costs nothing before it is touched.

use memmap2::MmapMut;

/// Words of 64 bits in a cache line.
pub(super) const WORDS: usize = 8;
const LINE_BYTES: usize = WORDS * 8;
/// A huge page.
pub(super) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The content of a line.
pub(super) type CacheLine = [u64; WORDS];

/// Lines of eight words, all zero at first.
#[derive(Debug)]
pub(super) struct CacheLines(MmapMut);

impl CacheLines {
    /// # Panics
    /// When there is not so much memory, as any allocation would.
    pub(crate) fn new(count: usize) -> Self {
        let memory = MmapMut::map_anon(count.max(1) * LINE_BYTES).expect("memory for a table of this size");
        #[cfg(target_os = "linux")]
        if memory.len() >= HUGE_PAGE_BYTES {
            // a kernel without huge pages refuses: it is only slower
            let _ = memory.advise(memmap2::Advice::HugePage);
        }
        CacheLines(memory)
    }

    /// The line at `index`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> CacheLine {
        let (words, _) = self.0.as_chunks::<LINE_BYTES>().0[index].as_chunks::<8>();
        std::array::from_fn(|word| u64::from_ne_bytes(words[word]))
    }

    /// Replaces the line at `index`.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, line: &CacheLine) {
        let (words, _) = self.0.as_chunks_mut::<LINE_BYTES>().0[index].as_chunks_mut::<8>();
        words.iter_mut().zip(line).for_each(|(bytes, word)| *bytes = word.to_ne_bytes());
    }

    /// Makes the system give a page of lines that were never set, the one at `offset` bytes: to clear a huge one takes
    /// nearly a millisecond, for which there are better moments than the first use.
    pub(crate) fn claim(&mut self, offset: usize) {
        if let Some(byte) = self.0.get_mut(offset) {
            // a read would be given the page of zeros that all share
            *std::hint::black_box(byte) = 0;
        }
    }

    /// Some word of the line at `index`: enough to bring it into the cache.
    #[inline]
    pub(crate) fn touch(&self, index: usize) -> u64 {
        let (words, _) = self.0.as_chunks::<LINE_BYTES>().0[index].as_chunks::<8>();
        u64::from_ne_bytes(words[0])
    }
}

/// The place of `bits`, which are spread evenly, among `count` places; its top bits decide.
#[inline]
pub(super) fn place_among(bits: u64, count: usize) -> usize {
    ((u128::from(bits) * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_zero_and_keep_what_is_put_there() {
        let mut lines = CacheLines::new(1_000);
        lines.set(999, &[1, 2, 3, 4, 5, 6, 7, 8]);
        lines.set(0, &[9; WORDS]);
        assert_eq!((lines.get(0), lines.get(500), lines.get(999)), ([9; 8], [0; 8], [1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!((lines.touch(0), lines.touch(999)), (9, 1));
    }
}
