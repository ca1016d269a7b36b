//! Tests of the wheel as a whole.
