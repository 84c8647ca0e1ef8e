//! Bytes to text for people.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| internals::properties::escaped_of(bytes));
