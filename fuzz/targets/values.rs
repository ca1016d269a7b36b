//! libFuzzer on the target `values` of the crawler's `fuzzing` module.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler::fuzzing::run("values", bytes));
