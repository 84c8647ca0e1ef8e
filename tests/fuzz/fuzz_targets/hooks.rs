//! Bytes to hooks.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| internals::properties::hooks_of(bytes));
