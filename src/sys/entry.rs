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

// The unwinder from the archive instead of libgcc_s.so, which is a second library to load at each start: about a tenth of the
// time that an empty program takes. The linker looks at it before the standard library asks for libgcc_s.
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
#[allow(unsafe_code, reason = "declares nothing")]
unsafe extern "C" {}
