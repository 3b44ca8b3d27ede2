//! Packets: four bytes of header (length and number), then at most 16 MB; longer ones in parts.

use crate::plan::error::Error;

/// Bytes before a packet's content: its length in three, its number in one.
pub const HEADER: usize = 4;

/// A part of this length is followed by another, if only by an empty one.
pub const PART: usize = 0xff_ffff;

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

/// What a server said that no server says.
#[cold]
pub fn garbage(what: &str) -> Error {
    Error::engine("the server does not speak MySQL's protocol").because(what).code("protocol")
}
