//! Firing a moment while listening for the signals that end it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::Duration;

use bravebot_hooks::{Event, Launcher};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::unistd::pipe2;

use super::signals::Signals;

/// How soon an interrupt is said again: the first may come before the moment has begun, and reaches only one that runs.
const AGAIN: Duration = Duration::from_millis(10);

/// Fires `event` and returns when its hooks are over; the first signal of `ending` that arrived, if one did, has ended
/// them. Other signals that are listened for meanwhile go unheard.
pub(crate) fn fire(
    launcher: &Launcher,
    event: Event<'_>,
    directory: &Path,
    signals: &Signals,
    ending: &[Signal],
) -> Option<Signal> {
    let first = || signals.received().map(|received| received.signal).find(|signal| ending.contains(signal));
    if !launcher.has_hook_for(event) {
        return first();
    }
    let Ok((done, running)) = pipe2(OFlag::O_CLOEXEC) else {
        launcher.fire(event, directory);
        return first();
    };
    thread::scope(|threads| {
        let fire = move || {
            // Closed when the hooks are over, however that comes about.
            let _running: OwnedFd = running;
            launcher.fire(event, directory);
        };
        let Ok(worker) = thread::Builder::new().spawn_scoped(threads, fire) else {
            launcher.fire(event, directory);
            return first();
        };
        let mut ended_by = None;
        loop {
            let mut watched = [&done.as_fd(), &signals.as_fd()].map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
            let patience = if ended_by.is_some() { PollTimeout::try_from(AGAIN) } else { Ok(PollTimeout::NONE) };
            let _ = poll(&mut watched, patience.unwrap_or(PollTimeout::NONE));
            let is_over = watched[0].any().unwrap_or(false);
            ended_by = ended_by.or_else(first);
            if is_over {
                let _ = worker.join();
                return ended_by;
            }
            if ended_by.is_some() {
                launcher.interrupt();
            }
        }
    })
}
