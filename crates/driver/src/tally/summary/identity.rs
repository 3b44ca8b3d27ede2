//! intended = done + failed + skipped: held for every stream of every phase.

use super::{Clock, Sum};
use crate::plan::error::Error;
use crate::play::stage::NEVER;

impl Sum<'_> {
    /// How many events should have been played, and how many of them nobody began. Counted from
    /// the schedule and the tickets, not from the events played, so that the identity is a check.
    fn intended_and_skipped(&self, clock: Clock) -> (u64, u64) {
        let Some(schedule) = &self.queue.schedule else {
            let limited = self.queue.limit.is_some();
            return (if limited { self.queue.taken() } else { self.begun }, 0);
        };
        // A user may have begun an event in the very moment that another ended the phase.
        let end_ns = match clock.stop_ns {
            NEVER => NEVER,
            stop_ns => stop_ns.max(self.last_intended_ns + 1) - clock.start_ns,
        };
        let measured_ns = clock.warmup_ns..end_ns;
        let limit = self.queue.limit.unwrap_or(NEVER);
        let intended = schedule.due(0..limit, measured_ns.clone());
        let left = schedule.due(self.queue.taken()..limit, measured_ns.clone());
        let dropped = self.dropped_ns.iter().map(|at| at - clock.start_ns);
        (intended, left + dropped.filter(|at| measured_ns.contains(at)).count() as u64)
    }

    fn check(&self, intended: u64, skipped: u64) -> Result<(), Error> {
        let Self { queue, done, failed, .. } = self;
        if intended == done + failed + skipped {
            return Ok(());
        }
        let name = &queue.stream.name;
        Err(Error::driver(format!("stream {name} does not add up")).because(format!(
            "{intended} intended, {done} done, {failed} failed, {skipped} skipped"
        )))
    }

    /// Intended and skipped, once they are known to add up; the series as long as all others.
    pub(super) fn settled(&mut self, clock: Clock, seconds: usize) -> Result<(u64, u64), Error> {
        let (intended, skipped) = self.intended_and_skipped(clock);
        self.series.extend(seconds);
        self.check(intended, skipped).map(|()| (intended, skipped))
    }
}
