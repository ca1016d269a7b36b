//! libFuzzer on the target `hold_log` of the crawler's `fuzzing` module.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler::fuzzing::run("hold_log", bytes));
