//! What is sent: packets, lengths, prepared executions, and what stands in for them.

use super::super::emulated::Emulated;
use super::super::packet::{self, HEADER, PART, put_length};
use super::super::reader::Reader;
use super::super::statement::Statement;
use crate::sessions::Value;

fn execution(statement: &mut Statement, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(statement.encode(values, &mut out).unwrap());
    assert_eq!(packet::length(&out), out.len() - HEADER);
    out.split_off(HEADER)
}

#[test]
fn types_are_sent_once_and_again_when_they_change() {
    let mut statement = Statement::new(0x0102, "SELECT ?, ?", 2);
    let head = [0x17, 2, 1, 0, 0, 0, 1, 0, 0, 0];
    let one = |n: i64| n.to_le_bytes();
    let values = [Value::Integer(5), Value::Text(b"ab".to_vec())];
    let first = execution(&mut statement, &values);
    let tail = [&one(5)[..], b"\x02ab"].concat();
    assert_eq!(first, [&head[..], &[0, 1, 8, 0, 253, 0], &tail].concat());
    let second = execution(&mut statement, &values);
    assert_eq!(second, [&head[..], &[0, 0], &tail].concat());
    let null = execution(&mut statement, &[Value::Null, Value::Text(b"ab".to_vec())]);
    assert_eq!(null, [&head[..], &[1, 0], b"\x02ab"].concat(), "NULL changes no type");
    let real = execution(&mut statement, &[Value::Real(0.5), Value::Null]);
    assert_eq!(real, [&head[..], &[2, 1, 5, 0, 253, 0], &0.5f64.to_le_bytes()].concat());
}

#[test]
fn a_wrong_number_of_values_is_refused_before_anything_is_written() {
    let mut out = Vec::new();
    let error = Statement::new(1, "SELECT ?", 1).encode(&[], &mut out).unwrap_err();
    assert!(error.to_string().starts_with("a statement with 1 parameters got 0 values"));
    assert!(out.is_empty() && !error.is_engine());
}

#[test]
fn what_cannot_be_prepared_is_sent_as_text() {
    let statement = Emulated::new("INSERT INTO t VALUES (?, 'a?', ?, ?, ?) -- \"");
    assert_eq!(statement.parameters(), 4);
    let mut out = Vec::new();
    let text = Value::Text(br"it's \".to_vec());
    statement.encode(&[Value::Integer(-3), text, Value::Null, Value::Real(0.25)], &mut out);
    let sent = String::from_utf8(out.split_off(HEADER + 1)).unwrap();
    assert_eq!(sent, r#"INSERT INTO t VALUES (-3, 'a?', 'it\'s \\', NULL, 2.5e-1) -- ""#);
    assert_eq!(out[HEADER], 3);
}

#[test]
fn long_packets_are_sent_in_parts_and_a_full_part_is_followed_by_another() {
    for (length, parts) in [(PART - 1, 1), (PART, 2), (PART + 1, 2), (2 * PART, 3)] {
        let mut out = b"before".to_vec();
        let at = packet::begin(&mut out);
        out.resize(out.len() + length, b'x');
        assert_eq!(packet::end(&mut out, at, 250), 250u8.wrapping_add(parts));
        let (mut rest, mut found) = (&out[6..], Vec::new());
        for number in 0..parts {
            assert_eq!(rest[3], 250u8.wrapping_add(number));
            let end = HEADER + packet::length(rest);
            found.push(end - HEADER);
            rest = &rest[end..];
        }
        assert!(rest.is_empty() && found.iter().sum::<usize>() == length);
        assert!(*found.last().unwrap() < PART);
    }
}

#[test]
fn lengths_are_read_as_they_were_written() {
    for length in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, 1 << 40] {
        let mut out = Vec::new();
        put_length(&mut out, length);
        let mut reader = Reader(&out);
        assert_eq!(reader.number(), Some(length as u64));
        assert!(reader.0.is_empty());
    }
    assert_eq!(Reader(&[0xfb]).number(), None, "NULL is no number");
    assert_eq!(Reader(&[0xfc, 1]).number(), None);
}
