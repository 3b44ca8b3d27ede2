//! Inserts as SQL text made outside of Lua: declared rows (`dyno.row`) and sysbench's bulk inserts.
//!
//! Between two answers of a server caches are cold: a row built in Lua, fast on `null`, costs the
//! client half as much again there, garbage and copies included.

use serde::Deserialize;

use super::random::{Draw, Rand};
use crate::sessions::sql::Quoting;
use crate::sessions::{Value, literal};

/// A table's row: its columns that are drawn anew each time.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct Row(Vec<Column>);

/// A column. The two commonest are written without a detour over a [`Value`].
#[derive(Deserialize)]
#[serde(from = "Declared")]
enum Column {
    /// One of so many whole numbers, all alike.
    Uniform { first: i64, count: u64 },
    /// Letters, which need no escape.
    Letters { least: f64, most: f64, percent: f64 },
    /// Anything else, plus a number.
    Other { draw: Draw, plus: f64, drawn: Value },
}

#[derive(Deserialize)]
struct Declared {
    draw: Draw,
    plus: f64,
}

impl From<Declared> for Column {
    fn from(Declared { draw, plus }: Declared) -> Self {
        match draw {
            Draw::Uniform(a, b) if a <= b && a.abs().max(b.abs()) < EXACT => {
                let (first, last) = (a as i64, b as i64);
                Self::Uniform { first: first + plus as i64, count: (last - first) as u64 + 1 }
            }
            Draw::Compressible(least, most, percent) => Self::Letters { least, most, percent },
            draw => Self::Other { draw, plus, drawn: Value::Null },
        }
    }
}

impl Column {
    #[inline]
    fn put(&mut self, rand: &mut Rand, quoting: Quoting, text: &mut Vec<u8>) {
        match self {
            Self::Uniform { first, count } => {
                literal::put_integer(text, *first + rand.below(*count) as i64);
            }
            Self::Letters { least, most, percent } => {
                text.push(b'\'');
                rand.compressible(*least, *most, *percent, text);
                text.push(b'\'');
            }
            Self::Other { draw, plus, drawn } => {
                draw.put(drawn, rand);
                match drawn {
                    Value::Integer(number) => *number += *plus as i64,
                    Value::Real(number) => *number += *plus,
                    Value::Text(_) | Value::Null => {}
                }
                literal::put(text, drawn, quoting);
            }
        }
    }
}

/// Rows to be inserted.
pub struct Insert<'a> {
    /// The statement up to its `values`.
    pub head: &'a [u8],
    /// How many.
    pub count: usize,
    /// Which of the user's declared rows.
    pub row: usize,
    /// Literals that every row begins with; may be empty.
    pub given: &'a [u8],
}

/// Below it every whole number is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Row {
    fn put(&mut self, given: &[u8], rand: &mut Rand, quoting: Quoting, text: &mut Vec<u8>) {
        text.extend_from_slice(given);
        let mut is_first = given.is_empty();
        for column in &mut self.0 {
            if !std::mem::take(&mut is_first) {
                text.push(b',');
            }
            column.put(rand, quoting, text);
        }
    }
}

impl Insert<'_> {
    /// Appends the statement with its rows.
    pub fn put(&self, row: &mut Row, rand: &mut Rand, quoting: Quoting, text: &mut Vec<u8>) {
        text.extend_from_slice(self.head);
        for number in 0..self.count {
            text.extend_from_slice(if number == 0 { b"(" } else { b",(" });
            row.put(self.given, rand, quoting, text);
            text.push(b')');
        }
    }
}

// Texts of bulk inserts, gathered outside of Lua's memory (lua/inserts.lua).
//
// A collector lets garbage grow to what is alive before it looks for it: half a megabyte of rows
// alive had each event write to memory that no near cache held, and a row cost a third more.

/// The statement that a connection's rows are joined to; its memory is used again.
#[derive(Default)]
pub struct Bulk {
    head_bytes: usize,
    text: Vec<u8>,
}

impl Bulk {
    /// Begins at the text up to its `values`; rows that were not sent are forgotten.
    pub fn begin(&mut self, head: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(head);
        self.head_bytes = head.len();
    }

    /// Adds rows.
    pub fn put(&mut self, rows: &[u8]) {
        self.text.extend_from_slice(rows);
    }

    /// The statement up to its `values`.
    pub fn head(&self) -> &[u8] {
        &self.text[..self.head_bytes]
    }

    /// The statement with the rows gathered.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Goes back to the head.
    pub fn forget_rows(&mut self) {
        self.text.truncate(self.head_bytes);
    }
}
