//! What the workers of a phase share: tickets, the end, and counts for the progress line.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::plan::Plan;
use crate::plan::error::Error;
use crate::plan::phase::{Phase, Stop, Stream};
use crate::schedule::clock::{now_ns, ns};
use crate::schedule::{Schedule, seed_of};

/// A phase under way. Times are CLOCK_MONOTONIC.
pub struct Stage<'a> {
    /// What is played.
    pub scene: Scene<'a>,
    /// One per stream, in the phase's order.
    pub queues: Vec<Queue<'a>>,
    /// Nothing that is due at or after this is begun. Once known, it only comes nearer.
    stop_ns: AtomicU64,
}

/// One stream's arrivals, and who takes them.
pub struct Queue<'a> {
    /// As the script declared it.
    pub stream: &'a Stream,
    /// When events are due; none in a closed loop.
    pub schedule: Option<Schedule>,
    /// The first ticket that is not played; none where nothing but time ends the stream.
    pub limit: Option<u64>,
    /// Every user plays one event (a command other than `run`).
    pub once: bool,
    /// Turns that its users took (`dyno.turn`).
    pub turns: Arc<AtomicU64>,
    decides: bool,
    tickets: AtomicU64,
    users: AtomicU32,
}

/// A stop time not known yet.
pub const NEVER: u64 = u64::MAX;

impl<'a> Stage<'a> {
    /// Sets the stage; nothing runs yet.
    pub fn new(scene: Scene<'a>) -> Result<Self, Error> {
        let streams = &scene.phase.streams;
        let queues = streams.iter().map(|stream| Queue::new(scene, stream));
        let queues = queues.collect::<Result<Vec<_>, Error>>()?;
        if queues.is_empty() {
            return Err(Error::user(format!("phase {} has no streams", scene.phase.name)));
        }
        Ok(Self { scene, queues, stop_ns: AtomicU64::new(NEVER) })
    }

    /// Length of the warm-up.
    pub fn warmup_ns(&self) -> u64 {
        ns(self.scene.phase.warmup_s)
    }

    /// Sets the end of a phase that ends by time, counted from its start.
    pub fn start(&self, start_ns: u64) {
        if let Stop::Time { duration_s } = self.scene.phase.stop {
            self.stop(start_ns + self.warmup_ns() + ns(duration_s));
        }
    }

    /// Ends the phase at a time, or earlier if that was said before.
    pub fn stop(&self, at_ns: u64) {
        self.stop_ns.fetch_min(at_ns, Ordering::Relaxed);
    }

    /// When the phase ends; [`NEVER`] while unknown.
    #[inline]
    pub fn stop_ns(&self) -> u64 {
        self.stop_ns.load(Ordering::Relaxed)
    }

    /// Users who have more to do.
    pub fn users(&self) -> u32 {
        self.queues.iter().map(|it| it.users.load(Ordering::Relaxed)).sum()
    }

    /// A user of a stream has nothing more to do; the last one of a deciding stream ends the phase.
    pub fn leave(&self, queue: usize) {
        let last = self.queues[queue].users.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && self.queues[queue].decides {
            self.stop(now_ns());
        }
    }
}

impl<'a> Queue<'a> {
    fn new(scene: Scene<'a>, stream: &'a Stream) -> Result<Self, Error> {
        if stream.connections == 0 {
            return Err(Error::user(format!("stream {} has no connections", stream.name)));
        }
        let phase = scene.phase;
        let seed = seed_of(scene.plan.seed, &[&phase.name, &stream.name]);
        let schedule = Schedule::new(&stream.pace, seed)?;
        let (events, decides) = count_of(phase, stream);
        let once = !scene.is_load();
        let counted = events.filter(|events| *events > 0 && !once);
        let limit = counted.map(|events| events + early(phase, schedule.as_ref()));
        Ok(Self {
            stream,
            schedule,
            limit,
            once,
            decides: decides && !once,
            turns: Arc::default(),
            tickets: AtomicU64::new(0),
            users: AtomicU32::new(stream.connections),
        })
    }

    /// Takes the next arrival.
    #[inline]
    pub fn take(&self) -> u64 {
        self.tickets.fetch_add(1, Ordering::Relaxed)
    }

    /// Arrivals taken so far, at most the limit.
    pub fn taken(&self) -> u64 {
        self.tickets.load(Ordering::Relaxed).min(self.limit.unwrap_or(NEVER))
    }

    /// Is it over when its function says `false`, and the phase with it?
    pub fn ends_on_false(&self) -> bool {
        self.decides && self.limit.is_none()
    }
}

/// How many events end a stream (0: until its function returns false), if a count does; and does
/// its end end the phase?
fn count_of(phase: &Phase, stream: &Stream) -> (Option<u64>, bool) {
    match &phase.stop {
        Stop::Time { .. } => (None, false),
        Stop::Count { events } => (Some(*events), *events == 0),
        Stop::Stream { stream: decider, events } if *decider == stream.name => {
            (Some(*events), true)
        }
        Stop::Stream { .. } => (None, false),
    }
}

/// Arrivals due in the warm-up: a count is of events after it, and a closed loop draws no tickets
/// before its end.
fn early(phase: &Phase, schedule: Option<&Schedule>) -> u64 {
    schedule.map_or(0, |arrivals| arrivals.due(0..NEVER, 0..ns(phase.warmup_s)))
}

// What is played: a phase of a command of a plan.

/// What is played.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The whole plan.
    pub plan: &'a Plan,
    /// The command under way.
    pub command: &'a str,
    /// Its phase.
    pub phase: &'a Phase,
}

impl Scene<'_> {
    /// Is it the load, and not a command that calls one function once per user?
    pub fn is_load(&self) -> bool {
        self.command == "run"
    }
}
