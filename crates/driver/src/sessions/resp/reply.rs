//! RESP2 as bytes: commands in, replies out (redis.io, "Redis serialization protocol").

use crate::plan::error::Error;
use crate::sessions::literal::put_integer;

/// No string of a server is longer (`proto-max-bulk-len`).
const LONGEST: i64 = 512 << 20;

/// A reply, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Item<'a> {
    /// `+OK`.
    Status(&'a [u8]),
    /// `-ERR unknown command`.
    Error(&'a [u8]),
    /// `:3`.
    Integer(i64),
    /// A string; `None`: nil.
    Bulk(Option<&'a [u8]>),
    /// So many parts follow; `None`: nil.
    Array(Option<usize>),
}

/// Bytes that came, part by part.
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// How many of them were read.
    pub at: usize,
}

impl<'a> Reader<'a> {
    /// At the beginning of a reply.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next part; none where it has not come whole.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'a>>, Error> {
        let Some(kind) = self.bytes.get(self.at).copied() else { return Ok(None) };
        let Some((line, behind)) = self.line() else { return Ok(None) };
        let item = match kind {
            b'+' => Item::Status(line),
            b'-' => Item::Error(line),
            b':' => Item::Integer(number(line)?),
            b'$' => match number(line)? {
                -1 => Item::Bulk(None),
                length if (0..=LONGEST).contains(&length) => {
                    let end = behind + length as usize;
                    if self.bytes.len() < end + 2 {
                        return Ok(None);
                    }
                    self.at = end + 2;
                    return Ok(Some(Item::Bulk(Some(&self.bytes[behind..end]))));
                }
                _ => return Err(garbage("a string of impossible length")),
            },
            b'*' => match number(line)? {
                -1 => Item::Array(None),
                parts if parts >= 0 => Item::Array(Some(parts as usize)),
                _ => return Err(garbage("an array of impossible length")),
            },
            _ => return Err(garbage("a reply of a kind that RESP2 has not")),
        };
        self.at = behind;
        Ok(Some(item))
    }

    /// What stands behind a kind's sign, and where the next line begins.
    fn line(&self) -> Option<(&'a [u8], usize)> {
        let rest = &self.bytes[self.at + 1..];
        let end = rest.iter().position(|byte| *byte == b'\r')?;
        (end + 1 < rest.len()).then(|| (&rest[..end], self.at + end + 3))
    }
}

/// How long the first reply is; none where it has not come whole.
#[inline]
pub fn length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let (mut reader, mut left) = (Reader::new(bytes), 1_usize);
    while left > 0 {
        match reader.next()? {
            None => return Ok(None),
            Some(Item::Array(Some(parts))) => left = left.saturating_add(parts) - 1,
            Some(_) => left -= 1,
        }
    }
    Ok(Some(reader.at))
}

#[inline]
fn number(line: &[u8]) -> Result<i64, Error> {
    let (sign, digits) = match line.split_first() {
        Some((b'-', digits)) => (-1, digits),
        _ => (1, line),
    };
    let digit = |sum: i64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(sign * digit)
    };
    let found = digits.iter().try_fold(0, digit).filter(|_| !digits.is_empty());
    found.ok_or_else(|| garbage("a number that is none"))
}

/// The server sent what no server may.
#[cold]
pub fn garbage(what: &str) -> Error {
    Error::engine("the server broke the protocol").because(what).code("protocol")
}

/// Begins a command of so many words.
#[inline]
pub fn begin(out: &mut Vec<u8>, words: usize) {
    out.push(b'*');
    put_integer(out, words as i64);
    out.extend_from_slice(b"\r\n");
}

/// Adds a word.
#[inline]
pub fn put(out: &mut Vec<u8>, word: &[u8]) {
    out.push(b'$');
    put_integer(out, word.len() as i64);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

/// Writes a whole command.
pub fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    begin(out, words.len());
    words.iter().for_each(|word| put(out, word));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_whole_only_with_its_last_byte() {
        let reply = b"*3\r\n$3\r\na\r\n\r\n:-42\r\n*1\r\n$-1\r\n+next";
        let whole = reply.len() - 5;
        for end in 0..whole {
            assert_eq!(length(&reply[..end]).unwrap(), None, "{end}");
        }
        assert_eq!(length(reply).unwrap(), Some(whole));
        let mut reader = Reader::new(reply);
        assert_eq!(reader.next().unwrap(), Some(Item::Array(Some(3))));
        assert_eq!(reader.next().unwrap(), Some(Item::Bulk(Some(b"a\r\n"))));
        assert_eq!(reader.next().unwrap(), Some(Item::Integer(-42)));
    }

    #[test]
    fn what_no_server_may_send_is_refused() {
        for bytes in
            [&b"!\r\n"[..], b"$-2\r\n", b"$9999999999\r\n", b":x\r\n", b":\r\n", b"*-7\r\n"]
        {
            assert!(length(bytes).is_err(), "{bytes:?}");
        }
    }
}
