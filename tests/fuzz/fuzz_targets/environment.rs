//! Names to withhold, an empty line, and the raw array of an environment, to that of a hook.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let at = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(0);
    let (also, block) = bytes.split_at(at);
    internals::properties::environment_of(block, also);
});
