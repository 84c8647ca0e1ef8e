//! Firing: which hooks an event runs, one after the other, and which report each ending becomes.
//!
//! Nothing here returns an outcome: what happened goes to the reporter, as text with its moment and program (SPEC 7.1).
//! Knows no process ids and no JSON. The public constructors, which word what was refused, are in `explain`.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::cell::Cell;
use std::ffi::{CString, OsString};
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::{read, write};

use crate::environment::Environment;
use crate::escape::escaped;
use crate::hooks::{self, Hook, Problem};
use crate::moment::Event;
use crate::process::{self, Command, Ending, Process, StartError};
use crate::report::{Failure, Progress, Report, Reporter};
use crate::sys;
use crate::trust::{Home, Refusal};

/// The file, below `HOME`. There is no other place (SPEC 1.1).
pub(crate) const FILE: &str = ".bravebot/hooks.json";
/// The most bytes of it that are used (SPEC 1.3).
pub(crate) const MAX_SIZE: usize = 65_536;

thread_local! {
    /// Whether this thread is in a call of the host's own code, which may not fire (SPEC 2.4).
    static IS_REPORTING: Cell<bool> = const { Cell::new(false) };
}

/// Fires the hooks of `~/.bravebot/hooks.json`. Clones share one launcher, and one launcher runs one moment at a
/// time, whichever thread fires it (SPEC 2.4).
///
/// Make it first thing in the session, before anything of a checkout is read: the file and the environment are taken as
/// they are now, and a later change of either has no effect (SPEC 1.13, 3.4).
#[derive(Clone)]
pub struct Launcher(Arc<Shared>);

struct Shared {
    reporter: Box<dyn Reporter>,
    wording: Wording,
    /// `None` where no hook is in force.
    in_force: Option<InForce>,
}

struct InForce {
    hooks: Vec<Hook>,
    environment: Environment,
    is_interrupted: AtomicBool,
    /// A pipe that wakes the moment that is running, also from another thread (SPEC 5.7).
    wakeup: OwnedFd,
    waker: OwnedFd,
    /// Held while a moment runs. Processes that did not end after SIGKILL; each moment looks for them again.
    unreaped: Mutex<Vec<Process>>,
}

/// A line and a column, both from 1, and a sentence that begins with them.
pub(crate) type Sentence = ((usize, usize), String);

/// How the errors of the core are worded for people.
#[derive(Clone, Copy)]
pub(crate) struct Wording {
    pub(crate) refusal: fn(&Refusal) -> String,
    /// Each problem of this text, with its line and column.
    pub(crate) problems: fn(&str, &[Problem]) -> Vec<Sentence>,
    /// Why this program could not be started.
    pub(crate) start_error: fn(&str, &StartError) -> String,
}

/// A descriptor to poll while hooks run, and what to call when it is readable, and before each hook too.
type Watch<'a> = (BorrowedFd<'a>, &'a mut dyn FnMut());

impl Launcher {
    /// Reads the file and the environment, less the names that `names` adds to the table.
    pub(crate) fn load(names: &[OsString], reporter: Box<dyn Reporter>, wording: Wording) -> Self {
        let report = |problem: String| {
            let report = Report::without_hook(Failure::File, problem);
            catch_panic(|| tracing::warn!("{report}"));
            catch_panic(|| reporter.report(&report));
        };
        let in_force = InForce::load(names, wording, report).unwrap_or_else(|why| {
            report(format!("hooks.json not loaded: {why}"));
            None
        });
        Launcher(Arc::new(Shared {
            reporter,
            wording,
            in_force,
        }))
    }

    /// Returns whether a hook is in force for `event`. No system call, no allocation, no lock (SPEC 2.5).
    ///
    /// For a host that would have to go to another thread to fire. It tells nothing of what a hook does.
    pub fn has_hook_for(&self, event: Event<'_>) -> bool {
        self.in_force_for(event).is_some()
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
        self.fire_watching(event, directory, None);
    }

