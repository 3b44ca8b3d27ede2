//! A statement of a declared event and the values to send with it.

use serde::{Deserialize, Deserializer};

use super::statement::put_text;
use crate::sessions::Value;

/// A statement and the values to send with it.
#[derive(Deserialize)]
pub struct Sending {
    /// Its number among the user's statements.
    pub statement: usize,
    /// One per parameter.
    #[serde(deserialize_with = "given")]
    pub values: Vec<Value>,
    drawn: Vec<Drawn>,
    counts: Vec<Count>,
}

/// The value of the parameter `at`: what was drawn into a register, plus a number.
#[derive(Deserialize)]
struct Drawn {
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

impl Sending {
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
        for Drawn { at, register, plus } in &self.drawn {
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
enum Given {
    Integer(i64),
    Real(f64),
    Text(String),
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    let value = |given| match given {
        Given::Integer(number) => Value::Integer(number),
        Given::Real(number) => Value::Real(number),
        Given::Text(text) => Value::Text(text.into_bytes()),
    };
    Ok(Vec::deserialize(deserializer)?.into_iter().map(value).collect())
}
