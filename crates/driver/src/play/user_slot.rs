//! One user on a worker's thread: its state, and its calls outside the measured time.

use super::phase_state::{PhaseState, UserPlace};
use crate::plan::error::Error;
use crate::plan::phase::Pace;
use crate::schedule::clock::{NAP_NS, now_ns};
use crate::schedule::phase_clock::PhaseClock;
use crate::script::{Step, User, UserIdentity};
use crate::tally::UserCounts;
use crate::tally::count::EventTimes;
use crate::tally::live::{self, LiveReport};
use crate::tally::share::StreamShare;
use crate::{sessions, wire};

/// One user, as its worker plays it.
pub struct UserSlot {
    /// Its Lua state and connections.
    pub user: User,
    /// Its stream, and its number in it.
    pub place: UserPlace,
    /// Which of the worker's shares is its stream's.
    pub share: usize,
    /// Its number in its worker.
    pub in_worker: usize,
    /// What it does now.
    pub state: UserState,
    /// Its last event counts: the warm-up is over, and so is the slice's ramp-in.
    pub measured: bool,
    /// What the phase's clock lagged behind CLOCK_MONOTONIC when its last event began.
    pub lag_ns: u64,
    /// Its `thread_init` sent statements, which a new connection would know nothing of.
    pub holds_state: bool,
    /// Its connections were dropped, because an answer did not come.
    pub disconnected: bool,
    /// Where the script's own loop stands, if it has one.
    pub own_loop: Option<OwnLoop>,
    /// What is left of the log that it plays, if it plays one.
    pub recorded: Option<RecordedTimes>,
    /// Events done after the warm-up and the nanoseconds that they took, where reports are made.
    pub played: (u64, u64),
    /// What was handed over of what is shown.
    handed_over: UserCounts,
    /// The share's number of each of the user's transaction types.
    pub transactions: Vec<usize>,
}

/// When the events of a log are due.
#[derive(Debug)]
pub struct RecordedTimes {
    due_ns: std::vec::IntoIter<u64>,
    is_timed: bool,
}

/// The next event of a log.
#[derive(Debug, Clone, Copy)]
pub enum NextRecorded {
    /// As soon as the last was answered.
    AtOnce,
    /// So long after the phase's start.
    At(u64),
    /// There is none.
    Over,
}

impl RecordedTimes {
    /// The next one.
    #[inline]
    pub fn next_event(&mut self) -> NextRecorded {
        match self.due_ns.next() {
            None => NextRecorded::Over,
            Some(due_ns) if self.is_timed => NextRecorded::At(due_ns),
            Some(_) => NextRecorded::AtOnce,
        }
    }
}

/// What a user does.
#[derive(Debug, Clone, Copy)]
pub enum UserState {
    /// Free since; takes an arrival next.
    Free { since_ns: u64 },
    /// Holds an arrival that is not due yet.
    Due { intended_ns: u64 },
    /// Rests, and is free then.
    Resting(Rest),
    /// An event is under way.
    Busy { event: EventTimes, until_ns: u64 },
    /// Nothing more to do.
    Finished,
}

/// A rest under way, by the phase's clock.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    /// When it began.
    pub since_ns: u64,
    /// When it is over.
    pub until_ns: u64,
}

/// Where a script's own loop stands.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnLoop {
    /// `thread_run` was called.
    pub is_started: bool,
    /// It has returned.
    pub is_over: bool,
    /// The arrival that it was given, and for which it has begun no event yet.
    pub arrival_ns: Option<u64>,
    /// The event under way.
    pub event: Option<EventTimes>,
}

impl UserSlot {
    /// Loads the user, opens its connections, runs `thread_init`.
    pub fn load(
        phase: &PhaseState,
        place: UserPlace,
        (share, in_worker): (usize, usize),
    ) -> Result<Self, Error> {
        let phase_ref = phase.phase_ref;
        let stream = &phase.streams[place.stream];
        let mut user = User::load(
            phase_ref.plan,
            &UserIdentity {
                command: phase_ref.command,
                phase: &phase_ref.phase.name,
                stream: &stream.declared.name,
                number: place.number,
                users: stream.declared.connections,
                turns: Some(&stream.turns),
            },
        )?;
        if phase_ref.is_load() {
            user.allow_rests(stream.no_rest());
            call(phase, &mut user, "thread_init")?;
            user.prepare_function(&stream.declared.function)?;
        }
        let is_timed = matches!(stream.declared.pace, Pace::Recorded { .. });
        let due = user.take_due();
        let recorded = due.map(|it| RecordedTimes { due_ns: it.into_iter(), is_timed });
        Ok(Self {
            user,
            place,
            share,
            in_worker,
            state: UserState::Finished,
            measured: false,
            lag_ns: 0,
            holds_state: false,
            disconnected: false,
            own_loop: stream.own_loop.then(OwnLoop::default),
            recorded,
            played: (0, 0),
            handed_over: UserCounts::default(),
            transactions: Vec::new(),
        })
    }

