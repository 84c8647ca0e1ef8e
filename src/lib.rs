//! Notify-only hooks.
mod moment;
mod escape;
