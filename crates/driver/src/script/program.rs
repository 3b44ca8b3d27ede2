//! An event declared as data (`dyno.event` in lua/event.lua): which statements it sends, in which
//! order, with which values. It runs without a step of Lua: after each system call an interpreter
//! is cold, and costs more than all else of a query.

use serde::{Deserialize, Deserializer};

use super::random::{Draw, Rand};
use super::statement::put_text;
use super::written::Written;
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
    /// It has several statements, and values of some are noted.
    #[serde(skip)]
    pub notes_several: bool,
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
    Send(DeclaredStatement),
    /// Goes back to a step until what lies between was played so often.
    Repeat { from: usize, times: u32, played: u32 },
    /// Goes on at one of several steps, drawn at random.
    Choose { targets: Vec<usize> },
    /// Goes on at a step.
    Jump { to: usize },
}

impl Program {
    /// Makes room for what it draws and counts; once.
    pub fn with_room(mut self) -> Self {
        let register = |step: &Step| match step {
            Step::Draw { register, .. } => register + 1,
            _ => 0,
        };
        let registers = self.steps.iter().map(register).max().unwrap_or(0);
        self.registers = vec![Value::Null; registers];
        let sent = |step: &Step| match step {
            Step::Send(statement) => Some(!statement.writes.is_empty()),
            _ => None,
        };
        let notes: Vec<bool> = self.steps.iter().filter_map(sent).collect();
        self.notes_several = notes.len() > 1 && notes.contains(&true);
        self.pending = vec![0; self.counters.len()];
        self.total = vec![0; self.counters.len()];
        self
    }

    /// Goes on to the next statement and draws its values; `None`: all were sent.
    #[inline]
    pub fn next(&mut self, rand: &mut Rand) -> Option<&DeclaredStatement> {
        loop {
            let at = self.at;
            self.at += 1;
            match self.steps.get_mut(at)? {
                Step::Draw { register, draw } => draw.put(&mut self.registers[*register], rand),
                Step::Send(statement) => {
                    statement.fill(&self.registers);
                    return self.last_statement();
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
    pub fn last_statement(&self) -> Option<&DeclaredStatement> {
        match self.steps.get(self.at.checked_sub(1)?) {
            Some(Step::Send(statement)) => Some(statement),
            _ => None,
        }
    }

    /// Counts the rows that the statement sent last has changed; its number, and how many rows it
    /// must have changed, where that is declared.
    #[inline]
    pub fn count(&mut self, changed: u64) -> Option<(usize, u64)> {
        let Some(Step::Send(statement)) = self.steps.get(self.at.wrapping_sub(1)) else {
            return None;
        };
        statement.count(changed, &self.registers, &mut self.pending);
        Some((statement.statement, statement.changes?))
    }

    /// The event is over: what it counted is kept or forgotten, and the next begins at the top.
    #[inline]
    pub fn finish(&mut self, good: bool) {
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

// A statement of a declared event and the values to send with it.

/// A statement and the values to send with it.
#[derive(Deserialize)]
pub struct DeclaredStatement {
    /// Its number among the user's statements.
    pub statement: usize,
    /// One per parameter.
    #[serde(deserialize_with = "given")]
    pub values: Vec<Value>,
    drawn: Vec<DrawnParameter>,
    counts: Vec<Count>,
    /// Rows that it must change each time.
    #[serde(default)]
    changes: Option<u64>,
    /// Values that are held against what the engine holds at the end.
    writes: Vec<DeclaredWrite>,
}

/// The value of the parameter `at`: what was drawn into a register, plus a number.
#[derive(Deserialize)]
struct DrawnParameter {
    at: usize,
    register: usize,
    plus: f64,
}

/// What a counter grows by for each row that the statement changed: a number, and what was drawn
/// into a register if one is given.
#[derive(Deserialize)]
struct Count {
    counter: usize,
    register: Option<usize>,
    plus: f64,
}

/// A parameter's value that is written under another's; the name's number in [`Written`].
#[derive(Deserialize)]
struct DeclaredWrite {
    column: usize,
    key: usize,
    value: usize,
}

impl DeclaredStatement {
    /// Notes what it writes.
    #[inline]
    pub fn note_writes(&self, written: &mut Written) {
        for DeclaredWrite { column, key, value } in &self.writes {
            if let (Some(key), Some(value)) = (self.values.get(*key), self.values.get(*value)) {
                written.send(*column, key, value);
            }
        }
    }

    /// Adds what it counts for so many rows changed.
    #[inline]
    pub fn count(&self, changed: u64, registers: &[Value], counters: &mut [u64]) {
        for Count { counter, register, plus } in &self.counts {
            let drawn = match register.map(|it| &registers[it]) {
                Some(Value::Integer(number)) => *number as f64,
                _ => 0.0,
            };
            counters[*counter] += changed * (drawn + plus) as u64;
        }
    }

    /// Puts what was drawn in its places.
    #[inline]
    pub fn fill(&mut self, registers: &[Value]) {
        for DrawnParameter { at, register, plus } in &self.drawn {
            let slot = &mut self.values[*at];
            match &registers[*register] {
                Value::Integer(number) => *slot = Value::Integer(number + *plus as i64),
                Value::Real(number) => *slot = Value::Real(number + plus),
                Value::Text(text) => put_text(slot, text),
                Value::Null => *slot = Value::Null,
            }
        }
    }
}

/// A value as declared; anything stands where a drawn one goes.
#[derive(Deserialize)]
#[serde(untagged)]
enum GivenValue {
    Integer(i64),
    Real(f64),
    Text(String),
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    let value = |given| match given {
        GivenValue::Integer(number) => Value::Integer(number),
        GivenValue::Real(number) => Value::Real(number),
        GivenValue::Text(text) => Value::Text(text.into_bytes()),
    };
    Ok(Vec::deserialize(deserializer)?.into_iter().map(value).collect())
}
