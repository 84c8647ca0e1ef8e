//! Notify-only hooks.
mod argv;
mod environment;
mod escape;
mod hooks;
mod interrupt;
mod moment;
mod near_miss;
mod problem;
mod process;
mod report;
#[doc(hidden)]
pub mod sys;
mod trust;
mod withheld;

pub use moment::{Event, Moment};
pub use report::{Progress, Report, Reporter};
