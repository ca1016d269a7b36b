//! The stores of answers, whose losses cost requests only: what is damaged of them is emptied and asked for again.
//! Verification and rebuilding go over this list.

use crate::disk::Result;
use crate::engine::StoreValue;
use crate::engine::values::{Addresses, Robots};
use crate::frontier::QueuedUrl;

/// An action on each store of answers.
pub(super) trait AnswerVisitor {
    /// Does it with the store of these values.
    fn visit<V: StoreValue<Asks = QueuedUrl>>(&mut self) -> Result<()>;
}

/// Visits all of them.
pub(super) fn visit(visitor: &mut impl AnswerVisitor) -> Result<()> {
    visitor.visit::<Robots>()?;
    visitor.visit::<Addresses>()
}
