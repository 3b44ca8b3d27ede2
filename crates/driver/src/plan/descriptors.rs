//! Files that we were started with: no program that a script starts is to have them.
#![allow(unsafe_code)]

use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};

/// The variable in which our parent names those that the programs may have: numbers, with commas.
const PASSED: &str = "DYNO_PASSED";

/// Marks every open file but stdin, stdout, stderr and those that are named: it is to be closed in
/// programs that we start.
///
/// For the beginning of `main`, while there is one thread and nothing of ours is open.
pub fn keep_to_ourselves() -> std::io::Result<()> {
    let named = std::env::var(PASSED).unwrap_or_default();
    let passed: Vec<RawFd> = named.split(',').filter_map(|it| it.parse().ok()).collect();
    let names = std::fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.file_name()));
    for name in names.collect::<std::io::Result<Vec<_>>>()? {
        let number: RawFd = name.to_str().and_then(|it| it.parse().ok()).unwrap_or(0);
        if number > 2 && !passed.contains(&number) {
            // SAFETY: it is borrowed for the one call, which changes its flag alone; the number of
            // the listing itself is closed by now, and that call fails.
            let file = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = fcntl_setfd(file, FdFlags::CLOEXEC);
        }
    }
    Ok(())
}
