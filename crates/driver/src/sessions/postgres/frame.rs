//! PostgreSQL's messages as bytes: taken apart, and put together.
//!
//! A message is its kind (one byte), its length without that byte (four), and its body
//! (protocol-message-formats.html). Nothing here allocates, but for an error.

use crate::plan::error::Error;

/// Kind and length of every message.
pub const HEAD: usize = 5;

/// No message is longer: the server refuses to make one (`MaxAllocSize`).
const LONGEST: usize = 1 << 30;

/// Most kinds are short. libpq, too, takes a longer one for garbage (`fe-protocol3.c`).
const SHORT: usize = 30_000;

/// What is long at times: rows and their description, errors, notices, notifications, copies.
const MAY_BE_LONG: &[u8] = b"TDdENAtGHS";

/// Every kind that an answer may hold.
const KNOWN: &[u8] = b"123ACDEGHINSTZcdnst";

/// Is it worth waiting for the rest of a message of this kind?
#[cold]
pub fn check(kind: u8) -> Result<(), Error> {
    match KNOWN.contains(&kind) {
        true => Ok(()),
        false => Err(garbage(format!("a message of kind {kind:#04x}"))),
    }
}

/// Kind and whole length of the message that begins here; `None`: not enough of it is there.
#[inline]
pub fn head(bytes: &[u8]) -> Result<Option<(u8, usize)>, Error> {
    let [kind, a, b, c, d, ..] = *bytes else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if length < 4 || length > SHORT && (length > LONGEST || !MAY_BE_LONG.contains(&kind)) {
        return Err(garbage(format!("a message of kind {kind:#04x} of {length} bytes")));
    }
    Ok(Some((kind, length + 1)))
}

/// The server speaks another protocol, or nonsense: nothing after it can be understood.
#[cold]
pub fn garbage(what: impl std::fmt::Display) -> Error {
    Error::engine("the server does not speak PostgreSQL's protocol 3.0")
        .because(what)
        .hint("check that a PostgreSQL server listens there")
        .code("protocol")
        .sql(0, "08P01")
}

/// A message's body, read from its beginning.
pub struct Body<'a>(pub &'a [u8]);

impl<'a> Body<'a> {
    /// The next bytes.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(too_short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A byte.
    pub fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    /// A whole number of two bytes.
    pub fn short(&mut self) -> Result<u16, Error> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// A whole number of four bytes.
    pub fn long(&mut self) -> Result<u32, Error> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A text that ends in NUL.
    pub fn text(&mut self) -> Result<&'a [u8], Error> {
        let end = self.0.iter().position(|it| *it == 0).ok_or_else(too_short)?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }
}

#[cold]
fn too_short() -> Error {
    garbage("a message ends too early")
}

/// Appends a message whose body is appended by `body`.
#[inline]
pub fn put(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a text and its NUL.
pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

/// Appends a text statement, or several, in the simple protocol.
pub fn query(sql: &[u8], out: &mut Vec<u8>) {
    put(out, b'Q', |out| put_text(out, sql));
}
