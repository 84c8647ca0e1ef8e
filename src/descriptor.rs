//! Where our own descriptors may stand: never where a host, or a hook, has its standard streams.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;

/// `descriptor`, or a copy of it above 2: a host may have closed its standard streams, and whatever takes their numbers
/// would be written to by the host, and would be in the way of the hook's own.
pub fn above_standard_streams(descriptor: OwnedFd) -> Result<OwnedFd, Errno> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    // The standard library copies to 3 and above, with close-on-exec.
    let copy = descriptor
        .try_clone()
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
    if copy.as_raw_fd() > 2 {
        Ok(copy)
    } else {
        Err(Errno::EBADF)
    }
}
