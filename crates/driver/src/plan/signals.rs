//! SIGINT as a flag, and the parent's death as our own.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::SIGINT;

use crate::plan::error::Error;

/// Makes the kernel kill us when the thread that started us ends: a killed caller leaves no driver.
///
/// A parent that died before the call would never be noticed, hence the second look.
pub fn die_with_parent() {
    let parent = getppid();
    let held = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    if held && getppid() != parent {
        std::process::exit(1);
    }
}

/// A flag that the first and every later SIGINT sets.
pub fn interrupted() -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGINT, Arc::clone(&flag))
        .map_err(|cause| Error::host("cannot catch SIGINT").because(cause))?;
    Ok(flag)
}
