//! The `crawler` command.

fn main() {}
