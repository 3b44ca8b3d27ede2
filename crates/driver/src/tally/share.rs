//! A worker's share in one stream: which arrivals it takes, and what became of them.

use std::sync::atomic::Ordering;

use super::count::{EventCounts, EventTimes};
use super::live::{LiveCounts, LiveReport, LiveWorker};
use super::statements::{self, Statements};
use super::{SettledRows, UserCounts};
use crate::plan::error::Error;
use crate::schedule::Schedule;
use crate::schedule::clock::NEVER;
use crate::schedule::stream::StreamState;
use crate::schedule::timeline::Timeline;

/// One worker's copy of a stream's schedule, and its counts.
pub struct StreamShare<'a> {
    /// The stream's place in the phase.
    pub index: usize,
    /// What all workers share of the stream.
    pub stream: &'a StreamState<'a>,
    /// What this worker counted of its events.
    pub events: EventCounts,
    /// What its users counted of their statements after the warm-up.
    pub statements: UserCounts,
    /// Events begun after the warm-up.
    pub begun: u64,
    /// Those of them by which a script ended its stream, or that it never ended: they are no
    /// events.
    pub withdrawn: u64,
    /// What its users' `thread_init` had the engine count.
    pub claimed_before: u64,
    /// What became of the statements of that.
    pub statements_before: Statements,
    /// Connections that its users made anew, epoch by epoch.
    pub renewed: u64,
    /// What its users rested, in time that counts.
    pub rested_ns: u64,
    /// Intended times of arrivals that were taken but not begun: at most one per user.
    pub dropped_ns: Vec<u64>,
    /// Events of a count that were taken but not begun, in a closed loop: they were due when the
    /// phase was over.
    pub returned: u64,
    /// Where its users show what they do, if reports are made.
    pub report: Option<&'a LiveReport>,
    /// Events and nanoseconds of each of its users after the warm-up, where reports are made.
    pub played: Vec<(u64, u64)>,
    /// What its users' `thread_init` and `thread_done` sent, where reports are made.
    pub beside: UserCounts,
    schedule: Option<Schedule>,
    live: &'a LiveCounts,
    timeline: Timeline,
    measured_ns: u64,
    /// Events done and failed, warm-up included.
    ended: (u64, u64),
}

/// What a free user does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextEvent {
    /// Begin one at this time.
    At(u64),
    /// None: the stream is over for this user.
    None,
}

impl<'a> StreamShare<'a> {
    /// Nothing counted, with room for so many users and seconds.
    pub fn new(
        (index, stream): (usize, &'a StreamState<'a>),
        live: &'a LiveWorker,
        users: usize,
        seconds: usize,
    ) -> Result<Self, Error> {
        Ok(Self {
            index,
            stream,
            events: EventCounts::new(seconds)?,
            statements: UserCounts::default(),
            begun: 0,
            withdrawn: 0,
            claimed_before: 0,
            statements_before: Statements::new(),
            renewed: 0,
            rested_ns: 0,
            dropped_ns: Vec::with_capacity(users),
            returned: 0,
            schedule: stream.schedule.clone(),
            live: &live.streams[index],
            report: live.report.as_ref(),
            played: Vec::new(),
            beside: UserCounts::default(),
            timeline: Timeline::new(0, None, true),
            measured_ns: 0,
            ended: (0, 0),
        })
    }

    /// Fixes the phase's clock and the end of its warm-up.
    pub fn start(&mut self, timeline: &Timeline, measured_ns: u64) {
        self.timeline = timeline.clone();
        self.measured_ns = measured_ns;
        self.events.start(timeline, measured_ns);
    }

    /// Takes the next arrival for a user that is free since `free_ns`.
    #[inline]
    pub fn next_event(&mut self, free_ns: u64, now: u64, stop_ns: u64) -> NextEvent {
        let Some(schedule) = &mut self.schedule else {
            return self.next_closed(free_ns, now, stop_ns);
        };
        let ticket = self.stream.take_ticket();
        if self.stream.limit.is_some_and(|limit| ticket >= limit) {
            return NextEvent::None;
        }
        let intended_ns = schedule.due_ns(ticket, &self.timeline);
        if now >= stop_ns || intended_ns >= stop_ns {
            return self.drop_arrival(intended_ns);
        }
        NextEvent::At(intended_ns)
    }

    #[inline]
    fn next_closed(&self, free_ns: u64, now: u64, stop_ns: u64) -> NextEvent {
        let intended_ns = self.timeline.opens_ns(free_ns);
        let over = now >= stop_ns
            || self.draws_ticket(intended_ns)
                && self.stream.limit.is_some_and(|limit| self.stream.take_ticket() >= limit);
        if over { NextEvent::None } else { NextEvent::At(intended_ns) }
    }

    /// Does an event of a closed loop that is due then take one of a count's?
    #[inline]
    fn draws_ticket(&self, intended_ns: u64) -> bool {
        self.stream.limit.is_some() && intended_ns >= self.measured_ns
    }

