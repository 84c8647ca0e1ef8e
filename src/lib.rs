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
//! turn gets a [`Delegate`], which has no way to a turn moment. [`Launcher::interrupt`] ends the moment that is running.
//!
//! Holds on Linux with glibc 2.34 or later. Elsewhere it compiles, and there are no hooks; macOS is not supported yet. The
//! promises, with the attacker and the test for each, are in `SECURITY.md`; the costs in `README.md`.

mod moment;
mod reporter;
mod turn;

pub use moment::{Event, Moment};
pub use reporter::{Progress, Reporter};
pub use turn::{Delegate, Turn};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod argv;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod caution;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod check;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod descriptor;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod environment;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod escape;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod foreign;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod hooks;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interrupt;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod json_fault;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod judge;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod launcher;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod near_miss;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod problem;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod process;
#[doc(hidden)]
#[cfg(all(any(test, fuzzing), target_os = "linux", target_env = "gnu"))]
pub mod properties;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod report;
#[doc(hidden)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod sys;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod trust;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod turn_log;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod user;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod walk;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod withheld;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use check::{Check, CheckedEntry, Finding};
#[doc(hidden)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use descriptor::above_standard_streams;
#[doc(hidden)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use escape::{escaped, quoted};
#[doc(hidden)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use interrupt::Listener;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use turn_log::{LastReport, Summary};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use {launcher::Launcher, report::Report, turn_log::TurnLog};

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod elsewhere;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub use elsewhere::{Launcher, Report, TurnLog};
