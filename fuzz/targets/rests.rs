//! libFuzzer on the target `rests` of the crawler's `fuzzing` module.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler::fuzzing::run("rests", bytes));
