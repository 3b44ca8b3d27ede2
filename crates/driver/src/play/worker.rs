//! One thread, its users, the hot loop.
//!
//! A worker plays rounds: every user who is ready plays until it must wait, but no longer than its
//! quantum, so that users whose engine answers at once share fairly. To play a user is to end
//! its request if the answer is there, and to begin its next event if that is due. Who then waits
//! for a time has a timer in the run queue, who waits for the network is known to the wire; a round
//! costs nothing for either.
//! Events that wait for nothing follow each other without a word to us, in a streak that ends with
//! the quantum, the warm-up or the slice; they are counted when it has ended (lua/functions.lua).
//! The clock is read once per answer: in a closed loop that is the next event's intended time. It
//! is the phase's own, which stands still while others have their turn (`schedule/timeline.rs`).

use super::client::ThreadTimes;
use super::phase_state::{PhaseState, UserPlace};
use super::reconnects::{HeldUp, connect_anew, disconnect};
use super::run_queue::RunQueue;
use super::user_slot::{NextRecorded, UserSlot, UserState, call};
use crate::plan::error::Error;
use crate::schedule::clock::{NEVER, SECOND_NS, now_ns, wait_until};
use crate::schedule::phase_clock::PhaseClock;
use crate::script::{Ended, Step};
use crate::sessions::EngineCounts;
use crate::tally::ScriptSums;
use crate::tally::count::EventTimes;
use crate::tally::live::LiveWorker;
use crate::tally::share::{NextEvent, StreamShare};
use crate::wire;

/// An event that waits for this time begins anew, for as long as its phase lasts.
const RESTART: u64 = 0;

/// How long a user who need not wait plays before others do. Each has a Lua state of its own, which
/// the near caches have lost meanwhile: with one event a quantum, a row of Debian's
/// `bulk_insert.lua` cost four users of a worker twice what it cost one.
const QUANTUM_NS: u64 = 10_000;

/// How often an engine that works inside the call is asked for its counts while a phase goes on:
/// SQLite's are of 31 bits, and steps of its machine fill them in a minute.
const COUNTED_EVERY_NS: u64 = 10 * SECOND_NS;

/// One thread's users and what it counted of them.
pub struct Worker<'a> {
    pub(super) phase: &'a PhaseState<'a>,
    pub(super) shares: Vec<StreamShare<'a>>,
    slots: Vec<UserSlot>,
    pub(super) clock: PhaseClock,
    engine_counts: EngineCounts,
    error: Option<Error>,
    began_ns: u64,
}

/// What a worker hands back when its phase is over.
pub struct WorkerReport<'a> {
    /// One per stream it had a share in.
    pub shares: Vec<StreamShare<'a>>,
    /// Its users' side of the ledger.
    pub sums: ScriptSums,
    /// How long users waited while it connected for another.
    pub held_up: HeldUp,
    /// What an engine that works inside the call counted meanwhile.
    pub engine_counts: EngineCounts,
    /// The first error that stopped the trial.
    pub error: Option<Error>,
    /// When its users began: CLOCK_MONOTONIC.
    pub began_ns: u64,
    /// What its thread spent while they played.
    pub spent: ThreadTimes,
}

impl<'a> Worker<'a> {
    /// Loads the users, opens their connections, runs `thread_init`.
    pub fn load(
        phase: &'a PhaseState<'a>,
        places: &[UserPlace],
        live: &'a LiveWorker,
    ) -> Result<Self, Error> {
        let mut shares: Vec<StreamShare> = Vec::new();
        let mut slots = Vec::with_capacity(places.len());
        for (user, place) in places.iter().enumerate() {
            wire::set_slot(user as u32);
            let known = shares.iter().position(|share| share.index == place.stream);
            if known.is_none() {
                let stream = (place.stream, &phase.streams[place.stream]);
                let seconds = phase.expected_seconds();
                shares.push(StreamShare::new(stream, live, places.len(), seconds)?);
            }
            let share = known.unwrap_or(shares.len() - 1);
            let mut slot = UserSlot::load(phase, *place, (share, user))
                .map_err(|error| phase.of_user(error, *place))?;
            let counts = slot.user.take_counts();
            slot.holds_state = counts.queries > 0;
            shares[share].count_before(counts);
            slot.prepare_transactions(&mut shares[share], phase.spare_types())?;
            slots.push(slot);
        }
        let clock = PhaseClock::new(phase.timeline());
        let (engine_counts, error) = (EngineCounts::new(), None);
        Ok(Self { phase, shares, slots, clock, engine_counts, error, began_ns: 0 })
    }

