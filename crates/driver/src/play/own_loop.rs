//! A user whose script has a `thread_run` of its own: the script says itself when an event begins
//! and ends, and asks whether there is one more. Counted as sysbench counts: what was begun and
//! ended, however often between two questions.

use super::user_slot::{UserSlot, UserState};
use super::worker::Worker;
use crate::plan::error::Error;
use crate::schedule::clock::NEVER;
use crate::script::{Ask, Step};
use crate::tally::count::EventTimes;
use crate::tally::share::StreamShare;

impl Worker<'_> {
    /// Begins a script's own loop, or tells it that there is one more event.
    #[cold]
    pub fn go_on(&mut self, slot: &mut UserSlot, intended_ns: u64, now: &mut u64) {
        let Some(own) = &mut slot.own_loop else { return };
        let step = if own.is_started {
            own.arrival_ns = Some(intended_ns);
            slot.user.answer(true)
        } else {
            own.is_started = true;
            let share = &mut self.shares[slot.share];
            // It may send statements, and begin no event ever: they count all the same.
            let measured = share.is_measured(*now);
            slot.hand_counts_over(share, measured);
            slot.user.begin(&share.stream.declared.function)
        };
        // The event under way is the loop's own: this one stands for none.
        let none = EventTimes { intended_ns, begun_ns: *now, answered_ns: NEVER };
        self.end(slot, step, none, now);
    }

    /// Does what a script's own loop asks until it waits, wants one more event, or is over.
    #[cold]
    pub fn end_of_loop(
        &mut self,
        slot: &mut UserSlot,
        mut step: Result<Step, Error>,
        now: &mut u64,
    ) {
        loop {
            *now = self.clock.now_ns();
            let share = &mut self.shares[slot.share];
            match step {
                Ok(Step::Asked(ask)) => match slot.take_ask(share, ask, *now) {
                    Ok(()) if ask == Ask::More => {
                        slot.state = UserState::Free { since_ns: *now };
                        return;
                    }
                    taken => step = taken.and_then(|()| slot.user.answer(true)),
                },
                Ok(Step::Waiting { until_ns }) => {
                    let none = EventTimes { intended_ns: *now, begun_ns: *now, answered_ns: NEVER };
                    slot.state = UserState::Busy { event: none, until_ns };
                    return;
                }
                Ok(Step::Done { .. }) => {
                    slot.leave_events(share, *now);
                    slot.own_loop.iter_mut().for_each(|own| own.is_over = true);
                    return self.ended_by_script(slot, *now);
                }
                Ok(Step::Failed(error)) | Err(error) => {
                    let event = slot.own_loop.as_mut().and_then(|own| own.event.take());
                    let event = event.map(|it| EventTimes { answered_ns: *now, ..it });
                    slot.leave_events(share, *now);
                    return self.fatal(slot, event, error);
                }
            }
        }
    }
}

impl UserSlot {
    /// Does what the loop asks; only [`Ask::More`] is left to the worker.
    pub fn take_ask(&mut self, share: &mut StreamShare, ask: Ask, now: u64) -> Result<(), Error> {
        match ask {
            Ask::More => self.leave_events(share, now),
            Ask::Start => self.begin_event(share, now)?,
            Ask::Stop { transaction } => self.end_event(share, transaction, now)?,
        }
        Ok(())
    }

    /// Takes back what was begun and not ended, and at a rate an arrival without an event.
    pub fn leave_events(&mut self, share: &mut StreamShare, now: u64) {
        let Some(own) = &mut self.own_loop else { return };
        let arrival_ns = own.arrival_ns.take().filter(|_| share.stream.schedule.is_some());
        let arrival = |intended_ns| EventTimes { intended_ns, begun_ns: now, answered_ns: now };
        let left = own.event.take().or(arrival_ns.map(arrival));
        left.into_iter().for_each(|event| share.withdraw(EventTimes { answered_ns: now, ..event }));
    }

    fn begin_event(&mut self, share: &mut StreamShare, now: u64) -> Result<(), Error> {
        let is_paced = share.stream.schedule.is_some();
        let Some(own) = &mut self.own_loop else { return Ok(()) };
        let intended_ns = match own.arrival_ns.take() {
            Some(arrival_ns) if is_paced => arrival_ns,
            None if is_paced => return Err(one_event_each()),
            _ => now,
        };
        let event = EventTimes { intended_ns, begun_ns: now, answered_ns: NEVER };
        if let Some(event) = own.event.replace(event) {
            share.withdraw(EventTimes { answered_ns: now, ..event });
        }
        let measured = share.begin(intended_ns);
        if measured != self.measured {
            self.hand_counts_over(share, measured);
        }
        self.show_begin(share);
        Ok(())
    }

    fn end_event(
        &mut self,
        share: &mut StreamShare,
        transaction: usize,
        now: u64,
    ) -> Result<(), Error> {
        let event = self.own_loop.as_mut().and_then(|it| it.event.take());
        let event = event.ok_or_else(|| Error::user("sb_event_stop without sb_event_start"))?;
        if transaction >= self.transactions.len() {
            self.learn_transactions(share)?;
        }
        let number = self.transactions.get(transaction).copied().unwrap_or(0);
        let event = EventTimes { answered_ns: now, ..event };
        share.done(event, number, NEVER);
        self.show_end(share, Some(event));
        Ok(())
    }
}

fn one_event_each() -> Error {
    Error::user("thread_run began an event without sb_more_events, though a rate is set")
        .hint("call sb_more_events for each event, or leave out the option rate")
}
