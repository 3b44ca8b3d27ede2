//! One thread, its users, the hot loop.
//!
//! A worker plays rounds: every user who is ready plays until it must wait, but no longer than its
//! share, so that users whose engine answers at once share fairly. A turn of a user ends its
//! request if the answer is there, and begins its next event if that is due. Who then waits for a
//! time stands in the agenda, who waits for the network is known to the wire; a round costs nothing
//! for either.
//! The clock is read once per answer: in a closed loop that is the next event's intended time.

use super::phase_state::{NEVER, Stage};
use super::turns::Agenda;
use super::user_slot::{Place, Slot, State, call};
use crate::plan::error::Error;
use crate::schedule::clock::{NAP_NS, PATIENCE_NS, SPIN_NS, now_ns, wait_until};
use crate::script::Step;
use crate::tally::count::Played;
use crate::tally::share::{Lane, Next, Window};
use crate::tally::{Counters, add};
use crate::wire;

/// An event that waits for this time begins anew, for as long as its phase lasts.
const ANEW: u64 = 0;

/// How long a user who need not wait plays before others do. Each has a Lua state of its own, which
/// the near caches have lost meanwhile: with one event a share, a row of Debian's `bulk_insert.lua`
/// cost four users of a worker twice what it cost one.
const SHARE_NS: u64 = 10_000;

/// One thread's users and what it counted of them.
pub struct Worker<'a> {
    stage: &'a Stage<'a>,
    lanes: Vec<Lane<'a>>,
    slots: Vec<Slot>,
    error: Option<Error>,
}

/// What a worker hands back when its phase is over.
pub struct Report<'a> {
    /// One per stream it had a share in.
    pub lanes: Vec<Lane<'a>>,
    /// The script's own counters, summed over its users.
    pub counters: Counters,
    /// The first error that stopped the trial.
    pub error: Option<Error>,
}

impl<'a> Worker<'a> {
    /// Loads the users, opens their connections, runs `thread_init`.
    pub fn load(
        stage: &'a Stage<'a>,
        places: &[Place],
        windows: &'a [Window],
    ) -> Result<Self, Error> {
        let mut lanes: Vec<Lane> = Vec::new();
        let mut slots = Vec::with_capacity(places.len());
        for (user, place) in places.iter().enumerate() {
            wire::attend(user as u32);
            let known = lanes.iter().position(|lane| lane.index == place.queue);
            if known.is_none() {
                let window = &windows[place.queue];
                lanes.push(Lane::new(stage, place.queue, window, places.len())?);
            }
            let lane = known.unwrap_or(lanes.len() - 1);
            let mut slot = Slot::load(stage, *place, lane).map_err(|it| it.on(place.number))?;
            lanes[lane].claimed_before += slot.user.take_counts().claimed.unwrap_or(0);
            slots.push(slot);
        }
        Ok(Self { stage, lanes, slots, error: None })
    }

    /// Plays from the common start until nobody has anything more to do.
    pub fn play(&mut self, start_ns: u64) {
        let warmup_ns = self.stage.warmup_ns();
        self.lanes.iter_mut().for_each(|lane| lane.start(start_ns, warmup_ns));
        wait_until(start_ns);
        let mut now = now_ns();
        self.slots.iter_mut().for_each(|slot| slot.state = State::Free { since_ns: now });
        let mut slots = std::mem::take(&mut self.slots);
        let mut agenda = Agenda::new(slots.len());
        let mut left = slots.len();
        let mut stop_ns = self.stage.stop_ns();
        while left > 0 {
            let before = now;
            left -= self.round(&mut slots, &mut agenda, &mut now);
            if self.stage.stop_ns() < stop_ns {
                stop_ns = self.stage.stop_ns();
                agenda.ready.extend(0..slots.len() as u32);
            }
            if now > stop_ns.saturating_add(PATIENCE_NS) {
                lose(&mut slots, &mut agenda);
            }
            if now == before {
                now = now_ns();
            }
            if left > 0 {
                rest(&mut agenda, &mut now);
            }
        }
        self.slots = slots;
    }

