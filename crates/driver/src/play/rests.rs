//! A user who rests between two events, because its script has said so (`dyno.rest`).
//!
//! Its next event is due when the rest is over, so that a rest is in no latency, and meanwhile the
//! worker plays its other users. It takes no arrival before: a phase that ends while users rest has
//! no event of theirs to begin, and what was intended stays done + failed + skipped.

use super::run_queue::RunQueue;
use super::user_slot::{Rest, UserSlot, UserState};
use super::worker::Worker;
use crate::schedule::phase_clock::PhaseClock;

impl UserSlot {
    /// What a user does whose event, due at `due_ns`, or `thread_init` has ended: it is free,
    /// unless its script has it rest.
    #[inline]
    pub fn free(&mut self, due_ns: u64, now: u64, clock: &PhaseClock) -> UserState {
        match self.user.take_rest_ns() {
            0 => UserState::Free { since_ns: now },
            rest_ns => {
                let until_ns = clock.rests_until_ns(due_ns, now, rest_ns);
                UserState::Resting(Rest { since_ns: now, until_ns })
            }
        }
    }
}

impl Worker<'_> {
    /// What a resting user does now: it is free since its rest was over, or has nothing more to
    /// play where the phase ends before, or no event is left for it.
    #[cold]
    pub(super) fn rest_on(&mut self, slot: &UserSlot, rest: Rest, now: u64) -> UserState {
        let (share, stop_ns) = (&mut self.shares[slot.share], self.phase.stop_ns());
        if now >= rest.until_ns.min(stop_ns) {
            share.rested(rest.since_ns, rest.until_ns.min(stop_ns).max(rest.since_ns));
            return UserState::Free { since_ns: rest.until_ns };
        }
        if share.stream.is_exhausted() {
            share.rested(rest.since_ns, now);
            return self.finished(slot.share);
        }
        UserState::Resting(rest)
    }

    /// Wakes users, where nobody is ready, who rest for an event that others have taken: a phase
    /// that ends by a count does not wait for them.
    #[inline]
    pub(super) fn wake_resting(&self, slots: &[UserSlot], queue: &mut RunQueue) {
        if queue.ready.is_empty() && self.shares.iter().any(|it| it.stream.is_exhausted()) {
            let rests = |slot: &UserSlot| matches!(slot.state, UserState::Resting(_));
            let users = (0..).zip(slots).filter(|(_, slot)| rests(slot));
            queue.ready.extend(users.map(|(user, _)| user));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::plan::PhaseRef;
    use crate::plan::error::Error;
    use crate::play::phase_state::{PhaseState, UserPlace};
    use crate::schedule::clock::{SECOND_NS, now_ns};
    use crate::script;
    use crate::tally::live::{LiveCounts, LiveWorker};
    use crate::testing::Folder;

    /// A phase as it ended.
    struct Played {
        done: u64,
        rested_s: f64,
        longest_s: f64,
        took_s: f64,
    }

    /// Plays a script's phase with so many users of one worker.
    fn played(text: &str, users: u32, options: &[(&str, &str)]) -> Result<Played, Error> {
        let folder = Folder::new();
        let mut plan = folder.plan(text);
        plan.script.options.insert("threads".into(), users.to_string());
        for (name, text) in options {
            plan.script.options.insert((*name).into(), (*text).into());
        }
        let (phases, _) = script::phases(&plan, "run")?;
        let of_run =
            PhaseRef { plan: &plan, command: "run", phase: &phases[0], before: Default::default() };
        let phase = PhaseState::new(of_run)?;
        let live = LiveWorker { streams: vec![LiveCounts::default()], report: None };
        let places: Vec<_> = (0..users).map(|number| UserPlace { stream: 0, number }).collect();
        let mut worker = Worker::load(&phase, &places, &live)?;
        let start_ns = now_ns();
        phase.start(start_ns);
        worker.play(start_ns);
        let took_ns = now_ns() - start_ns;
        let report = worker.close();
        let share = &report.shares[0];
        assert_eq!(share.begun, share.events.done + share.events.failed);
        let seconds = |ns: u64| ns as f64 / SECOND_NS as f64;
        report.error.map_or(Ok(()), Err)?;
        Ok(Played {
            done: share.events.done,
            rested_s: seconds(share.rested_ns),
            longest_s: seconds(share.events.latency[0].max()),
            took_s: seconds(took_ns),
        })
    }

    #[test]
    fn an_event_is_due_when_the_rest_is_over_and_a_rest_is_in_no_latency() {
        let it = played("function event() dyno.rest(0.1) end", 3, &[("time", "0.39")]).unwrap();
        assert_eq!(it.done, 3 * 4);
        assert!(it.longest_s < 0.1, "{}", it.longest_s);
        assert!((it.rested_s - 3.0 * 0.39).abs() < 0.3, "{}", it.rested_s);
        assert!((0.39..0.6).contains(&it.took_s), "{}", it.took_s);
    }

    #[test]
    fn what_is_rested_in_the_warm_up_is_not_counted() {
        let options = [("time", "0.24"), ("warmup_time", "0.15")];
        let it = played("function event() dyno.rest(0.1) end", 1, &options).unwrap();
        assert_eq!(it.done, 2);
        assert!((0.15..0.3).contains(&it.rested_s), "{}", it.rested_s);
    }

    #[test]
    fn a_user_may_rest_before_its_first_event() {
        let text = "function thread_init(tid) dyno.rest(0.2 * tid) end
            function event() dyno.rest(60) end";
        let it = played(text, 2, &[("time", "0.1")]).unwrap();
        assert_eq!(it.done, 1, "the second one's event is due after the end");
        assert!((0.1..0.25).contains(&it.rested_s), "{}", it.rested_s);
    }

    #[test]
    fn the_last_word_of_an_event_holds_also_where_it_fails() {
        let text = "function event()
            dyno.rest(60) dyno.rest(0.1) if sysbench.tid == 1 then dyno.rest(0) end end";
        let it = played(text, 1, &[("time", "0.19")]).unwrap();
        assert_eq!(it.done, 2);
        let text = "function thread_init() con = sysbench.sql.driver():connect() end
            function event() dyno.rest(0.1) con:query('lost') end";
        assert!(played(text, 1, &[("time", "0.15")]).is_ok());
    }

    #[test]
    fn a_phase_that_ends_by_a_count_waits_for_nobody_who_rests() {
        let options = [("events", "3"), ("time", "0")];
        let it = played("function event() dyno.rest(3600) end", 3, &options).unwrap();
        assert_eq!(it.done, 3);
        assert!(it.took_s < 5.0, "{}", it.took_s);
        let text = "function event() dyno.rest(sysbench.tid == 0 and 3600 or 0.01) end";
        let it = played(text, 2, &[("events", "4"), ("time", "0")]).unwrap();
        assert!(it.done == 4 && it.took_s < 5.0, "{} {}", it.done, it.took_s);
    }

    #[test]
    fn nobody_rests_where_events_are_due_by_a_rate_or_a_loop_plays_them() {
        let refused = |text: &str, options: &[(&str, &str)]| match played(text, 1, options) {
            Err(error) => error.to_string(),
            Ok(_) => "played".to_owned(),
        };
        let paced = refused("function event() dyno.rest(1) end", &[("rate", "100")]);
        assert!(paced.contains("is for closed loops, but stream"), "{paced}");
        let own = refused("function thread_run() dyno.rest(1) end function event() end", &[]);
        assert!(own.contains("thread_run"), "{own}");
    }
}
