//! A function as its own file sees it: safe Rust, no pointer of the server's.

use crate::bounds;
pub use crate::fault::Fault;

/// What a function answers for a row, or for a group.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// SQL's NULL.
    Null,
    /// Of functions that return INTEGER.
    Integer(i64),
    /// Of functions that return STRING or, in digits, DECIMAL.
    Bytes(&'a [u8]),
}

impl<'a> From<Option<&'a [u8]>> for Answer<'a> {
    fn from(bytes: Option<&'a [u8]>) -> Self {
        bytes.map_or(Self::Null, Self::Bytes)
    }
}

/// Of what type the server hands in an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text, bytes, and what has no other kind.
    Bytes,
    /// 64 bits.
    Integer,
}

/// One argument of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// SQL's NULL; while a call is prepared, also what is no constant.
    Null,
    /// 64 bits; unsigned ones above 2^63 look negative.
    Integer(i64),
    /// As many as the server says; not ended by a zero.
    Bytes(&'a [u8]),
}

/// The arguments of a row.
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a>(pub &'a [Value<'a>]);

impl<'a> Arguments<'a> {
    /// Bytes; `None` for NULL, and for what was not given.
    pub fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        match self.0.get(index) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// A whole number; `None` for NULL, and for what was not given.
    pub fn integer(&self, index: usize) -> Option<i64> {
        match self.0.get(index) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }
    }
}

/// What a result looks like to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// UTF-8 of UTF-8; as large as a result may be.
    Text,
    /// ASCII of bytes; as large as a result may be.
    Digits,
    /// Bytes, at most so many.
    Bytes(usize),
    /// Whole numbers.
    Integer,
    /// Digits with so many behind the point.
    Decimal(u32),
}

/// What a function takes: its kinds, how many of them must be given, and its words for a call with
/// others.
#[derive(Debug, Clone, Copy)]
pub struct Takes {
    /// Kinds, in order.
    pub kinds: &'static [Kind],
    /// How many must be given.
    pub least: usize,
    /// `name(document, key)`.
    pub usage: &'static str,
}

/// A function: a state of its own for each place where a statement calls it.
pub trait Function: Sized + Send + 'static {
    /// Its arguments.
    const TAKES: Takes;
    /// SQL's word: the answer hangs on the arguments alone. Of constant ones it is a constant then,
    /// by which a server looks up an index; else it asks once a row. Never true of an aggregate.
    const DETERMINISTIC: bool = false;
    /// The bytes of its longest argument at most; more are refused before they are looked at.
    const ARGUMENT_BYTES_MAX: usize = bounds::ARGUMENT_BYTES_MAX;

    /// Begins a call. Of `constants`, those that are the same for all rows have their values.
    fn prepare(constants: Arguments) -> Result<(Self, Shape), Fault>;

    /// The answer for a row; of an aggregate, for the rows since the last `clear`.
    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault>;
}

/// A function over the rows of a group.
pub trait Aggregate: Function {
    /// A new group begins.
    fn clear(&mut self);

    /// One row of it.
    fn add(&mut self, row: Arguments) -> Result<(), Fault>;
}