    /// A share of every user who is ready; returns how many of them are over.
    #[inline]
    fn round(&mut self, slots: &mut [Slot], agenda: &mut Agenda, now: &mut u64) -> usize {
        let turns = agenda.take();
        let mut over = 0;
        for &user in &turns {
            let slot = &mut slots[user as usize];
            if matches!(slot.state, State::Over) {
                continue;
            }
            wire::attend(user);
            let share_ns = *now + SHARE_NS;
            self.turn(slot, now);
            while *now < share_ns && matches!(slot.state, State::Free { .. }) {
                self.turn(slot, now);
            }
            match slot.state {
                State::Free { .. } | State::Busy { until_ns: ANEW, .. } => agenda.ready.push(user),
                State::Due { intended_ns: at_ns } | State::Busy { until_ns: at_ns, .. } => {
                    agenda.at(at_ns, user);
                }
                State::Over => over += 1,
            }
        }
        agenda.give_back(turns);
        over
    }

    #[inline]
    fn turn(&mut self, slot: &mut Slot, now: &mut u64) {
        if let State::Busy { event, until_ns } = slot.state {
            let step = if until_ns == ANEW && *now >= self.stage.stop_ns() {
                slot.user.give_up()
            } else {
                slot.user.advance()
            };
            self.after(slot, step, event, now);
        }
        if let State::Free { since_ns } = slot.state {
            slot.state = self.next(slot, since_ns, *now);
        }
        if let State::Due { intended_ns } = slot.state {
            if *now >= intended_ns {
                self.begin(slot, intended_ns, now);
            } else if intended_ns >= self.stage.stop_ns() {
                self.lanes[slot.lane].drop(intended_ns);
                slot.state = self.over(slot.lane);
            }
        }
    }

    #[inline]
    fn next(&mut self, slot: &Slot, since_ns: u64, now: u64) -> State {
        let lane = &mut self.lanes[slot.lane];
        match lane.next(since_ns, now, self.stage.stop_ns()) {
            Next::At(intended_ns) => State::Due { intended_ns },
            Next::Over => self.over(slot.lane),
        }
    }

    #[inline]
    fn begin(&mut self, slot: &mut Slot, intended_ns: u64, now: &mut u64) {
        let lane = &mut self.lanes[slot.lane];
        if lane.begin(intended_ns) && !slot.measured {
            // What was counted in the warm-up is not measured, but a server counted it, too.
            let counts = slot.user.take_counts();
            lane.counts.claim(counts.claimed, counts.further);
            slot.measured = true;
        }
        let event = Played { intended_ns, begun_ns: *now, answered_ns: NEVER };
        let step = slot.user.begin(&lane.queue.stream.function);
        self.after(slot, step, event, now);
    }

    #[inline]
    fn after(
        &mut self,
        slot: &mut Slot,
        step: Result<Step, Error>,
        mut event: Played,
        now: &mut u64,
    ) {
        if let Ok(Step::Waiting { until_ns }) = step {
            slot.state = State::Busy { event, until_ns };
            return;
        }
        *now = now_ns();
        event.answered_ns = *now;
        slot.state = State::Free { since_ns: *now };
        let outcome = match step {
            Ok(Step::Done { transaction, more }) => self.done(slot, event, transaction, more),
            Ok(_) => {
                self.lanes[slot.lane].failed(event);
                Ok(true)
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(true) if !self.lanes[slot.lane].queue.once => {}
            Ok(_) => slot.state = self.over(slot.lane),
            Err(error) => self.fatal(slot, event, error),
        }
    }

    /// Counts a good event; false if the user's stream has no more to play.
    #[inline]
    fn done(
        &mut self,
        slot: &mut Slot,
        event: Played,
        transaction: usize,
        more: bool,
    ) -> Result<bool, Error> {
        let lane = &mut self.lanes[slot.lane];
        if transaction >= slot.kinds.len() {
            slot.learn_kinds(lane)?;
        }
        let kind = slot.kinds.get(transaction).copied().unwrap_or(0);
        lane.done(event, kind);
        if !more && lane.queue.ends_on_false() {
            self.stage.stop(event.answered_ns);
        }
        Ok(more || lane.queue.limit.is_some())
    }

    /// The trial is lost: this event failed, everybody stops.
    #[cold]
    fn fatal(&mut self, slot: &mut Slot, event: Played, error: Error) {
        self.lanes[slot.lane].failed(event);
        self.stage.stop(event.answered_ns);
        self.error.get_or_insert(error.on(slot.number));
        slot.state = self.over(slot.lane);
    }

    #[cold]
    fn over(&self, lane: usize) -> State {
        self.stage.leave(self.lanes[lane].index);
        State::Over
    }

    /// Runs `thread_done`, closes the connections, hands back what was counted.
    pub fn close(mut self) -> Report<'a> {
        let mut counters = Counters::new();
        for slot in &mut self.slots {
            let lane = &mut self.lanes[slot.lane];
            match (slot.measured, slot.user.take_counts()) {
                (true, counts) => lane.counts.add(counts),
                (false, counts) => lane.counts.claim(counts.claimed, counts.further),
            }
            if self.error.is_none() && !slot.lost && self.stage.scene.is_load() {
                let ended = call(self.stage, &mut slot.user, "thread_done");
                self.error = ended.err().map(|error| error.on(slot.number));
                let counts = slot.user.take_counts();
                lane.counts.claim(counts.claimed, counts.further);
            }
            add(&mut counters, slot.user.counters());
        }
        Report { lanes: self.lanes, counters, error: self.error }
    }
}

