//! Answers of every shape, whole and byte by byte.

use super::{
    ROW_5, ROW_8, SYNTAX_ERROR, TWO_RESULTS_5, TWO_RESULTS_8, answer, bytes, column, eof, ok,
    packet,
};
use crate::plan::error::Error;
use crate::sessions::Reply;
use crate::sessions::mysql::answer::{Answer, AnswerShape, FeedState};
use crate::sessions::mysql::packet::{PART, Reader};
use crate::sessions::mysql::rows::Column;

const KEPT: AnswerShape = AnswerShape { binary: false, keeps: true, is_batch: false };
const COUNTED: AnswerShape = AnswerShape { binary: false, keeps: false, is_batch: false };
const BINARY: AnswerShape = AnswerShape { binary: true, ..KEPT };

fn reader(deprecates_eof: bool, asked: AnswerShape) -> Answer {
    let mut it = Answer::new(deprecates_eof);
    it.expect(1, asked);
    it
}

/// Feeds bytes in pieces, as a line would, and says what came of it.
fn play(it: &mut Answer, bytes: &[u8], piece: usize) -> Result<Reply, Error> {
    let mut inbox = Vec::new();
    for piece in bytes.chunks(piece) {
        inbox.extend_from_slice(piece);
        let (used, state) = it.feed(&inbox)?;
        inbox.drain(..used);
        if state == FeedState::Done {
            assert!(inbox.is_empty(), "{} bytes were left over", inbox.len());
            return it.outcome();
        }
    }
    panic!("the answer has no end");
}

fn fields(it: &Answer) -> Vec<Option<String>> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    it.rows.fields().iter().map(|field| field.map(text)).collect()
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
            assert_eq!(it.rows.columns.to_vec(), ["a", "b"]);
        }
    }
}

#[test]
fn unread_rows_are_counted_and_not_copied() {
    for piece in [1, 4, 4096] {
        let mut it = reader(true, COUNTED);
        let reply = play(&mut it, &bytes(ROW_8), piece).unwrap();
        assert_eq!(reply, Reply::Ready { rows: 1, changed: 0 });
        assert_eq!(it.rows.width, 2);
        assert!(it.rows.bytes.capacity() == 0 && it.rows.columns.bytes.capacity() == 0);
    }
}

