//! Notify-only hooks.
mod argv;
mod environment;
mod escape;
mod hooks;
mod interrupt;
mod launcher;
mod moment;
mod near_miss;
mod problem;
mod process;
mod report;
#[doc(hidden)]
pub mod sys;
mod trust;
mod turn;
mod turn_log;
mod withheld;

pub use launcher::Launcher;
pub use moment::{Event, Moment};
pub use report::{Progress, Report, Reporter};
pub use turn::{Delegate, Turn};
pub use turn_log::TurnLog;