    /// What it does when its phase starts: a script's own loop is begun at once.
    pub fn first_state(&mut self, now: u64, clock: &PhaseClock) -> UserState {
        match self.own_loop {
            Some(_) => UserState::Due { intended_ns: now },
            None => self.free(now, now, clock),
        }
    }

    /// Tells a script's own loop that there are no more events, and waits for its end.
    pub fn finish_loop(&mut self, phase: &PhaseState) -> Result<(), Error> {
        match self.own_loop {
            Some(own) if own.is_started && !own.is_over => {
                let step = self.user.answer(false)?;
                finish(phase, &mut self.user, step)
            }
            _ => Ok(()),
        }
    }

    /// Hands over what was counted until now: of measured events all, of others what a server must
    /// have counted, too.
    #[cold]
    pub fn hand_counts_over(&mut self, share: &mut StreamShare, measured: bool) {
        let counts = self.user.take_counts();
        if share.report.is_some() {
            self.handed_over.add(counts.clone());
        }
        match std::mem::replace(&mut self.measured, measured) {
            true => share.statements.add(counts),
            false => share.statements.claim(&counts),
        }
    }

    /// Counts what the client itself took of an event, where that was measured, and of those that
    /// came before it in its streak.
    #[inline]
    pub fn count_client(&mut self, share: &mut StreamShare, event: EventTimes, now: u64) {
        let Some(engine) = self.user.take_engine_time() else { return };
        if self.measured {
            let whole_ns = now.saturating_sub(event.begun_ns);
            share.count_client(whole_ns.saturating_sub(engine.ns), engine.events);
        }
    }

    /// Lets the event that begins now be followed by others that begin before a time, if that is to
    /// come.
    #[inline]
    pub fn allow_streak(&mut self, end_ns: u64, now: u64, clock: &PhaseClock) {
        let lag_ns = clock.lag_ns().filter(|_| end_ns > now);
        self.lag_ns = lag_ns.unwrap_or(0);
        self.user.set_streak_last_ns(lag_ns.map_or(0, |lag_ns| end_ns - 1 + lag_ns));
    }

    /// Shows that an event begins, where reports are made.
    #[inline]
    pub fn show_begin(&self, share: &StreamShare) {
        if let Some(report) = share.report {
            live::add(&report.users[self.in_worker].begun, 1);
        }
    }

    /// Shows what the user has done, where reports are made: an event ended well, or none did.
    #[inline]
    pub fn show_end(&mut self, share: &StreamShare, done: Option<EventTimes>) {
        if let Some(report) = share.report {
            self.show(report, done);
        }
    }

    #[cold]
    fn show(&mut self, report: &LiveReport, done: Option<EventTimes>) {
        let live = &report.users[self.in_worker];
        live::add(&live.ended, 1);
        if let Some(event) = done {
            let latency_ns = event.answered_ns.saturating_sub(event.intended_ns);
            live::add(&live.done, 1);
            report.record(latency_ns);
            if self.measured {
                self.played = (self.played.0 + 1, self.played.1 + latency_ns);
            }
        }
        self.show_counts(report);
    }

    /// Shows the statements that the user has sent: those of a loop of its own may be in no event.
    #[cold]
    pub fn show_counts(&self, report: &LiveReport) {
        let (live, before) = (&report.users[self.in_worker], &self.handed_over);
        self.user.show_counts(|since, is_sql| live.show(before, since, is_sql));
    }

    /// Learns the transaction types that are known already, and makes room for `more` where the
    /// script may name others while it plays.
    pub fn prepare_transactions(
        &mut self,
        share: &mut StreamShare,
        more: usize,
    ) -> Result<(), Error> {
        if self.user.prepare_transactions() {
            share.events.expect_types(more)?;
        }
        self.learn_transactions(share)
    }

    /// Finds the share's numbers of all transaction types that the user has named so far.
    #[cold]
    pub fn learn_transactions(&mut self, share: &mut StreamShare) -> Result<(), Error> {
        let names = self.user.transaction_names();
        let numbers = names.iter().map(|name| share.events.transaction_type(name));
        self.transactions = numbers.collect::<Result<_, Error>>()?;
        Ok(())
    }
}

/// Calls a function outside the measured time and waits for its end; where the phase has ended, not
/// longer than its users.
pub fn call(phase: &PhaseState, user: &mut User, function: &str) -> Result<(), Error> {
    let step = user.begin(function)?;
    finish(phase, user, step)
}

/// Waits for the end of a function that was begun. One that asks for more events gets none.
pub fn finish(phase: &PhaseState, user: &mut User, mut step: Step) -> Result<(), Error> {
    let began_ns = now_ns();
    loop {
        step = match step {
            Step::Done { .. } => return Ok(()),
            Step::Failed(error) => return Err(error),
            Step::Asked(_) => user.answer(false)?,
            Step::Waiting { until_ns } => {
                wire::wait_in_turn(until_ns.min(now_ns() + NAP_NS));
                let ended_ns = phase.ends_by_ns().max(began_ns);
                if now_ns() > ended_ns.saturating_add(phase.patience_ns()) && !phase.waits_on() {
                    sessions::cancel_all(user.drop_connections());
                }
                user.advance()?
            }
        };
    }
}
