//! What the workers of a phase share: its streams and its end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::plan::PhaseRef;
use crate::plan::error::Error;
use crate::plan::phase::Stop;
use crate::schedule::clock::{NEVER, PATIENCE_NS, SECOND_NS, now_ns};
use crate::schedule::stream::StreamState;
use crate::schedule::timeline::Timeline;

/// A phase under way. Times are those of its own clock ([`Timeline`]).
pub struct PhaseState<'a> {
    /// What is played.
    pub phase_ref: PhaseRef<'a>,
    /// One per stream, in the phase's order.
    pub streams: Vec<StreamState<'a>>,
    /// Nothing that is due at or after this is begun. Once known, it only comes nearer.
    stop_ns: AtomicU64,
    /// An error of a user's ended it.
    failing: AtomicBool,
    /// A SIGINT, or an error of a hook's, ended it.
    cut_short: AtomicBool,
    timeline: OnceLock<Timeline>,
}

/// What is waited for an answer after a SIGINT.
const PATIENCE_CUT_NS: u64 = SECOND_NS;

/// Histograms that wait for a transaction type's name: of a worker, and of all together.
const SPARE_TYPES_OF_WORKER: usize = 8;
const SPARE_TYPES: usize = 512;

/// A user's place in a phase: which stream, which number in it.
#[derive(Debug, Clone, Copy)]
pub struct UserPlace {
    /// The stream's place in the phase.
    pub stream: usize,
    /// The user's number in the stream.
    pub number: u32,
}

impl<'a> PhaseState<'a> {
    /// Nothing runs yet.
    pub fn new(phase_ref: PhaseRef<'a>) -> Result<Self, Error> {
        let declared = phase_ref.phase.streams.iter();
        let streams = declared.map(|stream| StreamState::new(phase_ref, stream));
        let streams = streams.collect::<Result<Vec<_>, Error>>()?;
        if streams.is_empty() {
            return Err(Error::user(format!("phase {} has no streams", phase_ref.phase.name)));
        }
        let (failing, cut_short) = (AtomicBool::new(false), AtomicBool::new(false));
        let (stop_ns, timeline) = (AtomicU64::new(NEVER), OnceLock::new());
        Ok(Self { phase_ref, streams, stop_ns, failing, cut_short, timeline })
    }

    /// The phase's name, as events carry it.
    pub fn name(&self) -> String {
        self.phase_ref.phase.name.clone()
    }

    /// Its clock and slices; until it has started, those of a phase that starts now.
    pub fn timeline(&self) -> Timeline {
        self.timeline.get().cloned().unwrap_or_else(|| Timeline::new(now_ns(), None, true))
    }

    /// What its clock shows now.
    pub fn now_ns(&self) -> u64 {
        self.timeline().phase_ns(now_ns())
    }

    /// When the warm-up ends.
    pub fn measured_ns(&self) -> u64 {
        let timeline = self.timeline();
        timeline.start_ns() + timeline.length_ns(self.phase_ref.phase.warmup_s)
    }

    /// Seconds for which a worker makes room; 0 where the length is unknown.
    pub fn expected_seconds(&self) -> usize {
        match self.phase_ref.phase.stop {
            Stop::Time { duration_s } => duration_s as usize + 2,
            _ => 0,
        }
    }

    /// Transaction types for which a worker makes room where their names are still to come: fewer
    /// where there may be many workers, since each has a quarter of a megabyte.
    pub fn spare_types(&self) -> usize {
        (SPARE_TYPES / self.users().max(1) as usize).min(SPARE_TYPES_OF_WORKER)
    }

    /// Sets the start, and with it the end of a phase that ends by time.
    pub fn start(&self, start_ns: u64) {
        let stop = &self.phase_ref.phase.stop;
        let ends_by_time = matches!(stop, Stop::Time { .. });
        let timeline = Timeline::new(start_ns, self.phase_ref.turns(), ends_by_time);
        let timeline = self.timeline.get_or_init(|| timeline);
        match stop {
            Stop::Time { duration_s: length_s } | Stop::Count { within_s: length_s, .. }
                if *length_s > 0.0 =>
            {
                self.stop(self.measured_ns() + timeline.length_ns(*length_s));
            }
            _ => {}
        }
    }

    /// Ends the phase at a time, or earlier if that was said before.
    pub fn stop(&self, at_ns: u64) {
        self.stop_ns.fetch_min(at_ns, Ordering::Relaxed);
    }

    /// Ends the phase at a time because of an error, which ends the trial, too.
    #[cold]
    pub fn fail(&self, at_ns: u64) {
        self.failing.store(true, Ordering::Relaxed);
        self.stop(at_ns);
    }

    /// Ends the phase now, whatever was planned.
    #[cold]
    pub fn cut_short(&self) {
        self.cut_short.store(true, Ordering::Relaxed);
        self.stop(self.now_ns());
    }

    /// Are answers waited for that come long after its end? sysbench waits for all of them.
    #[cold]
    pub fn waits_on(&self) -> bool {
        let is_cut = self.is_failing() || self.cut_short.load(Ordering::Relaxed);
        self.phase_ref.plan.is_line_of_sysbench() && !is_cut
    }

    /// How long after its end its users may still wait: less where somebody wants it to be over.
    #[inline]
    pub fn patience_ns(&self) -> u64 {
        let is_cut = self.cut_short.load(Ordering::Relaxed);
        if is_cut { PATIENCE_CUT_NS } else { PATIENCE_NS }
    }

    /// Has an error ended it?
    pub fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// When the phase ends; [`NEVER`] while unknown.
    #[inline]
    pub fn stop_ns(&self) -> u64 {
        self.stop_ns.load(Ordering::Relaxed)
    }

    /// The CLOCK_MONOTONIC time at which it ends, or that is long over; [`NEVER`] while unknown.
    pub fn ends_by_ns(&self) -> u64 {
        match self.stop_ns() {
            NEVER => NEVER,
            stop_ns => self.timeline().monotonic_ns(stop_ns),
        }
    }

    /// Users who have more to play.
    pub fn users(&self) -> u32 {
        self.streams.iter().map(StreamState::users).sum()
    }

    /// An error with the user who met it.
    #[cold]
    pub fn of_user(&self, error: Error, place: UserPlace) -> Error {
        let error = error.on(place.number);
        match self.streams.len() {
            1 => error,
            _ => error.of_stream(&self.streams[place.stream].declared.name),
        }
    }

    /// A user of a stream has nothing more to play, which may end the phase.
    pub fn user_finished(&self, stream: usize) {
        if self.streams[stream].user_finished() {
            self.stop(self.now_ns());
        }
    }
}