    /// Plays from the common start until nobody has anything more to do.
    pub fn play(&mut self, start_ns: u64) {
        let (timeline, measured_ns) = (self.phase.timeline(), self.phase.measured_ns());
        self.shares.iter_mut().for_each(|share| share.start(&timeline, measured_ns));
        self.clock = PhaseClock::new(timeline);
        count_work(&mut self.slots, &mut EngineCounts::new());
        wait_until(start_ns);
        self.began_ns = now_ns();
        let mut now = self.clock.now_ns();
        let clock = &self.clock;
        self.slots.iter_mut().for_each(|slot| slot.state = slot.first_state(now, clock));
        let mut slots = std::mem::take(&mut self.slots);
        let mut queue = RunQueue::new(slots.len());
        let mut left = slots.len();
        let (mut stop_ns, mut next_count_ns) = (self.phase.stop_ns(), now + COUNTED_EVERY_NS);
        while left > 0 {
            let before = now;
            left -= self.round(&mut slots, &mut queue, &mut now);
            if self.phase.stop_ns() < stop_ns {
                stop_ns = self.phase.stop_ns();
                queue.ready.extend(0..slots.len() as u32);
            }
            if now > stop_ns.saturating_add(self.phase.patience_ns()) && !self.phase.waits_on() {
                disconnect(&mut slots, &mut queue);
            }
            if self.clock.is_to_connect() {
                let connected = connect_anew(self.phase, &mut self.shares, &mut slots);
                self.error = self.error.take().or(connected.err());
            }
            if now == before {
                now = self.clock.now_ns();
            }
            if now >= next_count_ns {
                count_work(&mut slots, &mut self.engine_counts);
                next_count_ns = now + COUNTED_EVERY_NS;
            }
            if left > 0 {
                wait(&mut queue, &mut self.clock, &mut now);
                self.wake_resting(&slots, &mut queue);
            }
        }
        count_work(&mut slots, &mut self.engine_counts);
        self.slots = slots;
    }

    /// A quantum of every user who is ready; returns how many of them have finished.
    #[inline]
    fn round(&mut self, slots: &mut [UserSlot], queue: &mut RunQueue, now: &mut u64) -> usize {
        let users = queue.begin_round();
        let mut finished = 0;
        for &user in &users {
            let slot = &mut slots[user as usize];
            if matches!(slot.state, UserState::Finished) {
                continue;
            }
            wire::set_slot(user);
            let quantum_end_ns = *now + QUANTUM_NS;
            self.play_user(slot, now);
            while *now < quantum_end_ns && matches!(slot.state, UserState::Free { .. }) {
                self.play_user(slot, now);
            }
            match slot.state {
                UserState::Free { .. } | UserState::Busy { until_ns: RESTART, .. } => {
                    queue.ready.push(user)
                }
                UserState::Due { intended_ns } => queue.set_timer(intended_ns, user),
                UserState::Resting(rest) => {
                    queue.set_timer(rest.until_ns.min(self.phase.stop_ns()), user);
                }
                UserState::Busy { until_ns, .. } => {
                    queue.set_timer(self.clock.phase_ns(until_ns), user);
                }
                UserState::Finished => finished += 1,
            }
        }
        queue.end_round(users);
        finished
    }

    #[inline]
    fn play_user(&mut self, slot: &mut UserSlot, now: &mut u64) {
        if let UserState::Busy { event, until_ns } = slot.state {
            let step = if until_ns == RESTART && *now >= self.phase.stop_ns() {
                slot.user.give_up()
            } else {
                slot.user.advance()
            };
            self.end(slot, step, event, now);
        }
        if let UserState::Resting(rest) = slot.state {
            slot.state = self.rest_on(slot, rest, *now);
        }
        if let UserState::Free { since_ns } = slot.state {
            slot.state = self.next(slot, since_ns, *now);
        }
        if let UserState::Due { intended_ns } = slot.state {
            if *now >= intended_ns {
                self.begin(slot, intended_ns, now);
            } else if intended_ns >= self.phase.stop_ns() {
                self.shares[slot.share].drop_arrival(intended_ns);
                slot.state = self.finished(slot.share);
            }
        }
    }

