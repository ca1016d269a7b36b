//! The stores of answers, whose losses cost requests only: what is damaged of them is emptied and asked for again.
//! Verification and rebuilding go over this list. A store that is none of them has a check and a rebuild of its own.

use crate::disk::Result;
use crate::engine::StoreValue;
use crate::engine::values::{Addresses, Robots};
use crate::frontier::QueuedUrl;
use crate::record::layout::StoreName;

/// An action on each store of answers.
pub(super) trait AnswerVisitor {
    /// Does it with the store of these values.
    fn visit<V: StoreValue<Asks = QueuedUrl>>(&mut self) -> Result<()>;
}

/// Visits all of them.
pub(super) fn visit(visitor: &mut impl AnswerVisitor) -> Result<()> {
    StoreName::ALL.into_iter().filter_map(|store| visit_one(store, visitor)).collect()
}

/// Returns true where `store` is one of them.
pub(super) fn has(store: StoreName) -> bool {
    visit_one(store, &mut Nothing).is_some()
}

/// Visits `store`; `None` where it is none of them.
fn visit_one(store: StoreName, visitor: &mut impl AnswerVisitor) -> Option<Result<()>> {
    match store {
        StoreName::Robots => Some(visitor.visit::<Robots>()),
        StoreName::Dns => Some(visitor.visit::<Addresses>()),
        StoreName::Seen | StoreName::Visits | StoreName::Support => None,
    }
}

/// Does nothing with any of them.
struct Nothing;

impl AnswerVisitor for Nothing {
    fn visit<V: StoreValue<Asks = QueuedUrl>>(&mut self) -> Result<()> {
        Ok(())
    }
}
