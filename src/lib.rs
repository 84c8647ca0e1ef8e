//! Notify-only hooks.
mod moment;
mod escape;
mod report;
mod argv;
mod environment;
mod withheld;
mod trust;
