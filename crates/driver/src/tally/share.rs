//! A worker's share in one stream: its copy of the schedule, its tally, its window for progress.

use std::sync::atomic::{AtomicU64, Ordering};

use super::add;
use super::count::{Played, Tally};
use crate::plan::error::Error;
use crate::plan::phase::Stop;
use crate::play::phase_state::{Queue, Stage};
use crate::schedule::Schedule;
use crate::script::UserCounts;

/// One worker's side of one stream.
pub struct Lane<'a> {
    /// The stream's place in the phase.
    pub index: usize,
    /// The stream's side.
    pub queue: &'a Queue<'a>,
    /// What this worker counted.
    pub tally: Tally,
    /// What its users counted after the warm-up.
    pub counts: UserCounts,
    /// Events begun after the warm-up.
    pub begun: u64,
    /// What its users' `thread_init` had the engine count.
    pub claimed_before: u64,
    /// Intended times of arrivals that were taken but not begun: at most one per user.
    pub dropped_ns: Vec<u64>,
    schedule: Option<Schedule>,
    window: &'a Window,
    start_ns: u64,
    measured_ns: u64,
    seen: (u64, u64),
}

/// What the progress line reads while a worker writes: no lock, a little stale.
#[derive(Default)]
#[repr(align(64))]
pub struct Window {
    /// Events done since the phase began.
    pub done: AtomicU64,
    /// Events failed, likewise.
    pub failed: AtomicU64,
    /// The longest latency since the reader last took it.
    pub latency_ns_max: AtomicU64,
}

/// What a free user does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Begin an event at this time.
    At(u64),
    /// Nothing: the stream is over for this user.
    Over,
}

impl<'a> Lane<'a> {
    /// A lane with room for so many users.
    pub fn new(
        stage: &'a Stage<'a>,
        index: usize,
        window: &'a Window,
        users: usize,
    ) -> Result<Self, Error> {
        let queue = &stage.queues[index];
        let seconds = match stage.scene.phase.stop {
            Stop::Time { duration_s } => duration_s as usize + 2,
            _ => 0,
        };
        Ok(Self {
            index,
            queue,
            tally: Tally::new(seconds)?,
            counts: UserCounts::default(),
            begun: 0,
            claimed_before: 0,
            dropped_ns: Vec::with_capacity(users),
            schedule: queue.schedule.clone(),
            window,
            start_ns: 0,
            measured_ns: 0,
            seen: (0, 0),
        })
    }

    /// Fixes the phase's start and the end of its warm-up.
    pub fn start(&mut self, start_ns: u64, warmup_ns: u64) {
        self.start_ns = start_ns;
        self.measured_ns = start_ns + warmup_ns;
        self.tally.start(self.measured_ns);
    }

    /// Takes the next arrival for a user that is free since `free_ns`.
    #[inline]
    pub fn next(&mut self, free_ns: u64, now: u64, stop_ns: u64) -> Next {
        let Some(schedule) = &mut self.schedule else {
            return self.next_closed(free_ns, now, stop_ns);
        };
        let ticket = self.queue.take();
        if self.queue.limit.is_some_and(|limit| ticket >= limit) {
            return Next::Over;
        }
        let intended_ns = self.start_ns + schedule.arrival_ns(ticket);
        if now >= stop_ns || intended_ns >= stop_ns {
            return self.drop(intended_ns);
        }
        Next::At(intended_ns)
    }

    #[inline]
    fn next_closed(&self, free_ns: u64, now: u64, stop_ns: u64) -> Next {
        let over = now >= stop_ns
            || match self.queue.limit {
                Some(limit) if free_ns >= self.measured_ns => self.queue.take() >= limit,
                _ => false,
            };
        if over { Next::Over } else { Next::At(free_ns) }
    }

    /// Gives an arrival up. Whether it was due is known when the phase is over.
    pub fn drop(&mut self, intended_ns: u64) -> Next {
        if self.schedule.is_some() {
            self.dropped_ns.push(intended_ns);
        }
        Next::Over
    }

    /// Notes the beginning of an event; true if it is measured.
    #[inline]
    pub fn begin(&mut self, intended_ns: u64) -> bool {
        let measured = intended_ns >= self.measured_ns;
        self.begun += u64::from(measured);
        measured
    }

    /// Counts an event that ended well.
    #[inline]
    pub fn done(&mut self, event: Played, kind: usize) {
        self.tally.done(event, kind);
        self.seen.0 += 1;
        self.window.done.store(self.seen.0, Ordering::Relaxed);
        let latency_ns = event.answered_ns.saturating_sub(event.intended_ns);
        if latency_ns > self.window.latency_ns_max.load(Ordering::Relaxed) {
            self.window.latency_ns_max.store(latency_ns, Ordering::Relaxed);
        }
    }

    /// Counts an event that failed.
    pub fn failed(&mut self, event: Played) {
        self.tally.failed(event);
        self.seen.1 += 1;
        self.window.failed.store(self.seen.1, Ordering::Relaxed);
    }
}

impl UserCounts {
    /// Adds what another user counted.
    pub fn add(&mut self, counts: UserCounts) {
        self.queries += counts.queries;
        self.claim(counts.claimed, counts.further);
        self.reads += counts.reads;
        self.writes += counts.writes;
        self.rows_read += counts.rows_read;
        self.rows_changed += counts.rows_changed;
        self.restarted += counts.restarted;
        self.busy += counts.busy;
        self.reconnected += counts.reconnected;
        if let Some(service_ns) = counts.service_ns {
            *self.service_ns.get_or_insert(0) += service_ns;
        }
        add(&mut self.errors, counts.errors);
    }

    /// Adds what the engine must have counted, too: in the warm-up as well.
    pub fn claim(&mut self, more: Option<u64>, further: u64) {
        if let Some(more) = more {
            *self.claimed.get_or_insert(0) += more;
        }
        self.further += further;
    }
}
