//! What a worker's thread is given at first: a sharp sleep, its own table of files, its core.

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::plan::error::Error;
use crate::schedule::clock::sharpen_sleep;

/// Sets all of them up for the calling thread.
///
/// A lone worker takes its table of open files for itself: a table that threads share costs every
/// call on a file a reference count, which a program of one thread, where embedded engines live,
/// does not pay (3 % of a point select). Not for two: POSIX locks belong to the table.
pub fn settle_down(cpu: Option<usize>, is_alone: bool) -> Result<(), Error> {
    sharpen_sleep();
    if is_alone {
        // Where it is refused, files stay shared, as they were.
        let _ = nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES);
    }
    let Some(cpu) = cpu else { return Ok(()) };
    let refused =
        |cause: String| Error::host(format!("cannot pin a worker to cpu {cpu}")).because(cause);
    if cpu >= CpuSet::MAX_CPU {
        return Err(refused(format!("the kernel knows {} at most", CpuSet::MAX_CPU)));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|cause| refused(cause.to_string()))
}
