//! A statement that a script sends again and again, and the values of its next execution.

use super::random::Rand;
use crate::plan::error::Error;
use crate::sessions::literal::TextStatement;
use crate::sessions::{Reply, Session, Value};

/// A statement and the values bound to it; reused, so that none allocates.
pub struct Statement {
    /// The connection that it was made on.
    pub connection: usize,
    /// What is sent.
    pub form: Form,
    /// Its text's number in the user's account.
    pub number: u32,
    kinds: Vec<Kind>,
    values: Vec<Value>,
}

/// What is sent.
pub enum Form {
    /// The session's handle of a prepared statement.
    Prepared(u32),
    /// Text that is parsed with its values each time.
    Unnamed(Vec<u8>),
    /// Text with literals in the places of its parameters.
    Text(TextStatement),
}

/// What a bind cell holds (lua/statements.lua).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Real,
    Text,
}

impl Form {
    /// Sends the statement with one value per parameter.
    #[inline]
    pub fn send(&self, session: &mut dyn Session, values: &[Value]) -> Result<Reply, Error> {
        match self {
            Self::Prepared(handle) => session.execute(*handle, values),
            Self::Unnamed(sql) => session.execute_unnamed(sql, values),
            Self::Text(statement) => {
                let mut text = Vec::new();
                statement.put(&mut text, values);
                session.query_bytes(&text)
            }
        }
    }
}

impl Statement {
    /// A statement without parameters.
    pub fn new(connection: usize, form: Form, number: u32) -> Self {
        Self { connection, form, number, kinds: Vec::new(), values: Vec::new() }
    }

    /// Gives it parameters of these kinds, all NULL.
    pub fn bind(&mut self, kinds: Vec<Kind>) {
        self.values = vec![Value::Null; kinds.len()];
        self.kinds = kinds;
    }

    /// Puts a Lua value into a parameter, cut to the cell's kind; a text cell's number stands for
    /// what it has drawn.
    #[inline]
    pub fn set(&mut self, at: usize, value: &mlua::Value, cells: &[TextCell]) {
        let (Some(slot), Some(kind)) = (self.values.get_mut(at), self.kinds.get(at)) else {
            return;
        };
        match (kind, value) {
            (Kind::Text, mlua::Value::Integer(cell)) => put_text(slot, &cells[*cell as usize].text),
            _ => put(slot, *kind, value),
        }
    }

    /// The values set.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The same, to be set.
    pub fn values_mut(&mut self) -> &mut [Value] {
        &mut self.values
    }

    /// Sends it with the values set.
    #[inline]
    pub fn send(&self, session: &mut dyn Session) -> Result<Reply, Error> {
        self.form.send(session, &self.values)
    }
}

/// A text cell that is filled from a template (`set_rand_str`); its memory is used again.
#[derive(Default)]
pub struct TextCell {
    /// `#` is a digit, `@` a letter.
    pub template: Vec<u8>,
    /// What was drawn last.
    pub text: Vec<u8>,
}

impl TextCell {
    /// Draws another text.
    #[inline]
    pub fn draw(&mut self, rand: &mut Rand) {
        self.text.clear();
        rand.string(&self.template, &mut self.text);
    }
}

/// A cell's value for the session. Whole numbers beyond 2^53 come as digits (lua/statements.lua).
fn put(slot: &mut Value, kind: Kind, value: &mlua::Value) {
    match (kind, value) {
        (Kind::Integer, mlua::Value::Integer(n)) => *slot = Value::Integer(*n),
        (Kind::Integer, mlua::Value::Number(n)) => *slot = Value::Integer(*n as i64),
        (Kind::Integer, mlua::Value::String(digits)) => {
            let parsed = digits.to_str().ok().and_then(|it| it.parse().ok());
            *slot = parsed.map_or(Value::Null, Value::Integer);
        }
        (Kind::Real, mlua::Value::Integer(n)) => *slot = Value::Real(*n as f64),
        (Kind::Real, mlua::Value::Number(n)) => *slot = Value::Real(*n),
        (Kind::Text, mlua::Value::String(text)) => put_text(slot, &text.as_bytes()),
        _ => *slot = Value::Null,
    }
}

/// Puts a text into a slot, in the place of the last one.
pub fn put_text(slot: &mut Value, text: &[u8]) {
    if let Value::Text(bytes) = slot {
        bytes.clear();
        bytes.extend_from_slice(text);
    } else {
        *slot = Value::Text(text.to_vec());
    }
}
