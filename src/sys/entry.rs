//! The entry point of the command.
//!
//! The Rust runtime ignores SIGPIPE and opens `/dev/null` on closed standard streams before `main` runs. COMMAND of `turn`
//! must find both as the launcher found them (SPEC 8.2), so the command has the entry point of a C program instead.

/// main(3p). The standard library finds the arguments without it.
#[expect(
    unsafe_code,
    reason = "the one exported name; a C program has exactly one main"
)]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn main() -> std::ffi::c_int {
    crate::cli::main()
}
