//! Notify-only hooks.
mod moment;
mod escape;
mod report;