#[test]
fn several_results_are_kept_each_by_itself_and_what_they_brought_and_changed_adds_up() {
    for (deprecates_eof, transcript) in [(false, TWO_RESULTS_5), (true, TWO_RESULTS_8)] {
        let mut it = reader(deprecates_eof, KEPT);
        let reply = play(&mut it, &bytes(transcript), 4096).unwrap();
        assert_eq!(reply, Reply::Ready { rows: 2, changed: 2 });
        assert_eq!(fields(&it), some(&["z", "z"]));
    }
    let select = |name, value: &[u8], status| {
        [vec![1], column(name, 253, 0, 0), eof(0), value.to_vec(), eof(status)]
    };
    let both = [select("a", b"\x03old", 8).as_slice(), &select("b", b"\x05newer", 0)].concat();
    let both: Vec<&[u8]> = both.iter().map(Vec::as_slice).collect();
    let mut it = reader(false, KEPT);
    assert_eq!(play(&mut it, &answer(&both), 3).unwrap(), Reply::Ready { rows: 2, changed: 0 });
    let named = |name: &str, value: &[u8]| vec![(name.to_owned(), Some(value.to_vec()))];
    let (first, second) = (named("a", b"old"), named("b", b"newer"));
    assert_eq!(it.rows.fields_of(0).last_row(), Some(first.clone()));
    assert_eq!(
        it.rows.results.iter().map(|it| (it.width, it.rows)).collect::<Vec<_>>(),
        [(1, 1); 2]
    );
    assert_eq!(it.rows.last_rows(false).first(), Some(&second));
    assert_eq!(it.rows.last_rows(true), [first, second]);
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
fn more_changed_rows_than_any_table_has_are_no_answer() {
    let most = [&[0, 0xfe][..], &[0xff; 8], &[0, 2, 0, 0, 0]].concat();
    let error = play(&mut reader(true, KEPT), &answer(&[&most]), 99).unwrap_err();
    assert!(error.to_string().contains("an impossible number of changed rows"), "{error}");
}

#[test]
fn an_errors_long_text_is_shortened() {
    let text = "x".repeat(262_144);
    let content = [b"\xff\x28\x04#42000".as_slice(), text.as_bytes()].concat();
    let error = play(&mut reader(true, KEPT), &answer(&[&content]), 1 << 20).unwrap_err();
    assert!(error.to_string().ends_with("xxx... (261744 more)"), "{error}");
    assert!(error.to_string().len() < 600 && error.engine_code() == Some("1064"));
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
fn a_script_is_told_the_servers_message_whole() {
    let words = format!("Duplicate entry '{}' for key 'PRIMARY'", "x".repeat(600));
    let content = [&b"\xff\x26\x04#23000"[..], words.as_bytes()].concat();
    let error = play(&mut reader(true, KEPT), &answer(&[&content]), 99).unwrap_err();
    assert_eq!((error.number(), error.engine_words()), (1062, words));
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

// Binary fields, as the text protocol gives them (compared with servers in tests/on_servers).

fn text(kind: u8, flags: u8, decimals: u8, field: &[u8]) -> String {
    let definition = column("a", kind, flags, decimals);
    let (_, column) = Column::parse(&definition).unwrap();
    let (mut reader, mut out) = (Reader(field), Vec::new());
    column.put(&mut reader, &mut out).unwrap();
    assert!(reader.0.is_empty(), "{} bytes were not read", reader.0.len());
    String::from_utf8(out).unwrap()
}

const UNSIGNED: u8 = 32;
const ZEROFILL: u8 = 64;

#[test]
fn whole_numbers() {
    assert_eq!(text(1, 0, 0, &[0xff]), "-1");
    assert_eq!(text(1, UNSIGNED, 0, &[0xff]), "255");
    assert_eq!(text(2, 0, 0, &(-300i16).to_le_bytes()), "-300");
    assert_eq!(text(3, UNSIGNED, 0, &u32::MAX.to_le_bytes()), "4294967295");
    assert_eq!(text(8, 0, 0, &i64::MIN.to_le_bytes()), "-9223372036854775808");
    assert_eq!(text(8, UNSIGNED, 0, &u64::MAX.to_le_bytes()), "18446744073709551615");
    // The definition in these tests says five digits.
    assert_eq!(text(3, UNSIGNED | ZEROFILL, 0, &7u32.to_le_bytes()), "00007");
}

#[test]
fn numbers_with_fractions() {
    let double = |n: f64| text(5, 0, 31, &n.to_le_bytes());
    assert_eq!(double(0.1), "0.1");
    assert_eq!(double(1.0), "1");
    assert_eq!(double(-0.000_012_5), "-0.0000125");
    assert_eq!(double(1e300), "1e300");
    assert_eq!(text(5, 0, 2, &1.5f64.to_le_bytes()), "1.50");
    assert_eq!(text(4, 0, 31, &0.1f32.to_le_bytes()), "0.1");
    assert_eq!(text(4, 0, 31, &16_777_216f32.to_le_bytes()), "16777200");
    assert_eq!(text(246, 0, 2, b"\x0512.30"), "12.30");
}

#[test]
fn dates_and_times() {
    assert_eq!(text(10, 0, 0, &[4, 0xe7, 7, 2, 28]), "2023-02-28");
    assert_eq!(text(10, 0, 0, &[0]), "0000-00-00");
    assert_eq!(text(12, 0, 0, &[4, 0xe7, 7, 2, 28]), "2023-02-28 00:00:00");
    assert_eq!(text(12, 0, 0, &[7, 0xe7, 7, 2, 28, 1, 2, 3]), "2023-02-28 01:02:03");
    let parts = [11, 0xe7, 7, 2, 28, 1, 2, 3, 0x40, 0xe2, 1, 0];
    assert_eq!(text(7, 0, 6, &parts), "2023-02-28 01:02:03.123456");
    assert_eq!(text(7, 0, 3, &parts), "2023-02-28 01:02:03.123");
    assert_eq!(text(11, 0, 0, &[0]), "00:00:00");
    assert_eq!(text(11, 0, 0, &[8, 1, 2, 0, 0, 0, 3, 4, 5]), "-51:04:05");
    assert_eq!(text(11, 0, 1, &[12, 0, 0, 0, 0, 0, 3, 4, 5, 0x40, 0xe2, 1, 0]), "03:04:05.1");
}

// Rows as text, whichever protocol they came in.

fn text_of(columns: &[Vec<u8>], row: &[u8], binary: bool) -> Vec<Option<String>> {
    let head = [columns.len() as u8];
    let end = [0xfe, 0, 0, 0, 0, 0, 0];
    let definitions = columns.iter().map(Vec::as_slice);
    let contents: Vec<&[u8]> =
        std::iter::once(&head[..]).chain(definitions).chain([row, &end]).collect();
    let mut it = Answer::new(true);
    it.expect(1, AnswerShape { binary, keeps: true, is_batch: false });
    let bytes = answer(&contents);
    assert_eq!(it.feed(&bytes).unwrap(), (bytes.len(), FeedState::Done));
    it.outcome().unwrap();
    it.rows.fields().iter().map(|it| it.map(|it| String::from_utf8(it.to_vec()).unwrap())).collect()
}

#[test]
fn null_is_not_an_empty_text() {
    let columns = [column("a", 253, 0, 0), column("b", 253, 0, 0), column("c", 253, 0, 0)];
    let fields = text_of(&columns, b"\xfb\x00\x01x", false);
    assert_eq!(fields, [None, Some(String::new()), Some("x".to_owned())]);
}

#[test]
fn a_row_may_begin_with_a_text_of_any_length() {
    for (length, head) in [(250, vec![250]), (251, vec![0xfc]), (70_000, vec![0xfd])] {
        let bytes = usize::from(head[0] > 250) * 2 + usize::from(head[0] > 0xfc);
        let mut row = head;
        row.extend_from_slice(&u32::to_le_bytes(length)[..bytes]);
        row.resize(row.len() + length as usize, b'x');
        let fields = text_of(&[column("a", 252, 0, 0)], &row, false);
        assert_eq!(fields, [Some("x".repeat(length as usize))]);
    }
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
            it.expect(1, AnswerShape { binary: false, keeps, is_batch: false });
            assert_eq!(
                it.feed(&bytes).unwrap(),
                (bytes.len(), FeedState::Done),
                "{length} {keeps}"
            );
            let reply = it.outcome().unwrap();
            assert_eq!(reply, crate::sessions::Reply::Ready { rows: 1, changed: 0 });
            assert_eq!(it.rows.bytes.len(), if keeps { length } else { 0 });
        }
    }
}
