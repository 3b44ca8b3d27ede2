//! An event declared as data (`dyno.event` in lua/event.lua): which statements it sends, in which
//! order, with which values. The driver plays it without a step of Lua: after each system call an
//! interpreter is cold, and costs more than all else of a query.

use serde::Deserialize;

use super::draw::Draw;
use super::sending::Sending;
use crate::script::rand::Rand;
use crate::sessions::Value;

/// A declared event, how far it is played, and what it counted.
#[derive(Deserialize)]
pub struct Program {
    /// Names of the counters that its statements add to.
    pub counters: Vec<String>,
    /// What it counted, by counter.
    #[serde(skip)]
    pub total: Vec<u64>,
    /// A failed event's counts are forgotten, because the engine undoes it.
    atomic: bool,
    steps: Vec<Step>,
    #[serde(skip)]
    at: usize,
    /// Values drawn.
    #[serde(skip)]
    registers: Vec<Value>,
    /// What the event under way counted, by counter.
    #[serde(skip)]
    pending: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// Draws a value.
    Draw { register: usize, draw: Draw },
    /// Sends a statement.
    Send(Sending),
    /// Goes back to a step until what lies between was played so often.
    Repeat { from: usize, times: u32, played: u32 },
    /// Goes on at one of several steps, drawn at random.
    Choose { targets: Vec<usize> },
    /// Goes on at a step.
    Jump { to: usize },
}

impl Program {
    /// Makes room for what it draws and counts; once.
    pub fn furnished(mut self) -> Self {
        let register = |step: &Step| match step {
            Step::Draw { register, .. } => register + 1,
            _ => 0,
        };
        let registers = self.steps.iter().map(register).max().unwrap_or(0);
        self.registers = vec![Value::Null; registers];
        self.pending = vec![0; self.counters.len()];
        self.total = vec![0; self.counters.len()];
        self
    }

    /// Goes on to the next statement and draws its values; `None`: all were sent.
    #[inline]
    pub fn next(&mut self, rand: &mut Rand) -> Option<&Sending> {
        loop {
            let at = self.at;
            self.at += 1;
            match self.steps.get_mut(at)? {
                Step::Draw { register, draw } => draw.put(&mut self.registers[*register], rand),
                Step::Send(sending) => {
                    sending.fill(&self.registers);
                    return self.sent();
                }
                Step::Repeat { from, times, played } => {
                    *played += 1;
                    if *played < *times {
                        self.at = *from;
                    } else {
                        *played = 0;
                    }
                }
                Step::Choose { targets } => {
                    let chosen = rand.uniform(1.0, targets.len() as f64) as usize;
                    self.at = targets[chosen - 1];
                }
                Step::Jump { to } => self.at = *to,
            }
        }
    }

    /// The statement sent last.
    #[inline]
    pub fn sent(&self) -> Option<&Sending> {
        match self.steps.get(self.at.checked_sub(1)?) {
            Some(Step::Send(sending)) => Some(sending),
            _ => None,
        }
    }

    /// Counts the rows that the statement sent last has changed.
    #[inline]
    pub fn count(&mut self, changed: u64) {
        if let Some(Step::Send(sending)) = self.steps.get(self.at.wrapping_sub(1)) {
            sending.count(changed, &self.registers, &mut self.pending);
        }
    }

    /// The event is over: what it counted is kept or forgotten, and the next begins at the top.
    #[inline]
    pub fn settle(&mut self, good: bool) {
        for (total, pending) in self.total.iter_mut().zip(&mut self.pending) {
            *total += if good || !self.atomic { *pending } else { 0 };
            *pending = 0;
        }
        self.at = 0;
        if !good {
            self.steps.iter_mut().for_each(Step::rewind);
        }
    }
}

impl Step {
    fn rewind(&mut self) {
        if let Self::Repeat { played, .. } = self {
            *played = 0;
        }
    }
}
