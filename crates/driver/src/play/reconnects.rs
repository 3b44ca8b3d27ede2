//! Connections that are made anew, or given up, while a phase is played.
//!
//! Connecting is done in one go, within the ten seconds that `wire/connect.rs` gives it and the
//! minute that a log-in may take: a worker's other users wait meanwhile, and their answers lie
//! unread. How long they did is told.

use super::phase_state::PhaseState;
use super::run_queue::RunQueue;
use super::user_slot::{UserSlot, UserState};
use crate::plan::error::Error;
use crate::schedule::timeline::Timeline;
use crate::tally::share::StreamShare;
use crate::{sessions, wire};

/// How long users waited while their worker connected for another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldUp {
    /// In the phase's own time, together.
    pub own_ns: u64,
    /// The longest time, by CLOCK_MONOTONIC.
    pub longest_ns: u64,
}

impl HeldUp {
    /// What a worker's users kept from each other since the phase began; a lone one keeps nobody.
    pub fn of(timeline: &Timeline, slots: &mut [UserSlot]) -> Self {
        let is_alone = slots.len() == 1;
        let kept = slots.iter_mut().flat_map(|slot| slot.user.take_kept());
        let mut found = Self::default();
        for (from_ns, to_ns) in kept.filter(|it| it.0 >= timeline.start_ns() && !is_alone) {
            let own_ns = timeline.phase_ns(to_ns).saturating_sub(timeline.phase_ns(from_ns));
            found.own_ns = found.own_ns.saturating_add(own_ns);
            found.longest_ns = found.longest_ns.max(to_ns.saturating_sub(from_ns));
        }
        found
    }

    /// The worse of two workers' times.
    pub fn or_worse(self, other: Self) -> Self {
        if other.own_ns > self.own_ns { other } else { self }
    }
}

/// Gives every user who has no event under way new connections: what a connection's luck is
/// (memory, core, the server's process) is drawn anew. Not to one whose `thread_init` sent
/// statements: what they left in a connection cannot be known.
#[cold]
pub fn connect_anew(
    phase: &PhaseState,
    shares: &mut [StreamShare],
    slots: &mut [UserSlot],
) -> Result<(), Error> {
    for (user, slot) in slots.iter_mut().enumerate() {
        let is_busy = matches!(slot.state, UserState::Busy { .. } | UserState::Finished);
        let holds_state = slot.holds_state || slot.recorded.is_some();
        if is_busy || holds_state || slot.disconnected {
            continue;
        }
        wire::set_slot(user as u32);
        let renewed = slot.user.renew_connections();
        shares[slot.share].renewed += renewed.map_err(|error| {
            phase.fail(phase.now_ns());
            phase.of_user(error, slot.place)
        })?;
    }
    Ok(())
}

/// Drops the connections of users who still wait, and ends what they wait for: an answer that never
/// comes must not hold the phase, nor the engine in the next one.
#[cold]
pub fn disconnect(slots: &mut [UserSlot], queue: &mut RunQueue) {
    let mut cancellers = Vec::new();
    for (user, slot) in slots.iter_mut().enumerate() {
        if matches!(slot.state, UserState::Busy { .. }) && !slot.disconnected {
            slot.disconnected = true;
            cancellers.extend(slot.user.drop_connections());
            queue.ready.push(user as u32);
        }
    }
    sessions::cancel_all(cancellers);
}