    #[inline]
    fn next(&mut self, slot: &mut UserSlot, since_ns: u64, now: u64) -> UserState {
        let (share, stop_ns) = (&mut self.shares[slot.share], self.phase.stop_ns());
        let next = match &mut slot.recorded {
            None => share.next_event(since_ns, now, stop_ns),
            Some(recorded) => match recorded.next_event() {
                NextRecorded::Over => NextEvent::None,
                NextRecorded::AtOnce => share.next_recorded(None, since_ns, now, stop_ns),
                NextRecorded::At(due_ns) => {
                    share.next_recorded(Some(due_ns), since_ns, now, stop_ns)
                }
            },
        };
        match next {
            NextEvent::At(intended_ns) => UserState::Due { intended_ns },
            NextEvent::None => self.finished(slot.share),
        }
    }

    #[inline]
    fn begin(&mut self, slot: &mut UserSlot, intended_ns: u64, now: &mut u64) {
        if slot.own_loop.is_some() {
            return self.go_on(slot, intended_ns, now);
        }
        let share = &mut self.shares[slot.share];
        let measured = share.begin(intended_ns);
        if measured != slot.measured {
            slot.hand_counts_over(share, measured);
        }
        if share.stream.schedule.is_some() {
            slot.user.set_due_ns(intended_ns);
        }
        slot.show_begin(share);
        let end_ns = share.streak_end_ns(intended_ns).min(self.phase.stop_ns());
        slot.allow_streak(end_ns.min(*now + QUANTUM_NS), *now, &self.clock);
        let event = EventTimes { intended_ns, begun_ns: *now, answered_ns: NEVER };
        let step = slot.user.begin(&share.stream.declared.function);
        self.end(slot, step, event, now);
    }

