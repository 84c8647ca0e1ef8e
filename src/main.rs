//! The command `bravebot-hooks`: the library for every agent that cannot link it.
//!
//! It has no entry point of the Rust runtime. That would set SIGPIPE to be ignored and open `/dev/null` for standard
//! streams that are closed, both before any line of ours, and COMMAND of `turn` is to find everything as the launcher
//! found it (SPEC 8.2).
#![no_main]

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
compile_error!(
    "the command bravebot-hooks needs Linux and glibc 2.34 or later; the library compiles everywhere"
);

mod cli;

/// main(3p). The standard library finds the arguments by itself.
#[expect(
    unsafe_code,
    reason = "the one exported name; a C program has exactly one main"
)]
#[unsafe(no_mangle)]
pub extern "C" fn main() -> std::ffi::c_int {
    cli::main()
}
