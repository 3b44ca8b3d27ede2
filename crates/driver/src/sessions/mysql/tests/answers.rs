//! Answers of every shape, whole and byte by byte.

use super::super::answer::{Answer, Asked};
use super::super::framing::Fed;
use super::transcripts::{ROW_5, ROW_8, SYNTAX_ERROR, TWO_RESULTS_5, TWO_RESULTS_8, bytes};
use super::{answer, column, eof, ok};
use crate::plan::error::Error;
use crate::sessions::Reply;

const KEPT: Asked = Asked { binary: false, keeps: true, is_batch: false };
const COUNTED: Asked = Asked { binary: false, keeps: false, is_batch: false };
const BINARY: Asked = Asked { binary: true, ..KEPT };

fn reader(deprecates_eof: bool, asked: Asked) -> Answer {
    let mut it = Answer::new(deprecates_eof);
    it.expect(1, asked);
    it
}

/// Feeds bytes in pieces, as a line would, and says what came of it.
fn play(it: &mut Answer, bytes: &[u8], piece: usize) -> Result<Reply, Error> {
    let mut inbox = Vec::new();
    for piece in bytes.chunks(piece) {
        inbox.extend_from_slice(piece);
        let (used, fed) = it.feed(&inbox)?;
        inbox.drain(..used);
        if fed == Fed::Done {
            assert!(inbox.is_empty(), "{} bytes were left over", inbox.len());
            return it.outcome();
        }
    }
    panic!("the answer has no end");
}

fn fields(it: &Answer) -> Vec<Option<String>> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    it.rows.fields().map(|field| field.map(text)).collect()
}

fn some(fields: &[&str]) -> Vec<Option<String>> {
    fields.iter().map(|field| Some((*field).to_owned())).collect()
}

#[test]
fn a_row_is_the_same_from_both_kinds_of_servers_in_pieces_of_any_size() {
    for (deprecates_eof, transcript) in [(false, ROW_5), (true, ROW_8)] {
        for piece in [1, 2, 3, 5, 7, 64, 4096] {
            let mut it = reader(deprecates_eof, BINARY);
            let reply = play(&mut it, &bytes(transcript), piece).unwrap();
            assert_eq!(reply, Reply::Ready { rows: 1, changed: 0 });
            assert_eq!(fields(&it), some(&["1", "z"]));
            assert_eq!(it.rows.columns, ["a", "b"]);
        }
    }
}

#[test]
fn rows_nobody_reads_are_counted_and_not_copied() {
    for piece in [1, 4, 4096] {
        let mut it = reader(true, COUNTED);
        let reply = play(&mut it, &bytes(ROW_8), piece).unwrap();
        assert_eq!(reply, Reply::Ready { rows: 1, changed: 0 });
        assert_eq!(it.rows.width, 2);
        assert!(it.rows.bytes.capacity() == 0 && it.rows.columns.capacity() == 0);
    }
}

#[test]
fn of_several_results_the_last_with_columns_is_the_answer_and_changes_add_up() {
    for (deprecates_eof, transcript) in [(false, TWO_RESULTS_5), (true, TWO_RESULTS_8)] {
        let mut it = reader(deprecates_eof, KEPT);
        let reply = play(&mut it, &bytes(transcript), 4096).unwrap();
        assert_eq!(reply, Reply::Ready { rows: 2, changed: 2 });
        assert_eq!(fields(&it), some(&["z", "z"]));
    }
    let select = |value: &[u8], status| {
        [vec![1], column("a", 253, 0, 0), eof(0), value.to_vec(), eof(status)]
    };
    let both = [select(b"\x03old", 8).as_slice(), &select(b"\x03new", 0)].concat();
    let both: Vec<&[u8]> = both.iter().map(Vec::as_slice).collect();
    let mut it = reader(false, KEPT);
    assert_eq!(play(&mut it, &answer(&both), 3).unwrap(), Reply::Ready { rows: 1, changed: 0 });
    assert_eq!(fields(&it), some(&["new"]));
}

#[test]
fn an_error_has_number_state_and_message_and_leaves_no_rows() {
    let mut it = reader(true, KEPT);
    let error = play(&mut it, &bytes(SYNTAX_ERROR), 1).unwrap_err();
    assert_eq!((error.number(), error.state()), (1064, "42000"));
    assert_eq!(error.engine_code(), Some("1064"));
    assert!(error.is_engine() && !error.is_restartable());
    assert!(error.to_string().contains("near 'SELEC'"), "{error}");
    assert_eq!(it.rows.width, 0);
}

#[test]
fn an_error_amid_rows_ends_the_answer() {
    let mut it = reader(true, KEPT);
    let killed = b"\xff\x25\x05#70100Query execution was interrupted";
    let bytes = answer(&[&[1], &column("a", 253, 0, 0), b"\x01x", killed]);
    let error = play(&mut it, &bytes, 2).unwrap_err();
    assert_eq!(error.number(), 1317);
}

#[test]
fn deadlocks_lock_waits_and_rolled_back_transactions_begin_anew() {
    let told = |number: u16, state: &str| {
        let mut content = vec![0xff];
        content.extend_from_slice(&number.to_le_bytes());
        content.extend_from_slice(format!("#{state}words").as_bytes());
        play(&mut reader(true, KEPT), &answer(&[&content]), 99).unwrap_err()
    };
    for (number, state) in [(1213, "40001"), (1205, "HY000"), (1020, "HY000"), (3101, "40000")] {
        assert!(told(number, state).is_restartable(), "{number}");
    }
    assert!(!told(1062, "23000").is_restartable());
}

#[test]
fn the_status_says_whether_a_transaction_is_open() {
    let mut it = reader(true, KEPT);
    play(&mut it, &answer(&[&ok(0, 3)]), 99).unwrap();
    assert!(it.in_transaction());
    it.expect(1, KEPT);
    play(&mut it, &bytes(SYNTAX_ERROR), 99).unwrap_err();
    assert!(it.in_transaction(), "errors say nothing of it");
    it.roll_back();
    assert!(!it.in_transaction());
}
