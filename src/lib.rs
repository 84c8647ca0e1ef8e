//! Notify-only hooks.
mod moment;
mod escape;
mod report;
mod trust;
mod argv;
mod environment;
mod withheld;
mod near_miss;
mod problem;
mod hooks;
