//! libFuzzer on the target `http_fields` of the crawler's `fuzzing` module.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler::fuzzing::run("http_fields", bytes));
