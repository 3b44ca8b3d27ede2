//! The progress line: how a phase goes, read from the workers' windows.

use std::sync::atomic::Ordering;

use crate::plan::event::{Progress, StreamProgress};
use crate::play::stage::Stage;
use crate::schedule::clock::SECOND_NS;
use crate::tally::lane::Window;

/// Differences from one progress line to the next.
pub struct Ticker<'a> {
    stage: &'a Stage<'a>,
    windows: &'a [Vec<Window>],
    start_ns: u64,
    last_ns: u64,
    last_done: Vec<u64>,
}

impl<'a> Ticker<'a> {
    /// Nothing has happened yet.
    pub fn new(stage: &'a Stage<'a>, windows: &'a [Vec<Window>], start_ns: u64) -> Self {
        let last_done = vec![0; stage.queues.len()];
        Self { stage, windows, start_ns, last_ns: start_ns, last_done }
    }

    /// The line at this time.
    pub fn tick(&mut self, now: u64) -> Progress {
        let lapse_s = (now - self.last_ns) as f64 / SECOND_NS as f64;
        let streams = (0..self.last_done.len()).map(|queue| self.stream(queue, lapse_s)).collect();
        self.last_ns = now;
        let elapsed_s = (now - self.start_ns) as f64 / SECOND_NS as f64;
        Progress { phase: self.stage.scene.phase.name.clone(), elapsed_s, streams }
    }

    fn stream(&mut self, queue: usize, lapse_s: f64) -> StreamProgress {
        let windows = || self.windows.iter().map(|row| &row[queue]);
        let done = windows().map(|window| window.done.load(Ordering::Relaxed)).sum();
        let failed = windows().map(|window| window.failed.load(Ordering::Relaxed)).sum();
        let longest = windows().map(|window| window.latency_ns_max.swap(0, Ordering::Relaxed));
        let latency_ns_max = longest.max().unwrap_or(0);
        let stream = self.stage.queues[queue].stream;
        let units = (done - self.last_done[queue]) * stream.units_per_event;
        self.last_done[queue] = done;
        let rate_per_s = units as f64 / lapse_s;
        StreamProgress { name: stream.name.clone(), done, failed, rate_per_s, latency_ns_max }
    }
}
