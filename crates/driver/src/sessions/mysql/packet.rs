//! Packets: written and taken apart.
//!
//! Four bytes of header (length and number), then at most 16 MB; longer ones in parts.

use crate::plan::error::Error;

/// Bytes before a packet's content: its length in three, its number in one.
pub const HEADER: usize = 4;

/// A part of this length is followed by another, if only by an empty one.
pub const PART: usize = 0xff_ffff;

// Commands: the first byte of a request's packet.
pub const COM_QUIT: u8 = 0x01;
pub const COM_QUERY: u8 = 0x03;
pub const COM_STMT_PREPARE: u8 = 0x16;
pub const COM_STMT_EXECUTE: u8 = 0x17;
pub const COM_STMT_CLOSE: u8 = 0x19;

/// Begins a packet; [`end`] fills in what stands here.
#[inline]
pub fn begin(out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0; HEADER]);
    at
}

/// Ends the packet that began at `at`; says which number comes next.
#[inline]
pub fn end(out: &mut Vec<u8>, at: usize, number: u8) -> u8 {
    let length = out.len() - at - HEADER;
    if length >= PART {
        return split(out, at, number);
    }
    out[at..at + HEADER].copy_from_slice(&header(length, number));
    number.wrapping_add(1)
}

/// A packet with one command's byte and its text.
pub fn command(out: &mut Vec<u8>, byte: u8, text: &[u8]) {
    let at = begin(out);
    out.push(byte);
    out.extend_from_slice(text);
    end(out, at, 0);
}

fn header(length: usize, number: u8) -> [u8; HEADER] {
    let [a, b, c, ..] = (length as u32).to_le_bytes();
    [a, b, c, number]
}

/// Puts a header before each part of a long packet.
#[cold]
fn split(out: &mut Vec<u8>, at: usize, mut number: u8) -> u8 {
    let content = out.split_off(at + HEADER);
    out.truncate(at);
    let mut last = PART;
    for part in content.chunks(PART) {
        out.extend_from_slice(&header(part.len(), number));
        out.extend_from_slice(part);
        number = number.wrapping_add(1);
        last = part.len();
    }
    if last == PART {
        out.extend_from_slice(&header(0, number));
        number = number.wrapping_add(1);
    }
    number
}

/// Length of the packet that a header begins.
#[inline]
pub fn length(header: &[u8]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// Appends a whole number in as few bytes as it needs.
#[inline]
pub fn put_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
}

/// What a server sent that no server sends.
#[cold]
pub fn garbage(what: &str) -> Error {
    Error::engine("the server does not speak MySQL's protocol").because(what).code("protocol")
}

// Takes a packet's content apart; `None` where it ends too soon.

/// What is left of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next so many bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A whole number of one, three, four or nine bytes.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        match self.u8()? {
            byte @ 0..=250 => Some(u64::from(byte)),
            0xfc => self.u16().map(u64::from),
            0xfd => self.array().map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xfe => self.u64(),
            _ => None,
        }
    }

    /// Bytes with their count before them.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.bytes(usize::try_from(count).ok()?)
    }

    /// Bytes up to a zero, which is taken too; all that is left where there is none.
    pub fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let (bytes, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or(&[]);
        bytes
    }
}
