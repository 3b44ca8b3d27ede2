//! The parser on transcripts and on garbage; sessions against a server that follows a script.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod batches;
mod columns;
mod conversations;
mod garbage;
mod keys;
mod loads;
mod logins;
mod requests;
mod rows;
mod server;
mod sessions;
mod transcripts;

/// A packet as it goes over the wire.
fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(content);
    super::packet::end(&mut out, 0, number);
    out
}

/// The packets of an answer, numbered from 1.
fn answer(contents: &[&[u8]]) -> Vec<u8> {
    let numbered = contents.iter().zip(1u8..);
    numbered.flat_map(|(content, number)| packet(number, content)).collect()
}

/// An OK that says how many rows were changed.
fn ok(changed: u8, status: u8) -> Vec<u8> {
    vec![0, changed, 0, status, 0, 0, 0]
}

/// The end of rows of a server that still has EOF.
fn eof(status: u8) -> Vec<u8> {
    vec![0xfe, 0, 0, status, 0]
}

/// A column's definition.
fn column(name: &str, kind: u8, flags: u8, decimals: u8) -> Vec<u8> {
    let mut out = b"\x03def\x00\x00\x00".to_vec();
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\x00\x0c\x2d\x00\x05\x00\x00\x00");
    out.extend_from_slice(&[kind, flags, 0, decimals, 0, 0]);
    out
}
