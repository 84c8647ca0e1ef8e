//! Firing: which hooks an event runs, one after the other, and what becomes of each ending.
//!
//! Nothing here returns an outcome: what happened goes to the reporter, as text with its moment and program
//! (SPEC 7.1). Knows no process ids and no JSON.

use std::cell::Cell;
use std::ffi::OsString;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::environment::Environment;
use crate::escape::escaped;
use crate::hooks::{self, Hook};
use crate::interrupt::{Ears, Interrupt, Listener};
use crate::moment::Event;
use crate::process::{self, Ending, Start, Straggler};
use crate::report::{Failure, Report, StartError};
use crate::reporter::{Progress, Reporter};
use crate::sys::Change;
use crate::trust::Home;

/// The file, below `HOME`; there is no other place (SPEC 1.1).
pub(crate) const FILE: &str = ".bravebot/hooks.json";
/// The most bytes of it that are used (SPEC 1.3).
pub(crate) const LARGEST: usize = 65_536;

thread_local! {
    static IS_FIRING: Cell<bool> = const { Cell::new(false) };
}

/// Fires the hooks of `~/.bravebot/hooks.json`. Clones share one launcher, and one launcher runs one moment at a
/// time, whichever thread fires it (SPEC 2.4).
///
/// Make it first thing in the session, before anything of a checkout is read: the file and the environment are taken as
/// they are now, and a later change of either has no effect (SPEC 1.13, 3.4).
#[derive(Clone)]
pub struct Launcher {
    shared: Arc<Shared>,
}

struct Shared {
    reporter: Box<dyn Reporter>,
    /// `None` where no hook is in force.
    armed: Option<Armed>,
}

struct Armed {
    hooks: Vec<Hook>,
    environment: Environment,
    interrupt: Interrupt,
    /// Held while a moment runs.
    stragglers: Mutex<Vec<Straggler>>,
}

impl Launcher {
    /// Reads `~/.bravebot/hooks.json` and the environment. Never fails: a problem of the file is a report, and a file
    /// that cannot be used means no hooks (SPEC 1.12). Blocks for as long as the file system takes to answer.
    pub fn new(reporter: impl Reporter + 'static) -> Launcher {
        Launcher::withholding([], reporter)
    }

    /// As [`Launcher::new`], and keeps these names from the hooks too, whatever their case: the host's own
    /// credentials, which are not in the table (SPEC 4.1).
    pub fn withholding(
        names: impl IntoIterator<Item = OsString>,
        reporter: impl Reporter + 'static,
    ) -> Launcher {
        let reporter: Box<dyn Reporter> = Box::new(reporter);
        let hooks = read(&*reporter);
        let armed = if hooks.is_empty() {
            None
        } else {
            arm(hooks, names, &*reporter)
        };
        Launcher {
            shared: Arc::new(Shared { reporter, armed }),
        }
    }

    /// Whether a hook is in force for `event`. No system call, no allocation, no lock (SPEC 2.5).
    ///
    /// For a host that would have to go to another thread to fire; what a hook does cannot be learned from it.
    pub fn has_hook_for(&self, event: Event<'_>) -> bool {
        self.shared
            .armed
            .as_ref()
            .is_some_and(|armed| armed.hooks.iter().any(|hook| hook.is_for(&event)))
    }

