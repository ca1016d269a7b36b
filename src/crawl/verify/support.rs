//! Pairs of domains and the supporters that they make: each distinct pair in the store, but for those of which no
//! answer was handed on yet, is one supporter of a domain in the queue.
//!
//! Both are sums of one cut; beside a running crawl that has gone on meanwhile they are taken again. Memory holds the
//! keys that wait in a bucket.

use std::collections::HashMap;

use super::stores::Stores;
use crate::checkpoint::checkpoint_path;
use crate::disk::{Error, Result, SavedState};
use crate::drum::verify::{Operation, is_fault};
use crate::engine::values::decode_rules;
use crate::engine::{Pair, Supported};
use crate::frontier;
use crate::record::layout::{self, StoreName};

impl Stores<'_, '_> {
    /// Goes through the store of pairs, where there is one, and compares it with the queue.
    pub(super) fn support(&mut self) -> Result<()> {
        let (disk, dir) = (self.disk, StoreName::Support.dir(self.dir));
        let mut is_first = true;
        loop {
            let cut = self.cut.clone();
            let Some(check) = self.open(disk, &dir, StoreName::Support, &cut, is_first)? else { return Ok(()) };
            is_first = false;
            let (mut pairs, mut undecided, mut faults) = (0, 0, Vec::new());
            for bucket in 0..check.buckets() {
                let before = faults.len();
                // whether anyone waits to hear whether the key is new
                let mut waiting: HashMap<u64, bool> = HashMap::new();
                let mut each = |operation: Operation<Pair, Supported>| {
                    waiting.entry(operation.key).or_insert(operation.waiting.is_some());
                    Ok(())
                };
                check.operations::<Pair, Supported>(bucket, &mut each, &mut faults)?;
                let mut each = |key, Pair| {
                    pairs += 1;
                    waiting.remove(&key);
                    Ok(())
                };
                check.repository::<Pair>(bucket, &mut each, &mut faults)?;
                pairs += waiting.len() as u64;
                undecided += waiting.values().filter(|&&waits| waits).count() as u64;
                if faults.len() > before {
                    self.harm.add(StoreName::Support, bucket);
                }
            }
            let counted = self.supporters();
            let mut all = faults;
            let counted = match counted {
                Err(error) if is_fault(&error) => {
                    all.push(error);
                    None
                }
                counted => Some(counted?),
            };
            if self.is_superseded(&all)? {
                self.harm.stores.remove(&StoreName::Support);
                continue;
            }
            let is_sound = all.is_empty();
            all.into_iter().for_each(|fault| self.tell(fault));
            (0..check.buckets()).for_each(|bucket| self.report.advance(check.bytes(bucket)));
            if let Some(counted) = counted.filter(|&counted| is_sound && counted != pairs - undecided) {
                let path = checkpoint_path(self.dir, cut.checkpoint.number);
                let expected = format!("{} supporters of domains, as many as there are pairs", pairs - undecided);
                self.tell(Error::damaged(&path, 0, expected, counted.to_string()));
            }
            return self.tidy_drum(&check);
        }
    }

    /// Supporters of all domains in the queue.
    fn supporters(&self) -> Result<u64> {
        let cut = &self.cut;
        let queue = SavedState::new(&cut.checkpoint.frontier, &cut.sections.frontier);
        let mut supporters = 0;
        let mut each = |domain: &frontier::DomainLook| supporters += domain.round.supporters;
        let (dir, then) = (self.dir.join(layout::FRONTIER), cut.checkpoint.time);
        frontier::for_each_domain(self.disk, &dir, queue, decode_rules, then, &mut each)?;
        Ok(supporters)
    }
}
