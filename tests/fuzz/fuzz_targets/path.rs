//! A tree, a `PATH` and a program to where it is found.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| internals::properties::path_of(bytes));