    /// Before when a user who has begun an event may begin others, each as the last one ends: no
    /// arrival is to be taken for them, and they count or not as it does. 0: never.
    #[inline]
    pub fn streak_end_ns(&self, intended_ns: u64) -> u64 {
        if self.schedule.is_some() || self.stream.limit.is_some() {
            return 0;
        }
        let measured_ns = if intended_ns < self.measured_ns { self.measured_ns } else { NEVER };
        self.timeline.alike_until_ns(intended_ns).min(measured_ns)
    }

    /// The next event of a log: due so long after the phase's start, or at once.
    #[inline]
    pub fn next_recorded(
        &self,
        due_ns: Option<u64>,
        free_ns: u64,
        now: u64,
        stop_ns: u64,
    ) -> NextEvent {
        match due_ns {
            _ if now >= stop_ns => NextEvent::None,
            Some(due_ns) => NextEvent::At(self.timeline.arrival_ns(due_ns, 0)),
            None => NextEvent::At(self.timeline.opens_ns(free_ns)),
        }
    }

    /// Gives an arrival up. Whether it was due is known when the phase is over, but in a closed
    /// loop, where an event is due when it is begun: nobody intended this one.
    pub fn drop_arrival(&mut self, intended_ns: u64) -> NextEvent {
        if self.schedule.is_some() {
            self.dropped_ns.push(intended_ns);
        } else if self.draws_ticket(intended_ns) {
            self.returned += 1;
        }
        NextEvent::None
    }

    /// Counts what a user rested, the warm-up and what counts for nothing left out.
    pub fn rested(&mut self, since_ns: u64, until_ns: u64) {
        let counted_ns = |at: u64| self.timeline.counted_ns(at.max(self.measured_ns));
        self.rested_ns += counted_ns(until_ns) - counted_ns(since_ns);
    }

    /// Counts what a user's `thread_init` has sent.
    pub fn count_before(&mut self, counts: UserCounts) {
        self.claimed_before += counts.claimed.unwrap_or(0) + counts.further;
        self.statements.settled.add(SettledRows { commits: 0, ..counts.settled });
        self.count_beside(&counts);
        statements::add(&mut self.statements_before, counts.statements);
    }

    /// Counts what a user's `thread_done` has sent.
    pub fn count_after(&mut self, counts: &UserCounts) {
        self.count_beside(counts);
        self.statements.claim(counts);
    }

    /// Counts an event of which is known what its engine took; its user's others of a streak, too.
    #[inline]
    pub fn count_client(&mut self, client_ns: u64, events: u64) {
        self.statements.client_ns += client_ns;
        self.statements.client_events += events;
    }

    /// Counts statements of `thread_init` and `thread_done`, where reports are made.
    pub fn count_beside(&mut self, counts: &UserCounts) {
        if self.report.is_some() {
            self.beside.add(counts.clone());
        }
    }

    /// Notes the beginning of an event; true if it is measured.
    #[inline]
    pub fn begin(&mut self, intended_ns: u64) -> bool {
        let measured = self.is_measured(intended_ns);
        self.begun += u64::from(measured);
        measured
    }

    /// Is what begins at a time measured?
    #[inline]
    pub fn is_measured(&self, at_ns: u64) -> bool {
        at_ns >= self.measured_ns && self.timeline.is_counted(at_ns)
    }

    /// Counts an event that ended well, in a phase that was to end at `stop_ns`.
    #[inline]
    pub fn done(&mut self, event: EventTimes, transaction: usize, stop_ns: u64) {
        self.events.done(event, transaction);
        if event.answered_ns > stop_ns {
            self.events.outlasted(event);
        }
        self.ended.0 += 1;
        self.live.done.store(self.ended.0, Ordering::Relaxed);
        let latency_ns = event.answered_ns.saturating_sub(event.intended_ns);
        if latency_ns > self.live.latency_ns_max.load(Ordering::Relaxed) {
            self.live.latency_ns_max.store(latency_ns, Ordering::Relaxed);
        }
    }

    /// Takes an event back that was begun: it counts neither as done nor as failed.
    #[cold]
    pub fn withdraw(&mut self, event: EventTimes) {
        let measured =
            event.intended_ns >= self.measured_ns && self.timeline.is_counted(event.intended_ns);
        self.withdrawn += u64::from(measured);
        self.events.withdraw(event);
    }

    /// Counts an event that failed.
    pub fn failed(&mut self, event: EventTimes) {
        self.events.failed(event);
        self.count_failed();
    }

    /// Counts an event whose connection was cut before it had an answer, in a phase that was to end
    /// at `stop_ns`.
    pub fn cut(&mut self, event: EventTimes, stop_ns: u64) {
        self.events.cut(event, stop_ns);
        self.events.outlasted(event);
        self.count_failed();
    }

    fn count_failed(&mut self) {
        self.ended.1 += 1;
        self.live.failed.store(self.ended.1, Ordering::Relaxed);
    }
}
