//! What cannot be seen from outside: the library's own files, compiled once more as modules of this crate, and their tests.
//!
//! So nothing in `src` is public for a test. The fuzz targets in `tests/fuzz` use the same crate as a library.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_imports,
    reason = "a library, compiled as a test that uses a part of it"
)]

#[path = "../../src/environment.rs"]
mod environment;
#[path = "../../src/escape.rs"]
mod escape;
#[path = "../../src/explain/mod.rs"]
mod explain;
#[path = "../../src/hooks.rs"]
mod hooks;
#[path = "../../src/launcher.rs"]
mod launcher;
#[path = "../../src/moment.rs"]
mod moment;
#[path = "../../src/process.rs"]
mod process;
#[path = "../../src/report.rs"]
mod report;
#[path = "../../src/sys.rs"]
mod sys;
#[path = "../../src/trust.rs"]
mod trust;
#[path = "../../src/turn.rs"]
mod turn;
#[path = "../../src/turn_log.rs"]
mod turn_log;

use launcher::Launcher;

pub mod properties;

#[cfg(test)]
mod decision;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod tables;
