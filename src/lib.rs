//! Notify-only hooks.
mod moment;
mod escape;
mod report;
mod argv;
mod withheld;
mod environment;
