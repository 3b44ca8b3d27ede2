//! One stream of a phase under way: its arrivals, and which of them have been taken.
//!
//! All workers that have users in the stream share it; one atomic ticket says who takes which
//! arrival.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::clock::NEVER;
use super::timeline::Timeline;
use super::{Schedule, seed_of};
use crate::plan::PhaseRef;
use crate::plan::error::Error;
use crate::plan::phase::{Pace, Phase, Stop, Stream};
use crate::plan::turns::Turns;

/// A stream's schedule, tickets and users.
pub struct StreamState<'a> {
    /// As the script declared it.
    pub declared: &'a Stream,
    /// Users that we play: all of them, or those of our part.
    pub own_users: u32,
    /// When events are due; none in a closed loop.
    pub schedule: Option<Schedule>,
    /// The first ticket that is not played; none where nothing but time ends the stream.
    pub limit: Option<u64>,
    /// Every user plays one event (a command other than `run`).
    pub once: bool,
    /// The script's own `thread_run` plays it, and says itself when an event begins and ends.
    pub own_loop: bool,
    /// Turns that its users took (`dyno.turn`).
    pub turns: Arc<AtomicU64>,
    /// The phase ends when the stream does.
    decides: bool,
    written: Written,
}

/// What the workers of a stream write while they play. It has cache lines of its own, two of which
/// are fetched together: each worker reads the rest of the stream's state for every event.
#[repr(align(128))]
struct Written {
    tickets: AtomicU64,
    users: AtomicU32,
}

impl<'a> StreamState<'a> {
    /// Nothing is taken yet.
    pub fn new(phase_ref: PhaseRef<'a>, declared: &'a Stream) -> Result<Self, Error> {
        if declared.connections == 0 {
            return Err(Error::user(format!("stream {} has no connections", declared.name)));
        }
        let phase = phase_ref.phase;
        let seed = seed_of(phase_ref.plan.seed, &[&phase.name, &declared.name]);
        let schedule = Schedule::new(&declared.pace, seed)?;
        let (events, decides) = events_of(phase, declared);
        let once = !phase_ref.is_load();
        let counted = events.filter(|events| *events > 0 && !once);
        let turns = phase_ref.turns();
        let limit = counted.map(|events| events + due_in_warmup(phase, turns, schedule.as_ref()));
        let (before, client) = (users_before(phase, declared), phase_ref.client());
        let limit = limit.map(|it| match client {
            Some(client) => client.share_of_count(it, before, declared.connections),
            None => it,
        });
        let users = u64::from(declared.connections);
        let own_users = client.map_or(users, |client| client.count_own(before, users)) as u32;
        // Nobody takes arrivals of a stream in which we have no user.
        let schedule = schedule.filter(|_| own_users > 0).map(|all| match client {
            Some(client) => all.keep_own(client.deal_arrivals(before, declared.connections)),
            None => all,
        });
        Ok(Self {
            declared,
            own_users,
            schedule,
            limit,
            once,
            own_loop: phase_ref.is_load() && declared.is_own_loop(),
            decides: decides && !once,
            turns: Arc::default(),
            written: Written { tickets: AtomicU64::new(0), users: AtomicU32::new(own_users) },
        })
    }

    /// Takes the next arrival.
    #[inline]
    pub fn take_ticket(&self) -> u64 {
        self.written.tickets.fetch_add(1, Ordering::Relaxed)
    }

    /// Arrivals taken so far, at most the limit.
    pub fn tickets_taken(&self) -> u64 {
        self.written.tickets.load(Ordering::Relaxed).min(self.limit.unwrap_or(NEVER))
    }

    /// Have all arrivals been taken? Never where only time ends the stream.
    pub fn is_exhausted(&self) -> bool {
        self.limit.is_some_and(|limit| self.tickets_taken() >= limit)
    }

    /// Why its users may not rest (`dyno.rest`), if they may not.
    pub fn no_rest(&self) -> Option<String> {
        let name = &self.declared.name;
        match self.declared.pace {
            _ if self.own_loop => {
                Some("dyno.rest is for events; in a thread_run use dyno.sleep".into())
            }
            Pace::Closed => None,
            _ => Some(format!("dyno.rest is for closed loops, but stream {name} is paced")),
        }
    }

    /// Users who have more to play.
    pub fn users(&self) -> u32 {
        self.written.users.load(Ordering::Relaxed)
    }

    /// A user has nothing more to play; true if the phase ends with it.
    pub fn user_finished(&self) -> bool {
        self.written.users.fetch_sub(1, Ordering::AcqRel) == 1 && self.decides
    }

    /// Is it over when its function says `false`, and the phase with it?
    pub fn ends_on_false(&self) -> bool {
        self.decides && self.limit.is_none()
    }
}

/// Users of the streams before this one.
fn users_before(phase: &Phase, stream: &Stream) -> u32 {
    let before = phase.streams.iter().take_while(|it| it.name != stream.name);
    before.map(|it| it.connections).sum()
}

/// How many events end a stream (0: until its function returns false), if a count does; and does
/// its end end the phase?
fn events_of(phase: &Phase, stream: &Stream) -> (Option<u64>, bool) {
    match &phase.stop {
        Stop::Time { .. } => (None, false),
        Stop::Count { events, .. } => (Some(*events), *events == 0),
        Stop::Stream { stream: decider, events } if *decider == stream.name => {
            (Some(*events), true)
        }
        Stop::Stream { .. } => (None, false),
    }
}

/// Arrivals due in the warm-up: a count is of events after it, and a closed loop draws no tickets
/// before its end.
fn due_in_warmup(phase: &Phase, turns: Option<&Turns>, schedule: Option<&Schedule>) -> u64 {
    let timeline = Timeline::new(0, turns, false);
    let warmup_ns = timeline.length_ns(phase.warmup_s);
    schedule.map_or(0, |arrivals| arrivals.count_due(0..NEVER, &timeline, warmup_ns, |_| true))
}
