//! Whose turn it is, of several interleaved drivers: arithmetic on the time since the
//! phase's start, so that each of them knows it without a word from the others.

use super::clock::NEVER;
use crate::plan::turns::Turns;

/// Turns, and which of them are ours.
#[derive(Debug)]
pub struct OwnTurns {
    pub slice_ns: u64,
    pub ramp_in_ns: u64,
    pub turn_ns: u64,
    /// Turns of all drivers in an epoch; one epoch lasts for ever where nobody connects anew.
    epoch_turns: u64,
    epoch_ns: u64,
    /// What an epoch begins with: a part for each driver, in which its users connect anew. Each
    /// second epoch has them in the reverse order, so that nobody is always the first.
    pub connects_ns: u64,
    pub connect_ns: u64,
    pub frozen: bool,
    own: u64,
    drivers: u64,
    /// Our places in the order, and how long that is before it comes again.
    places: Vec<u64>,
    period: u64,
}

/// Where a time lies among all turns.
pub enum Place {
    /// In one of ours: how many of ours were before, and how far into it.
    Own { before: u64, into_ns: u64 },
    /// Not in one of ours; so many of ours were before.
    Others { before: u64 },
}

impl OwnTurns {
    pub fn new(turns: &Turns, ends_by_time: bool) -> Self {
        let turn_ns = turns.slice_ns + turns.drain_ns;
        let drivers = turns.order.iter().max().map_or(1, |last| u64::from(*last) + 1);
        let connects_ns = if turns.epoch_turns > 0 { drivers * turns.connect_ns } else { 0 };
        let epoch_turns = if turns.epoch_turns > 0 { turns.epoch_turns } else { NEVER };
        let places = (0..).zip(&turns.order).filter(|(_, who)| **who == turns.own);
        Self {
            slice_ns: turns.slice_ns,
            ramp_in_ns: if ends_by_time { turns.ramp_in_ns } else { 0 },
            turn_ns,
            epoch_turns,
            epoch_ns: epoch_turns.saturating_mul(turn_ns).saturating_add(connects_ns),
            connects_ns,
            connect_ns: turns.connect_ns,
            frozen: turns.frozen,
            own: u64::from(turns.own),
            drivers,
            places: places.map(|(place, _)| place).collect(),
            period: turns.order.len() as u64,
        }
    }

    pub fn place(&self, since_ns: Option<u64>) -> Place {
        let Some(since_ns) = since_ns else { return Place::Others { before: 0 } };
        let epoch = since_ns / self.epoch_ns;
        let Some(turns_ns) = (since_ns % self.epoch_ns).checked_sub(self.connects_ns) else {
            return Place::Others { before: self.own_before(epoch * self.epoch_turns) };
        };
        let epoch_begin = epoch.saturating_mul(self.epoch_turns);
        let (turn, into_ns) = (epoch_begin + turns_ns / self.turn_ns, turns_ns % self.turn_ns);
        let before = self.own_before(turn);
        match self.places.binary_search(&(turn % self.period)) {
            Ok(_) => Place::Own { before, into_ns },
            Err(_) => Place::Others { before },
        }
    }

    /// How many of the turns before one are ours.
    fn own_before(&self, turn: u64) -> u64 {
        let (turns, place) = (turn / self.period, turn % self.period);
        let in_turn = self.places.partition_point(|own| *own < place);
        turns * self.places.len() as u64 + in_turn as u64
    }

    /// From the start to the beginning of our turn of a number.
    pub fn begin_ns(&self, number: u64) -> u64 {
        let count = self.places.len() as u64;
        let place = self.places[(number % count) as usize];
        let turn = number / count * self.period + place;
        let (epoch, in_epoch) = (turn / self.epoch_turns, turn % self.epoch_turns);
        epoch * self.epoch_ns + self.connects_ns + in_epoch * self.turn_ns
    }

    /// When our part of the next epoch's connecting begins; the first epoch needs none.
    pub fn connect_after(&self, since_ns: u64) -> u64 {
        let epoch = since_ns / self.epoch_ns + 1;
        let place = if epoch.is_multiple_of(2) { self.own } else { self.drivers - 1 - self.own };
        epoch * self.epoch_ns + place * self.connect_ns
    }
}
