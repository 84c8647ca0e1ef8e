//! A toy agent with threads. `sync_agent WORD...` is one turn: a call of its own, then a delegate for each WORD, which
//! calls the tool of that name. Ctrl-C cancels the turn. What a host must do, and why, is in docs/hosts.md.

mod display;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bravebot_hooks::{Delegate, Launcher};
use display::Display;
use nix::sys::signal::{SigSet, Signal};

/// What is fired is a name of this list, never a word of the model's.
const TOOLS: [&str; 3] = ["read_file", "write_file", "run"];
static IS_CANCELLED: AtomicBool = AtomicBool::new(false);
static ONE_CALL_AT_A_TIME: Mutex<()> = Mutex::new(());

fn main() -> ExitCode {
    let Ok(directory) = std::env::current_dir() else {
        return ExitCode::FAILURE;
    };
    // First thing in the session: before a thread, an argument or a file of the checkout is looked at.
    let launcher = Launcher::withholding(["TOY_AGENT_KEY".into()], Display::of_turn_in(&directory));
    cancel_on_ctrl_c(launcher.clone());
    let words: Vec<String> = std::env::args().skip(1).collect();
    match turn(&launcher, &directory, &words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Cancelled) => ExitCode::from(130),
    }
}

struct Cancelled;

fn turn(launcher: &Launcher, directory: &Path, words: &[String]) -> Result<(), Cancelled> {
    let turn = launcher.turn(directory);
    if IS_CANCELLED.load(Ordering::Relaxed) {
        return Err(Cancelled);
    }
    show("read_file");
    turn.tool_finished("read_file");
    thread::scope(|threads| {
        for word in words {
            let delegate = turn.delegate();
            threads.spawn(move || call(delegate, word));
        }
    });
    if IS_CANCELLED.load(Ordering::Relaxed) {
        Err(Cancelled)
    } else {
        Ok(())
    }
    // The turn is dropped here, by `return` and by a panic, and fires turn-finished.
}

fn call(delegate: Delegate<'_>, word: &str) {
    // A panic stands for a bug of the agent: it goes on through the scope and the turn.
    let tool = TOOLS
        .into_iter()
        .find(|tool| *tool == word)
        .expect("a word of the list");
    show(tool);
    // An interrupt ends the moment that runs, and no other. Who would wait in the launcher waits here, and then looks.
    let _one = ONE_CALL_AT_A_TIME.lock();
    if !IS_CANCELLED.load(Ordering::Relaxed) {
        delegate.tool_finished(tool);
    }
}

fn show(tool: &str) {
    let _ = writeln!(std::io::stdout(), "called {tool}");
}

/// A second Ctrl-C, during turn-finished, ends the hooks of that.
fn cancel_on_ctrl_c(launcher: Launcher) {
    let interrupt = SigSet::from(Signal::SIGINT);
    // Threads that are made later inherit this; hooks do not. A tool that starts processes has to unblock it for them.
    let is_blocked = interrupt.thread_block().is_ok();
    thread::spawn(move || {
        while is_blocked && interrupt.wait().is_ok() {
            // In this order: the call that is next sees it.
            IS_CANCELLED.store(true, Ordering::Relaxed);
            launcher.interrupt();
        }
    });
}