    #[inline]
    pub(super) fn end(
        &mut self,
        slot: &mut UserSlot,
        step: Result<Step, Error>,
        mut event: EventTimes,
        now: &mut u64,
    ) {
        if let Ok(Step::Waiting { until_ns }) = step {
            slot.state = UserState::Busy { event, until_ns };
            return;
        }
        if slot.own_loop.is_some() {
            return self.end_of_loop(slot, step, now);
        }
        *now = self.clock.now_ns();
        slot.count_client(&mut self.shares[slot.share], event, *now);
        let counted = self.count_streak(slot, &mut event);
        event.answered_ns = *now;
        slot.state = slot.free(event.intended_ns, *now, &self.clock);
        let outcome = match counted.and(step) {
            Ok(Step::Done { transaction, more }) => self.done(slot, event, transaction, more),
            Ok(_) => {
                self.failed(slot, event);
                Ok(true)
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(true) if !self.shares[slot.share].stream.once => {}
            Ok(true) => slot.state = self.finished(slot.share),
            Ok(false) => self.ended_by_script(slot, event.answered_ns),
            Err(error) => self.fatal(slot, Some(event), error),
        }
    }

    /// Counts the events of a streak that ended before its last, which began as the one before it
    /// ended.
    #[inline]
    fn count_streak(&mut self, slot: &mut UserSlot, last: &mut EventTimes) -> Result<(), Error> {
        while let Some(Ended { at_ns, transaction }) = slot.user.next_ended() {
            let answered_ns = at_ns - slot.lag_ns;
            self.done(slot, EventTimes { answered_ns, ..*last }, transaction, true)?;
            let share = &mut self.shares[slot.share];
            share.begin(answered_ns);
            slot.show_begin(share);
            *last = EventTimes { intended_ns: answered_ns, begun_ns: answered_ns, ..*last };
        }
        Ok(())
    }

    /// The script has no more for this user; the phase is over where that holds for all.
    #[cold]
    pub(super) fn ended_by_script(&mut self, slot: &mut UserSlot, now: u64) {
        slot.state = self.finished(slot.share);
        if self.phase.users() == 0 {
            self.phase.stop(now);
        }
    }

    /// Counts a good event; false if it was none, because the script has no more to play.
    #[inline]
    fn done(
        &mut self,
        slot: &mut UserSlot,
        event: EventTimes,
        transaction: usize,
        more: bool,
    ) -> Result<bool, Error> {
        let share = &mut self.shares[slot.share];
        if transaction >= slot.transactions.len() {
            slot.learn_transactions(share)?;
        }
        if !more {
            share.withdraw(event);
            if share.stream.ends_on_false() {
                self.phase.stop(event.answered_ns);
            }
            return Ok(false);
        }
        let number = slot.transactions.get(transaction).copied().unwrap_or(0);
        share.done(event, number, self.phase.stop_ns());
        slot.show_end(share, Some(event));
        Ok(true)
    }

    /// Counts an event that failed, because its connections were cut or by itself.
    #[cold]
    fn failed(&mut self, slot: &mut UserSlot, event: EventTimes) {
        let share = &mut self.shares[slot.share];
        slot.show_end(share, None);
        match slot.disconnected {
            true => share.cut(event, self.phase.stop_ns()),
            false => share.failed(event),
        }
    }

    /// Ends the trial: this event failed, all users stop.
    #[cold]
    pub(super) fn fatal(&mut self, slot: &mut UserSlot, event: Option<EventTimes>, error: Error) {
        if let Some(event) = event {
            self.failed(slot, event);
        }
        if slot.disconnected && error.is_engine() {
            // We have cut it off ourselves.
            return slot.state = self.finished(slot.share);
        }
        self.phase.fail(event.map_or(self.phase.now_ns(), |it| it.answered_ns));
        self.error.get_or_insert(self.phase.of_user(error, slot.place));
        slot.state = self.finished(slot.share);
    }

    #[cold]
    pub(super) fn finished(&self, share: usize) -> UserState {
        self.phase.user_finished(self.shares[share].index);
        UserState::Finished
    }

    /// Runs `thread_done`, closes the connections, hands back what was counted.
    pub fn close(mut self) -> WorkerReport<'a> {
        let mut sums = ScriptSums::default();
        let held_up = HeldUp::of(&self.phase.timeline(), &mut self.slots);
        for slot in &mut self.slots {
            let share = &mut self.shares[slot.share];
            share.report.iter().for_each(|report| slot.show_counts(report));
            slot.hand_counts_over(share, false);
            if self.error.is_none() && !slot.disconnected && self.phase.phase_ref.is_load() {
                let ended = slot
                    .finish_loop(self.phase)
                    .and_then(|()| call(self.phase, &mut slot.user, "thread_done"));
                self.error = ended.err().map(|error| self.phase.of_user(error, slot.place));
                share.count_after(&slot.user.take_counts());
            }
            share.statements.settled.lost += slot.user.take_lost_rows();
            share.played.extend(share.report.is_some().then_some(slot.played));
            sums.add(slot.user.take_sums());
        }
        let Self { shares, engine_counts, error, began_ns, .. } = self;
        let spent = ThreadTimes::default();
        WorkerReport { shares, sums, held_up, engine_counts, error, began_ns, spent }
    }
}

/// Adds what the users' engine counted of its own work since the last call.
#[cold]
fn count_work(slots: &mut [UserSlot], counts: &mut EngineCounts) {
    slots.iter_mut().for_each(|slot| slot.user.count_work(counts));
}