    /// As [`Launcher::fire`], for the command of this package: `watch` is a descriptor to poll while hooks run, and what to
    /// call when it is readable, and before each hook too. That may call [`Launcher::interrupt`].
    #[doc(hidden)]
    pub fn fire_watching(&self, event: Event<'_>, directory: &Path, mut watch: Option<Watch<'_>>) {
        let Some(in_force) = self.in_force_for(event) else {
            return;
        };
        if IS_REPORTING.get() {
            return;
        }
        // Waits for the moment that is running. The next may begin when this is dropped.
        let mut unreaped = in_force
            .unreaped
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        in_force.is_interrupted.store(false, Ordering::SeqCst);
        in_force.take_interrupt();
        unreaped.retain_mut(|process| process.reap().is_none());
        let wakeup = in_force.wakeup.as_fd();
        let watched = watch.as_ref().map_or(wakeup, |(descriptor, _)| *descriptor);
        let wakeups = [wakeup, watched];
        let mut is_interrupted = || {
            if let Some((_, call)) = &mut watch {
                call();
            }
            in_force.take_interrupt()
        };
        for hook in in_force.hooks.iter().filter(|hook| hook.is_for(&event)) {
            if is_interrupted() {
                break;
            }
            self.run_and_report(hook, || {
                // The reporter may have interrupted the moment.
                if is_interrupted() {
                    return Ok(Ending::Interrupted);
                }
                let path = process::find(&hook.program, in_force.environment.value("PATH"))?;
                let command = Command {
                    // Neither the program nor an environment block can hold a NUL.
                    path: &CString::new(path.as_os_str().as_bytes()).unwrap_or_default(),
                    argv: &hook.argv,
                    environment: in_force.environment.block(),
                    directory,
                    input: hook.on.line(),
                    bound: hook.bound,
                };
                process::run(&command, &wakeups, &mut is_interrupted, &mut unreaped)
            });
        }
    }

    /// Interrupts the moment that is running: its hook is sent SIGTERM and SIGCONT, after 250 ms SIGKILL, without a report,
    /// and the rest of the moment is skipped. Returns at once. A moment that begins later is untouched; where none is
    /// running this does nothing (SPEC 5.7).
    ///
    /// A call of another thread that waits for the running moment begins later. A host that cancels a turn with delegates
    /// sets a flag of its own first, and looks at it before each call fires; docs/hosts.md shows how.
    pub fn interrupt(&self) {
        if let Some(in_force) = &self.0.in_force {
            in_force.is_interrupted.store(true, Ordering::SeqCst);
            // A full pipe wakes as well.
            let _ = write(&in_force.waker, b"!");
        }
    }

    fn in_force_for(&self, event: Event<'_>) -> Option<&InForce> {
        let in_force = self.0.in_force.as_ref()?;
        let is_wanted = in_force.hooks.iter().any(|hook| hook.is_for(&event));
        is_wanted.then_some(in_force)
    }

    /// Runs one hook by `run`, and tells the reporter and `tracing` of it.
    fn run_and_report(&self, hook: &Hook, run: impl FnOnce() -> Result<Ending, StartError>) {
        let (reporter, moment) = (&*self.0.reporter, hook.on);
        let program = &*escaped(hook.program.as_bytes());
        let span = catch_panic(|| tracing::debug_span!("hook", moment = moment.name(), %program));
        catch_panic(|| reporter.progress(Progress::Started { moment, program }));
        let ending = run();
        catch_panic(|| reporter.progress(Progress::Over));
        let failure = failure(ending, hook, self.0.wording);
        let hook = (moment, Arc::clone(&hook.program));
        let report = failure.map(|(what, failure)| Report::of_hook(hook, failure, &what));
        catch_panic(|| {
            let _entered = span.as_ref().map(tracing::Span::enter);
            match &report {
                Some(report) => tracing::warn!("{report}"),
                None => tracing::debug!("the hook is over"),
            }
        });
        catch_panic(|| drop(span));
        catch_panic(|| report.iter().for_each(|report| reporter.report(report)));
    }
}

