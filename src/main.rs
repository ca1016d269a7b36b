//! The `crawler` command.

use std::process::ExitCode;

/// Answers and what is found in them go from thread to thread, and are freed elsewhere than they were made.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    crawler::cli::run()
}
