//! The `crawler` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    crawler::cli::run()
}
