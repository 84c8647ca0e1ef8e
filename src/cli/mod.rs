//! The command line: which subcommand, and with what status it ends. Uses the public API of the library.

mod arguments;
mod check;
mod detach;
mod display;
mod fire;
mod help;
mod host;
mod recursion;
mod signals;
mod turn;
mod watch;

use std::panic::{catch_unwind, set_hook};

use arguments::{LAUNCHER_FAILED, Request, WrongUsage};
use display::Display;

/// Runs the command and returns its status; it may die of a signal instead.
pub(crate) fn main() -> i32 {
    // A panic is said nowhere and decides nothing.
    set_hook(Box::new(|_| {}));
    let mask = signals::shield();
    // First of all, while a closed standard error can still be told from a descriptor of ours.
    let display = Display::of_standard_error();
    match Request::of(std::env::args_os().skip(1)) {
        Ok(Request::Help(topic)) => help::show(topic),
        Ok(Request::Version) => help::show_version(),
        Ok(Request::Check(request)) => catch_unwind(|| check::run(&request)).unwrap_or(1),
        Ok(Request::Fire(request)) => catch_unwind(|| fire::run(request, display)).unwrap_or(0),
        Ok(Request::Turn(request)) => {
            catch_unwind(|| turn::run(request, display, &mask)).unwrap_or(LAUNCHER_FAILED)
        }
        Err(WrongUsage { status, text }) => {
            display.line(&format!("wrong usage: {text}"));
            status
        }
    }
}