impl InForce {
    /// Reads the file and the environment; `None` where no hook is in force.
    fn load(
        names: &[OsString],
        wording: Wording,
        report: impl Fn(String),
    ) -> Result<Option<InForce>, String> {
        let read = |home: Option<Home>| home.map_or(Ok(None), |home| home.read(FILE, MAX_SIZE));
        let text = Home::new(std::env::var_os("HOME")).and_then(read);
        let Some(file) = text.map_err(|refusal| (wording.refusal)(&refusal))? else {
            return Ok(None);
        };
        let (hooks, problems) = hooks::parse(&file);
        for (_, problem) in (wording.problems)(hooks::valid_text(&file), &problems) {
            report(problem);
        }
        if hooks.is_empty() {
            return Ok(None);
        }
        let no_pipe = |error: Errno| format!("no pipe can be made: {}", error.desc());
        let (wakeup, waker) = sys::pipe(OFlag::O_NONBLOCK).map_err(no_pipe)?;
        Ok(Some(InForce {
            hooks,
            environment: Environment::withholding(std::env::vars_os(), names),
            is_interrupted: AtomicBool::new(false),
            wakeup,
            waker,
            unreaped: Mutex::default(),
        }))
    }

    /// Returns whether the moment was interrupted, and makes `wakeup` unreadable again.
    fn take_interrupt(&self) -> bool {
        let mut bytes = [0; 64];
        while read(&self.wakeup, &mut bytes).is_ok_and(|length| length > 0) {}
        self.is_interrupted.load(Ordering::SeqCst)
    }
}

/// What happened in words and the first failure that applies, in the order of SPEC 6.1.
fn failure(
    ending: Result<Ending, StartError>,
    hook: &Hook,
    wording: Wording,
) -> Option<(String, Failure)> {
    let seconds = hook.bound.as_secs();
    let timed_out = |end| {
        let what = format!("was still running after {seconds} s and {end}");
        (what, Failure::TimedOut(seconds))
    };
    Some(match ending {
        Err(error) => {
            let why = (wording.start_error)(&hook.program, &error);
            (format!("could not be started: {why}"), Failure::NotStarted)
        }
        Ok(Ending::TimedOut) => timed_out("was stopped"),
        Ok(Ending::NotKilled) => timed_out("could not be killed"),
        Ok(Ending::Interrupted) => return None,
        Ok(Ending::LeftRunning) => {
            let what = "ended but left processes behind, which were killed";
            (what.to_owned(), Failure::LeftRunning)
        }
        Ok(Ending::Exited(status)) => match (status.code(), status.signal().map(signal_name)) {
            (_, Some(name)) => (format!("was killed by {name}"), Failure::Killed(name)),
            (Some(code @ 1..), _) => (format!("exited with status {code}"), Failure::Exited(code)),
            _ => return None,
        },
    })
}

/// The name of a signal: `SIGSEGV`, `SIGRTMIN+3`; a number where it has none.
fn signal_name(signal: i32) -> String {
    let first_real_time = libc::SIGRTMIN();
    match Signal::try_from(signal) {
        Ok(signal) => signal.as_str().to_owned(),
        Err(_) if signal >= first_real_time => format!("SIGRTMIN+{}", signal - first_real_time),
        Err(_) => format!("signal {signal}"),
    }
}

/// Calls the host's own code, a display or a subscriber. Keeps its panics from the turn (SPEC 6.5), and keeps it from firing.
fn catch_panic<T>(call: impl FnOnce() -> T) -> Option<T> {
    let is_nested = IS_REPORTING.replace(true);
    // Nothing of ours is left half changed: what is called has shared references alone.
    let outcome = catch_unwind(AssertUnwindSafe(call));
    IS_REPORTING.set(is_nested);
    // Not dropped: a payload of the host's own may panic again.
    outcome.map_err(mem::forget).ok()
}
