//! Shipping as a whole: random checkpoints, failures, owners that are deposed.

pub(super) mod memory;
