//! The command `bravebot-hooks`, for agents that cannot link the library.
#![no_main]

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
compile_error!(
    "the command bravebot-hooks needs Linux and glibc 2.34 or later; the library compiles everywhere"
);

mod cli;
#[path = "sys/entry.rs"]
mod entry;
