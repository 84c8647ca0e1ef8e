//! Firing a moment while listening for the signals that end it.

use std::cell::OnceCell;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;

use bravebot_hooks::{Event, Launcher, Report, Reporter};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::unistd::pipe2;

use super::host::Host;
use super::recursion::{self, Mark};
use super::signals::Signals;

/// In how many milliseconds an interrupt is said again: the first may come before the moment has begun, and reaches only
/// one that runs.
const AGAIN: u8 = 10;

/// What firing a moment takes.
pub(crate) struct Watch<'a> {
    launcher: &'a Launcher,
    host: &'a Host,
    directory: &'a Path,
    signals: &'a Signals,
    /// Looked up once, and only when a hook is about to start.
    is_inside_a_hook: OnceCell<bool>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(launcher: &'a Launcher, host: &'a Host, directory: &'a Path, signals: &'a Signals) -> Watch<'a> {
        Watch { launcher, host, directory, signals, is_inside_a_hook: OnceCell::new() }
    }

    /// Fires `event` and returns when its hooks are over; the first signal of `ending` that arrived, if one did, has ended
    /// them. Other signals that are listened for meanwhile go unheard. Inside a hook nothing is fired, and one line says so.
    pub(crate) fn fire(&self, event: Event<'_>, ending: &[Signal]) -> Option<Signal> {
        let may_fire = self.launcher.has_hook_for(event)
            && !self.is_inside_a_hook.get_or_init(|| {
                let is_inside = recursion::is_inside_a_hook();
                if is_inside {
                    self.host.report(&Report::inside_a_hook());
                }
                is_inside
            });
        let Watch { launcher, directory, signals, .. } = *self;
        let mut ended_by = None;
        let mut hear = || {
            // Each is taken, also after the first: what is left would keep the descriptor readable.
            for received in signals.received().filter(|received| ending.contains(&received.signal)) {
                ended_by.get_or_insert(received.signal);
            }
            ended_by
        };
        if !may_fire {
            return hear();
        }
        let _mark = Mark::set();
        let Ok((done, running)) = pipe2(OFlag::O_CLOEXEC) else {
            launcher.fire(event, directory);
            return hear();
        };
        thread::scope(|threads| {
            let fire = move || {
                // Closed when the hooks are over, however that comes about.
                let _running: OwnedFd = running;
                launcher.fire(event, directory);
            };
            let Ok(worker) = thread::Builder::new().spawn_scoped(threads, fire) else {
                launcher.fire(event, directory);
                return hear();
            };
            let mut patience = PollTimeout::NONE;
            loop {
                let mut watched = [&done.as_fd(), &signals.as_fd()].map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
                let _ = poll(&mut watched, patience);
                let is_over = watched[0].any().unwrap_or(false);
                let ended_by = hear();
                if is_over {
                    let _ = worker.join();
                    return ended_by;
                }
                if ended_by.is_some() {
                    launcher.interrupt();
                    patience = PollTimeout::from(AGAIN);
                }
            }
        })
    }
}