/// Finds who is ready next, and sleeps where nobody is. A time is met by spinning at last,
/// because a sleep ends late; for the network the kernel wakes us.
#[inline]
fn wait(queue: &mut RunQueue, clock: &mut PhaseClock, now: &mut u64) {
    queue.wake_due(*now);
    if !queue.ready.is_empty() {
        wire::wait(0, &mut queue.ready);
        return;
    }
    let until_ns = match queue.next_ns() {
        NEVER => NEVER,
        next_ns => clock.sleep_end_ns(next_ns, *now),
    };
    wire::wait(until_ns, &mut queue.ready);
    *now = clock.now_ns();
    queue.wake_due(*now);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::phase::Phase;
    use crate::plan::{PhaseRef, Plan, Session};
    use crate::schedule::clock::{PATIENCE_NS, SECOND_NS};
    use crate::script;
    use crate::tally::live::LiveCounts;
    use crate::testing::Folder;

    fn run_of<'a>(plan: &'a Plan, phases: &'a [Phase]) -> PhaseRef<'a> {
        PhaseRef { plan, command: "run", phase: &phases[0], before: Default::default() }
    }

    /// What a worker did in a phase of 10 ms whose answers take so long; `argv`: of its plan.
    fn play_late(delay_ns: u64, argv: &[&str], check: impl FnOnce(WorkerReport)) {
        let folder = Folder::new();
        let mut plan = folder.plan(
            r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") end
        function thread_done() con:query("SELECT 2") end"#,
        );
        plan.session = Session::Null { delay_ns };
        plan.script.argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let (phases, _) = script::phases(&plan, "run").unwrap();
        let phase = PhaseState::new(run_of(&plan, &phases)).unwrap();
        let live = LiveWorker { streams: vec![LiveCounts::default()], report: None };
        let mut worker =
            Worker::load(&phase, &[UserPlace { stream: 0, number: 0 }], &live).unwrap();
        let start_ns = now_ns();
        phase.stop(start_ns + SECOND_NS / 100);
        worker.play(start_ns);
        check(worker.close());
    }

    #[test]
    fn an_answer_that_never_comes_does_not_hold_the_phase() {
        play_late(3600 * SECOND_NS, &[], |report| {
            assert_eq!((report.shares[0].events.failed, report.error), (1, None));
            let cut_ns = &report.shares[0].events.cut_ns;
            assert!(cut_ns.len() == 1 && cut_ns[0] >= SECOND_NS / 100 + PATIENCE_NS, "{cut_ns:?}");
            assert_eq!(report.shares[0].statements.errors.get("lost"), Some(&1));
            assert_eq!(report.shares[0].events.under_way_ns_min, cut_ns[0]);
        });
    }

    #[test]
    fn a_line_of_sysbench_waits_for_every_answer() {
        play_late(4 * PATIENCE_NS, &["s.lua", "run"], |report| {
            let events = &report.shares[0].events;
            assert_eq!((events.done, events.failed, report.error), (1, 0, None));
            assert!(events.under_way == 1 && events.under_way_ns_min >= 4 * PATIENCE_NS);
        });
    }

    #[test]
    fn an_answer_that_thread_init_waits_for_does_not_hold_the_phase() {
        let folder = Folder::new();
        let mut plan = folder.plan(
            r#"function thread_init() sysbench.sql.driver():connect():query("SELECT 1") end
        function event() end"#,
        );
        plan.session = Session::Null { delay_ns: 3600 * SECOND_NS };
        let (phases, _) = script::phases(&plan, "run").unwrap();
        let phase = PhaseState::new(run_of(&plan, &phases)).unwrap();
        let live = LiveWorker { streams: vec![LiveCounts::default()], report: None };
        phase.stop(now_ns());
        let loaded = Worker::load(&phase, &[UserPlace { stream: 0, number: 0 }], &live);
        assert_eq!(loaded.map(drop).unwrap_err().engine_code(), Some("lost"));
    }

    #[test]
    fn users_who_need_not_wait_all_have_their_quantum() {
        let folder = Folder::new();
        let mut plan = folder.plan("function event() dyno.count('of_' .. sysbench.tid) end");
        let options = [("threads", "2"), ("events", "10000"), ("time", "0")];
        plan.script.options.extend(options.map(|(name, text)| (name.into(), text.into())));
        let (phases, _) = script::phases(&plan, "run").unwrap();
        let phase = PhaseState::new(run_of(&plan, &phases)).unwrap();
        let live = LiveWorker { streams: vec![LiveCounts::default()], report: None };
        let places = [0, 1].map(|number| UserPlace { stream: 0, number });
        let mut worker = Worker::load(&phase, &places, &live).unwrap();
        worker.play(now_ns());
        let counters = worker.close().sums.counters;
        assert_eq!(counters["of_0"] + counters["of_1"], 10_000);
    }
}
