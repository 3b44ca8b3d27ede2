//! Rows as text, whichever protocol they came in.

use super::super::answer::{Answer, Asked};
use super::super::framing::Fed;
use super::super::packet::PART;
use super::{answer, column, eof, packet};

fn text_of(columns: &[Vec<u8>], row: &[u8], binary: bool) -> Vec<Option<String>> {
    let head = [columns.len() as u8];
    let end = [0xfe, 0, 0, 0, 0, 0, 0];
    let definitions = columns.iter().map(Vec::as_slice);
    let contents: Vec<&[u8]> =
        std::iter::once(&head[..]).chain(definitions).chain([row, &end]).collect();
    let mut it = Answer::new(true);
    it.expect(1, Asked { binary, keeps: true, is_batch: false });
    let bytes = answer(&contents);
    assert_eq!(it.feed(&bytes).unwrap(), (bytes.len(), Fed::Done));
    it.outcome().unwrap();
    it.rows.fields().map(|it| it.map(|it| String::from_utf8(it.to_vec()).unwrap())).collect()
}

#[test]
fn null_is_not_an_empty_text() {
    let columns = [column("a", 253, 0, 0), column("b", 253, 0, 0), column("c", 253, 0, 0)];
    let fields = text_of(&columns, b"\xfb\x00\x01x", false);
    assert_eq!(fields, [None, Some(String::new()), Some("x".to_owned())]);
}

#[test]
fn binary_nulls_take_no_bytes() {
    let columns: Vec<_> = (0..9).map(|_| column("a", 1, 0, 0)).collect();
    let row = [0, 0b1111_0000, 0b0000_0011, 7, 8, 9];
    let fields = text_of(&columns, &row, true);
    let found: Vec<usize> = (0..9).filter(|at| fields[*at].is_some()).collect();
    assert_eq!(found, [0, 1, 8]);
    assert_eq!(fields[8].as_deref(), Some("9"));
}

#[test]
fn rows_longer_than_a_packet_are_joined() {
    for length in [PART - 9, PART, 2 * PART] {
        let mut row = vec![0xfe];
        row.extend_from_slice(&(length as u64).to_le_bytes());
        row.resize(9 + length, b'x');
        let mut bytes = answer(&[&[1], &column("a", 252, 0, 0), &eof(0)]);
        bytes.extend(packet(4, &row));
        bytes.extend(packet(9, &eof(0)));
        for keeps in [true, false] {
            let mut it = Answer::new(false);
            it.expect(1, Asked { binary: false, keeps, is_batch: false });
            assert_eq!(it.feed(&bytes).unwrap(), (bytes.len(), Fed::Done), "{length} {keeps}");
            let reply = it.outcome().unwrap();
            assert_eq!(reply, crate::sessions::Reply::Ready { rows: 1, changed: 0 });
            assert_eq!(it.rows.bytes.len(), if keeps { length } else { 0 });
        }
    }
}