    /// Runs the hooks in force for `event` in `directory`, one after the other in the order of the file, and returns
    /// when the last is over and reaped.
    ///
    /// Blocks for at most 31.25 seconds a hook: its bound of 30, a quarter for its end, one for a process that cannot be
    /// killed (SPEC 5.1, 5.4); and, when another thread is firing, until it has. Where no hook is in force for `event` it
    /// costs no system call, no allocation and no lock (SPEC 2.5). From inside a [`Reporter`] it does nothing.
    ///
    /// What the hooks did is not returned:
    ///
    /// ```no_run
    /// # use bravebot_hooks::{Event, Launcher, Report, Reporter};
    /// # struct Quiet; impl Reporter for Quiet { fn report(&self, _: &Report) {} }
    /// let launcher = Launcher::new(Quiet);
    /// launcher.fire(Event::TurnStarted, "/tmp".as_ref());
    /// ```
    ///
    /// ```compile_fail,E0308
    /// # use bravebot_hooks::{Event, Launcher, Report, Reporter};
    /// # struct Quiet; impl Reporter for Quiet { fn report(&self, _: &Report) {} }
    /// let launcher = Launcher::new(Quiet);
    /// if launcher.fire(Event::TurnStarted, "/tmp".as_ref()) {}
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # use bravebot_hooks::{Event, Launcher, Report, Reporter};
    /// # struct Quiet; impl Reporter for Quiet { fn report(&self, _: &Report) {} }
    /// # fn main() -> Result<(), std::io::Error> {
    /// let launcher = Launcher::new(Quiet);
    /// launcher.fire(Event::TurnStarted, "/tmp".as_ref())?;
    /// # Ok(()) }
    /// ```
    pub fn fire(&self, event: Event<'_>, directory: &Path) {
        self.fire_listening(event, directory, Listener::default());
    }

    /// As [`Launcher::fire`], for the command of this package: before each hook and while one runs, what the listener has is
    /// heard, on this thread.
    #[doc(hidden)]
    pub fn fire_listening(&self, event: Event<'_>, directory: &Path, listener: Listener<'_>) {
        if !self.has_hook_for(event) || IS_FIRING.get() {
            return;
        }
        let Some(armed) = &self.shared.armed else {
            return;
        };
        let mut moment = Running::begin(armed);
        let mut ears = Ears {
            interrupt: &armed.interrupt,
            listener,
        };
        for hook in armed.hooks.iter().filter(|hook| hook.is_for(&event)) {
            ears.hear();
            if armed.interrupt.is_requested() {
                break;
            }
            self.run(armed, hook, directory, &mut ears, &mut moment.stragglers);
        }
    }

    /// Ends the moment that is running: its hook is sent SIGTERM and SIGCONT, after 250 ms SIGKILL, without a report, and
    /// the rest of the moment is skipped. Returns at once. A moment that begins later is untouched; where none is
    /// running this does nothing (SPEC 5.7).
    ///
    /// A call that another thread has made, and that waits for the moment that runs, begins later. A host that cancels a turn
    /// with delegates sets a flag of its own first, and looks at it before each call fires; docs/hosts.md shows how.
    pub fn interrupt(&self) {
        if let Some(armed) = &self.shared.armed {
            armed.interrupt.now();
        }
    }

    fn run(
        &self,
        armed: &Armed,
        hook: &Hook,
        directory: &Path,
        ears: &mut Ears<'_, '_>,
        stragglers: &mut Vec<Straggler>,
    ) {
        let program = escaped(hook.run.program().as_bytes());
        let span =
            barrier(|| tracing::debug_span!("hook", moment = hook.on.name(), program = %program));
        self.tell(|reporter| {
            reporter.progress(Progress::Started {
                moment: hook.on,
                program: &program,
            })
        });
        // The reporter may have interrupted the moment.
        let ending = if armed.interrupt.is_requested() {
            Ok(Ending::Interrupted)
        } else {
            start(armed, hook, directory, ears, stragglers)
        };
        self.tell(|reporter| reporter.progress(Progress::Over));
        let report = failure(&ending, hook)
            .map(|failure| Report::of_hook(hook.on, hook.run.program().clone(), failure));
        barrier(|| {
            let _entered = span.as_ref().map(tracing::Span::enter);
            match &report {
                Some(report) => tracing::warn!("{report}"),
                None => tracing::debug!("the hook is over"),
            }
        });
        barrier(|| drop(span));
        if let Some(report) = &report {
            self.tell(|reporter| reporter.report(report));
        }
    }

