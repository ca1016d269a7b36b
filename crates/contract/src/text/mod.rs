//! Text for people: figures with their units, and foreign text made harmless.

pub mod escape;
pub mod figures;
