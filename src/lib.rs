//! Notify-only hooks for coding agents: starts a person's own commands at three moments of a turn, and nothing that they
//! do can change it.
//!
//! The hooks are in `~/.bravebot/hooks.json` and nowhere else. Each gets one line of JSON that names the moment, the
//! environment less the credentials of agents and model providers, no terminal, and 30 seconds; its output is ignored.
//! What failed reaches a [`Reporter`], as text. Firing returns `()`.
//!
//! ```no_run
//! use bravebot_hooks::{Launcher, Report, Reporter};
//! use std::io::Write;
//!
//! struct Display;
//!
//! impl Reporter for Display {
//!     fn report(&self, report: &Report) {
//!         let _ = writeln!(std::io::stderr(), "agent: {report}");
//!     }
//! }
//!
//! let launcher = Launcher::new(Display); // first thing: reads the file and the environment, once
//! let turn = launcher.turn("."); // fires turn-started
//! turn.tool_finished("write_file"); // after each tool call, whatever came of it
//! drop(turn); // fires turn-finished; so do `?`, an early return and a panic that unwinds
//! ```
//!
//! Firing blocks, at most 31.25 seconds a hook; an asynchronous host fires on a thread that may block. A run inside the
//! turn gets a [`Delegate`], which cannot fire a turn moment. [`Launcher::interrupt`] ends the moment that is running.
//!
//! Holds on Linux with glibc 2.34 or later. Elsewhere it compiles, and there are no hooks; macOS is not supported yet. The
//! promises, with the attacker and the test for each, are in `SECURITY.md`; the costs in `README.md`.

// What needs the system begins with a `cfg` of its own, and is not there on a system without support.
mod environment;
mod escape;
mod explain;
mod hooks;
mod launcher;
mod moment;
mod process;
mod report;
#[doc(hidden)]
pub mod sys;
mod trust;
mod turn;
mod turn_log;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod unsupported;

pub use moment::{Event, Moment};
pub use report::{Progress, Report, Reporter};
pub use turn::{Delegate, Turn};

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub use unsupported::{Launcher, TurnLog};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use {
    explain::{Check, CheckedEntry, Finding, Summary},
    launcher::Launcher,
    turn_log::TurnLog,
};

// For the command of this package, as `sys` is, and not part of the API.
#[doc(hidden)]
pub use escape::{escaped, quoted};
