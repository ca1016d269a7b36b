//! Blocks of files in the store that were read lately, in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a block, but of the last one of a file.
pub(super) const BLOCK_BYTES: u64 = 64 << 10;

/// A block: the file's number, and its own.
pub(super) type BlockKey = (u64, u64);

/// The blocks, the oldest go first.
#[derive(Debug)]
pub(super) struct Cache {
    bytes_max: usize,
    blocks: Mutex<Blocks>,
}

#[derive(Debug, Default)]
struct Blocks {
    found: HashMap<BlockKey, Arc<[u8]>>,
    order: VecDeque<BlockKey>,
    bytes: usize,
}

impl Cache {
    pub(crate) fn new(bytes_max: usize) -> Cache {
        Cache { bytes_max, blocks: Mutex::default() }
    }

    pub(crate) fn get(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).found.get(&key).cloned()
    }

    pub(crate) fn put(&self, key: BlockKey, block: Arc<[u8]>) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = block.len();
        if blocks.found.insert(key, block).is_some() {
            return;
        }
        blocks.order.push_back(key);
        blocks.bytes += bytes;
        while blocks.bytes > self.bytes_max
            && let Some(oldest) = blocks.order.pop_front()
        {
            let left = blocks.found.remove(&oldest).map_or(0, |block| block.len());
            blocks.bytes -= left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_blocks_go_when_there_are_too_many() {
        let cache = Cache::new(300);
        for number in 0..10 {
            cache.put((1, number), vec![number as u8; 100].into());
            cache.put((1, number), vec![number as u8; 100].into());
            assert!(cache.get((1, number)).is_some());
        }
        let kept: Vec<u64> = (0..10).filter(|&number| cache.get((1, number)).is_some()).collect();
        assert_eq!(kept, [7, 8, 9]);
    }
}
