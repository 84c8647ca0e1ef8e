//! The library as it is built for a system where hooks are not supported, from the same files, seen on this one to compile.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a library, compiled as a test"
)]

#[path = "../src/escape.rs"]
mod escape;
#[path = "../src/moment.rs"]
mod moment;
#[path = "../src/report.rs"]
mod report;
#[path = "../src/turn.rs"]
mod turn;
#[path = "../src/unsupported.rs"]
mod unsupported;

use moment::Event;
use report::{Failure, Report, Reporter};
pub use unsupported::{Launcher, TurnLog};

/// "Elsewhere there are no hooks."
#[test]
fn a_host_compiles_where_there_are_no_hooks_and_fires_nothing() {
    struct Panics;
    impl Reporter for Panics {
        fn report(&self, report: &Report) {
            panic!("{report}");
        }
    }
    let launcher = Launcher::withholding(["KEY".into()], Panics);
    let turn = launcher.turn(".");
    turn.delegate().tool_finished("write_file");
    drop(turn);
    launcher.interrupt();
    assert!(!launcher.has_hook_for(Event::TurnFinished));
    let report = Report::without_hook(Failure::NotStarted, "of the test's own");
    assert!(TurnLog::of_turn_in(".".as_ref()).add(&report).is_ok());
}
