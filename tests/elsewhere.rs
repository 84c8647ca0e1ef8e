//! The library as it is built for a system without hooks, from the same files, seen on this one to compile.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "a library, compiled as a test"
)]

#[path = "../src/elsewhere.rs"]
mod elsewhere;
#[path = "../src/moment.rs"]
mod moment;
#[path = "../src/reporter.rs"]
mod reporter;
#[path = "../src/turn.rs"]
mod turn;

pub use elsewhere::{Launcher, Report, TurnLog};
use moment::Event;
use reporter::Reporter;

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
}