    fn tell(&self, what: impl FnOnce(&dyn Reporter)) {
        barrier(|| what(&*self.shared.reporter));
    }
}

/// The one moment of a launcher that is running; dropped, the next may begin.
struct Running<'a> {
    stragglers: MutexGuard<'a, Vec<Straggler>>,
}

impl<'a> Running<'a> {
    fn begin(armed: &'a Armed) -> Running<'a> {
        let mut stragglers = armed
            .stragglers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        IS_FIRING.set(true);
        armed.interrupt.begin();
        stragglers.retain_mut(|straggler| !straggler.is_gone());
        Running { stragglers }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        IS_FIRING.set(false);
    }
}

fn start(
    armed: &Armed,
    hook: &Hook,
    directory: &Path,
    ears: &mut Ears<'_, '_>,
    stragglers: &mut Vec<Straggler>,
) -> Result<Ending, StartError> {
    let path = hook.run.find(armed.environment.value("PATH"))?;
    let start = Start {
        path: &path,
        words: hook.run.words(),
        environment: armed.environment.block(),
        directory,
        input: hook.on.line(),
    };
    process::run(&start, hook.bound, ears, stragglers)
}

/// The first that applies, in the order of SPEC 6.1.
fn failure(ending: &Result<Ending, StartError>, hook: &Hook) -> Option<Failure> {
    match ending {
        Err(error) => Some(Failure::NotStarted(error.clone())),
        Ok(Ending::AtBound { ended }) => Some(Failure::TimedOut {
            seconds: hook.bound.as_secs(),
            ended: *ended,
        }),
        Ok(Ending::Alone {
            change: Some(Change::Killed(signal)),
            ..
        }) => Some(Failure::Killed(*signal)),
        Ok(Ending::Alone {
            change: Some(Change::Exited(status)),
            ..
        }) if *status != 0 => Some(Failure::Exited(*status)),
        Ok(Ending::Alone { left: true, .. }) => Some(Failure::LeftRunning),
        Ok(Ending::Alone { .. } | Ending::Interrupted) => None,
    }
}

fn read(reporter: &dyn Reporter) -> Vec<Hook> {
    let text = Home::of(std::env::var_os("HOME")).and_then(|home| match home {
        Some(home) => home.read(FILE, LARGEST),
        None => Ok(None),
    });
    match text {
        Ok(Some(text)) => {
            let hooks = hooks::parse(&text);
            hooks
                .problems
                .iter()
                .for_each(|problem| say(reporter, problem));
            hooks.in_force
        }
        Ok(None) => Vec::new(),
        Err(refusal) => {
            say(reporter, format_args!("hooks.json not loaded: {refusal}"));
            Vec::new()
        }
    }
}

/// Reports a problem of the file.
fn say(reporter: &dyn Reporter, problem: impl fmt::Display) {
    let report = Report::of_file(problem);
    barrier(|| tracing::warn!("{report}"));
    barrier(|| reporter.report(&report));
}

fn arm(
    hooks: Vec<Hook>,
    names: impl IntoIterator<Item = OsString>,
    reporter: &dyn Reporter,
) -> Option<Armed> {
    let names: Vec<OsString> = names.into_iter().collect();
    match Interrupt::new() {
        Ok(interrupt) => Some(Armed {
            hooks,
            environment: Environment::withholding(std::env::vars_os(), &names),
            interrupt,
            stragglers: Mutex::default(),
        }),
        Err(error) => {
            say(
                reporter,
                format_args!(
                    "hooks.json not loaded: no pipe can be made: {}",
                    error.desc()
                ),
            );
            None
        }
    }
}

/// Keeps a panic of the host's own code, a display or a subscriber, from the turn (SPEC 6.5).
fn barrier<T>(call: impl FnOnce() -> T) -> Option<T> {
    // Nothing of ours is left half changed: what is called has shared references alone.
    catch_unwind(AssertUnwindSafe(call)).ok()
}
