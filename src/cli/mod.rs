//! The command `bravebot-hooks`: its subcommands, and the status with which each of them ends.
//!
//! The command is a host like any other. It uses the public API of the library, and `sys` for the system calls that nix
//! has no safe form for. Only the command installs signal handlers: a library must not do that in its host.

mod arguments;
mod check;
mod display;
mod fire;
mod firing;
mod recursion;
mod reporter;
mod signals;
mod spawn;
mod turn;

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use arguments::{LAUNCHER_FAILED, Request};
use display::Display;

/// Runs the command. Returns its exit status, unless the command terminates with a signal.
pub(crate) fn main() -> i32 {
    // A panic prints nothing and decides nothing (SPEC 7.2).
    set_hook(Box::new(|_| {}));
    let mask = signals::protect_this_process();
    // Before anything is opened, while a closed standard error can be told from a descriptor of this process.
    let display = Display::of_standard_error();
    match arguments::parse() {
        Ok(Request::Print(text)) => print(text),
        Ok(Request::Check(flags)) => catch(1, || check::run(&flags)),
        Ok(Request::Fire(moment, flags)) => catch(0, || fire::run(moment, &flags, display, &mask)),
        Ok(Request::Turn(command, flags)) => catch(LAUNCHER_FAILED, || {
            turn::run(&command, &flags, display, &mask)
        }),
        Err((status, text)) => {
            display.line(&format!("wrong usage: {text}"));
            status
        }
    }
}

/// Returns `status` if `run` panics.
fn catch(status: i32, run: impl FnOnce() -> i32) -> i32 {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(status)
}

/// Writes `text` to standard output. Returns 0 even if that is closed.
fn print(text: &str) -> i32 {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    0
}
