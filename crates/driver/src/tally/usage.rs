//! What the driver's own process has spent.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::plan::error::Error;
use crate::plan::event::Usage;

/// Since the process began. The kernel measures CPU time to the nanosecond, but splits it into user
/// and system by where its ticks fell, so the split is coarse in short phases.
pub fn now() -> Result<Usage, Error> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|cause| Error::host("cannot read the driver's usage").because(cause))?;
    Ok(Usage {
        user_ns: ns(usage.user_time()),
        system_ns: ns(usage.system_time()),
        voluntary_switches: count(usage.voluntary_context_switches()),
        involuntary_switches: count(usage.involuntary_context_switches()),
        resident_bytes: resident_bytes(),
    })
}

impl Usage {
    /// What was spent since an earlier look; memory as it is now.
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
            resident_bytes: self.resident_bytes,
        }
    }
}

fn ns(time: TimeVal) -> u64 {
    count(time.tv_sec()) * 1_000_000_000 + count(time.tv_usec()) * 1_000
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()).and_then(|kib| kib.parse().ok());
    kib.unwrap_or(0u64) * 1024
}
