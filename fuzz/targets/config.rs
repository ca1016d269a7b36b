//! libFuzzer on the target `config` of the crawler's `fuzzing` module.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler::fuzzing::run("config", bytes));