/// Finds out who is ready next, and sleeps where nobody is. A time is met by spinning at last,
/// because a sleep ends late; for the network the kernel wakes us.
#[inline]
fn rest(agenda: &mut Agenda, now: &mut u64) {
    agenda.wake(*now);
    if !agenda.ready.is_empty() {
        wire::rest(0, &mut agenda.ready);
        return;
    }
    let until_ns = match agenda.next_ns() {
        NEVER => NEVER,
        next_ns if next_ns > *now + SPIN_NS => (next_ns - SPIN_NS).min(*now + NAP_NS),
        _ => 0,
    };
    wire::rest(until_ns, &mut agenda.ready);
    *now = now_ns();
    agenda.wake(*now);
}

/// Gives up whoever still waits for an answer: one that never comes must not hold the phase.
#[cold]
fn lose(slots: &mut [Slot], agenda: &mut Agenda) {
    for (user, slot) in slots.iter_mut().enumerate() {
        if matches!(slot.state, State::Busy { .. }) && !slot.lost {
            slot.lost = true;
            slot.user.lose();
            agenda.ready.push(user as u32);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::Session;
    use crate::play::phase_state::Scene;
    use crate::schedule::clock::SECOND_NS;
    use crate::script;
    use crate::testing::Folder;

    #[test]
    fn an_answer_that_never_comes_does_not_hold_the_phase() {
        let folder = Folder::new();
        let mut plan = folder.plan(
            r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") end
        function thread_done() con:query("SELECT 2") end"#,
        );
        plan.session = Session::Null { delay_ns: 3600 * SECOND_NS };
        let (phases, _) = script::phases(&plan, "run").unwrap();
        let stage = Stage::new(Scene { plan: &plan, command: "run", phase: &phases[0] }).unwrap();
        let windows = [Window::default()];
        let mut worker = Worker::load(&stage, &[Place { queue: 0, number: 0 }], &windows).unwrap();
        let start_ns = now_ns();
        stage.stop(start_ns + SECOND_NS / 100);
        worker.play(start_ns);
        let report = worker.close();
        assert_eq!((report.lanes[0].tally.failed, report.error), (1, None));
        assert_eq!(report.lanes[0].counts.errors.get("lost"), Some(&1));
    }

    #[test]
    fn nor_does_one_that_a_call_waits_for() {
        let folder = Folder::new();
        let mut plan = folder.plan(
            r#"function thread_init() sysbench.sql.driver():connect():query("SELECT 1") end
        function event() end"#,
        );
        plan.session = Session::Null { delay_ns: 3600 * SECOND_NS };
        let (phases, _) = script::phases(&plan, "run").unwrap();
        let stage = Stage::new(Scene { plan: &plan, command: "run", phase: &phases[0] }).unwrap();
        let windows = [Window::default()];
        stage.stop(now_ns());
        let loaded = Worker::load(&stage, &[Place { queue: 0, number: 0 }], &windows);
        assert_eq!(loaded.map(drop).unwrap_err().engine_code(), Some("lost"));
    }

    #[test]
    fn users_who_need_not_wait_all_have_their_share() {
        let folder = Folder::new();
        let mut plan = folder.plan("function event() dyno.count('of_' .. sysbench.tid) end");
        let options = [("threads", "2"), ("events", "10000"), ("time", "0")];
        plan.script.options.extend(options.map(|(name, text)| (name.into(), text.into())));
        let (phases, _) = script::phases(&plan, "run").unwrap();
        let stage = Stage::new(Scene { plan: &plan, command: "run", phase: &phases[0] }).unwrap();
        let windows = [Window::default()];
        let places = [0, 1].map(|number| Place { queue: 0, number });
        let mut worker = Worker::load(&stage, &places, &windows).unwrap();
        worker.play(now_ns());
        let counters = worker.close().counters;
        assert_eq!(counters["of_0"] + counters["of_1"], 10_000);
    }
}
