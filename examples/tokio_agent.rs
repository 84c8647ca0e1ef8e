//! The toy agent of sync_agent.rs with tasks, on one thread: `tokio_agent WORD...`. Firing blocks, so the turn lives on
//! a thread that may, and the tasks hold a channel to it. What a host must do, and why, is in docs/hosts.md.

mod display;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use bravebot_hooks::{Event, Launcher};
use display::Display;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};

/// What is fired is a name of this list, never a word of the model's.
const TOOLS: [&str; 3] = ["read_file", "write_file", "run"];
static IS_CANCELLED: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let Ok(directory) = std::env::current_dir() else {
        return ExitCode::FAILURE;
    };
    // First thing in the session: before the runtime, an argument or a file of the checkout is looked at.
    let launcher = Launcher::withholding(["TOY_AGENT_KEY".into()], Display::of_turn_in(&directory));
    let words = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_or(ExitCode::FAILURE, |runtime| {
        runtime.block_on(session(launcher, directory, words))
    })
}

async fn session(launcher: Launcher, directory: PathBuf, words: Vec<String>) -> ExitCode {
    let Ok(mut interrupts) = signal(SignalKind::interrupt()) else {
        return ExitCode::FAILURE;
    };
    let (started, calls, turn) = begin(launcher.clone(), directory);
    let work = tokio::spawn(work(started, calls, words));
    let cancel = work.abort_handle();
    tokio::spawn(async move {
        // A second Ctrl-C, during turn-finished, ends the hooks of that.
        while interrupts.recv().await.is_some() {
            // In this order: the call that is next sees it.
            IS_CANCELLED.store(true, Ordering::Relaxed);
            launcher.interrupt();
            cancel.abort();
        }
    });
    let result = work.await;
    // However the work ended, its channels are dropped, which ends the turn; this waits for turn-finished.
    let _ = turn.await;
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_cancelled() => ExitCode::from(130),
        Err(_) => ExitCode::from(101),
    }
}

/// The name of the tool, and who waits until its hooks are over.
type Call = (&'static str, oneshot::Sender<()>);

/// What a task holds of the turn. It can fire tool-finished alone, as a `Delegate` can, which borrows and so cannot be
/// moved into a task.
#[derive(Clone)]
struct Calls {
    launcher: Launcher,
    turn: mpsc::Sender<Call>,
}

impl Calls {
    async fn tool_finished(&self, tool: &'static str) {
        // Where no hook is in force, the tool's task has no need of the other thread.
        if self.launcher.has_hook_for(Event::ToolFinished(Some(tool))) {
            let (done, is_done) = oneshot::channel();
            let _ = self.turn.send((tool, done));
            let _ = is_done.await;
        }
    }
}

/// The turn is over, and turn-finished fires, when the last of its [`Calls`] is dropped: after the end, an abort or a
/// panic of the task that holds it.
fn begin(launcher: Launcher, directory: PathBuf) -> (oneshot::Receiver<()>, Calls, JoinHandle<()>) {
    let (has_started, started) = oneshot::channel();
    let (turn, calls) = mpsc::channel::<Call>();
    let calls_of_turn = Calls {
        launcher: launcher.clone(),
        turn,
    };
    let thread = spawn_blocking(move || {
        let turn = launcher.turn(directory);
        let _ = has_started.send(());
        for (tool, done) in calls {
            if !IS_CANCELLED.load(Ordering::Relaxed) {
                turn.tool_finished(tool);
            }
            let _ = done.send(());
        }
    });
    (started, calls_of_turn, thread)
}

async fn work(started: oneshot::Receiver<()>, calls: Calls, words: Vec<String>) {
    let _ = started.await;
    show("read_file");
    calls.tool_finished("read_file").await;
    // Dropped with this task, it aborts its own.
    let mut delegates = JoinSet::new();
    for word in words {
        delegates.spawn(call(calls.clone(), word));
    }
    while let Some(delegate) = delegates.join_next().await {
        delegate.expect("no delegate panics");
    }
}

async fn call(calls: Calls, word: String) {
    // A panic stands for a bug of the agent.
    let tool = TOOLS
        .into_iter()
        .find(|tool| *tool == word)
        .expect("a word of the list");
    show(tool);
    calls.tool_finished(tool).await;
}

fn show(tool: &str) {
    let _ = writeln!(std::io::stdout(), "called {tool}");
}
