//! What is sent: packets, lengths, prepared executions, and what stands in for them.

use super::sessions::{query, say, say_all};
use super::{
    ADMITTED, ROW_8, SYNTAX_ERROR, Server, Step, TWO_RESULTS_8, after_login, answer, bytes, column,
    ok, packet, wait,
};
use crate::generate::Source;
use crate::plan::error::Error;
use crate::sessions::mysql::answer::{Answer, AnswerShape, FeedState};
use crate::sessions::mysql::packet;
use crate::sessions::mysql::packet::{HEADER, PART, Reader, put_length};
use crate::sessions::mysql::statement::Statement;
use crate::sessions::{Reply, Session, Value};

fn execution(statement: &mut Statement, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(statement.encode(values, &mut out).unwrap());
    assert_eq!(packet::length(&out), out.len() - HEADER);
    out.split_off(HEADER)
}

#[test]
fn types_are_sent_once_and_again_when_they_change() {
    let mut statement = Statement::new(0x0102, b"SELECT ?, ?", 2);
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
    let error = Statement::new(1, b"SELECT ?", 1).encode(&[], &mut out).unwrap_err();
    assert!(error.to_string().starts_with("a statement with 1 parameters got 0 values"));
    assert!(out.is_empty() && !error.is_engine());
}

#[test]
fn what_cannot_be_prepared_is_sent_as_text() {
    let mut statement = Statement::emulated(b"INSERT INTO t VALUES (?, 'a?', ?, ?, ?) -- \"");
    let mut out = Vec::new();
    let text = Value::Text(br"it's \".to_vec());
    let values = [Value::Integer(-3), text, Value::Null, Value::Real(0.25)];
    assert_eq!(statement.encode(&values, &mut out), Ok(false));
    let sent = String::from_utf8(out.split_off(HEADER + 1)).unwrap();
    assert_eq!(sent, r#"INSERT INTO t VALUES (-3, 'a?', 'it\'s \\', NULL, 2.5e-1) -- ""#);
    assert_eq!(out[HEADER], 3);
    assert!(statement.encode(&values[1..], &mut out).is_err());
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

// Several answers in a row: batches, and answers that are nobody's.

const BATCH: AnswerShape = AnswerShape { binary: false, keeps: false, is_batch: true };

fn all(it: &mut Answer, bytes: &[u8]) {
    let (used, state) = it.feed(bytes).unwrap();
    assert_eq!((used, state), (bytes.len(), FeedState::Done));
}

#[test]
fn a_batch_adds_up_rows_and_changes_and_has_no_rows_of_its_own() {
    let mut it = Answer::new(true);
    it.expect(4, BATCH);
    let one = bytes(ROW_8);
    all(&mut it, &[&one[..], &answer(&[&ok(5, 0)]), &bytes(TWO_RESULTS_8), &one].concat());
    assert_eq!(it.outcome().unwrap(), Reply::Ready { rows: 4, changed: 7 });
    assert_eq!(it.rows.width, 0);
}

#[test]
fn a_batch_that_keeps_has_a_result_for_each_request_whatever_its_protocol() {
    let mut it = Answer::new(true);
    it.expect_batch(&[true, false, false], true);
    let text_row = answer(&[b"\x01", &column("a", 253, 0, 0), b"\x02hi", b"\xfe\0\0\0\0\0\0"]);
    all(&mut it, &[&bytes(ROW_8)[..], &answer(&[&ok(5, 0)]), &text_row].concat());
    assert_eq!(it.outcome().unwrap(), Reply::Ready { rows: 2, changed: 5 });
    let shapes: Vec<_> = it.rows.results.iter().map(|it| (it.width, it.rows, it.changed)).collect();
    assert_eq!(shapes, [(2, 1, 0), (0, 0, 5), (1, 1, 0)]);
    let fields: Vec<_> = it.rows.fields_of(2).iter().collect();
    assert_eq!(fields, [Some(&b"hi"[..])]);
    it.expect(1, AnswerShape { binary: true, keeps: true, is_batch: false });
    all(&mut it, &bytes(ROW_8));
    assert!(it.rows.results.is_empty() && it.rows.columns.len() == 2, "as ever afterwards");
}

#[test]
fn the_first_error_is_the_batchs_and_the_others_are_read_all_the_same() {
    let mut it = Answer::new(true);
    it.expect(5, BATCH);
    let duplicate = answer(&[b"\xff\x26\x04#23000Duplicate entry"]);
    let (before, after) = (answer(&[&ok(2, 0)]), answer(&[&ok(1, 0)]));
    all(&mut it, &[before, bytes(SYNTAX_ERROR), duplicate, after, bytes(ROW_8)].concat());
    let error = it.outcome().unwrap_err();
    assert_eq!((error.number(), error.changed()), (1064, 3));
}

#[test]
fn the_answer_of_our_own_rollback_is_skipped() {
    let mut it = Answer::new(true);
    it.roll_back();
    it.expect(1, AnswerShape { binary: true, keeps: true, is_batch: false });
    all(&mut it, &[answer(&[&ok(0, 2)]), bytes(ROW_8)].concat());
    assert_eq!(it.outcome().unwrap(), Reply::Ready { rows: 1, changed: 0 });
    assert_eq!(it.rows.fields().iter().count(), 2);
}

#[test]
fn an_answer_abandoned_amid_its_rows_is_passed_over() {
    let mut it = Answer::new(true);
    it.expect(1, AnswerShape { binary: true, keeps: true, is_batch: false });
    let one = bytes(ROW_8);
    for cut in 1..one.len() {
        let mut inbox = one[..cut].to_vec();
        let (used, _) = it.feed(&inbox).unwrap();
        inbox.drain(..used);
        it.abandon();
        it.expect(1, AnswerShape { binary: true, keeps: true, is_batch: false });
        inbox.extend_from_slice(&one[cut..]);
        inbox.extend_from_slice(&one);
        all(&mut it, &inbox);
        assert_eq!(it.outcome().unwrap(), Reply::Ready { rows: 1, changed: 0 }, "cut at {cut}");
        assert_eq!(it.rows.fields().iter().count(), 2);
        it.expect(1, AnswerShape { binary: true, keeps: true, is_batch: false });
    }
}

#[test]
fn results_that_follow_the_first_of_a_request_may_have_been_counted_as_statements() {
    let texts = answer(&[&ok(1, 10), &ok(1, 10), &ok(1, 2)]);
    let torn = answer(&[&ok(1, 10)]);
    let first = after_login(&[Step::Hear, Step::Say(texts), Step::Hear, Step::Say(torn)]);
    let server = Server::start(vec![first, after_login(&[Step::Hear])]);
    let mut session = server.open().unwrap();
    assert_eq!(query(session.as_mut(), "A; B; C").unwrap(), Reply::Ready { rows: 0, changed: 3 });
    let counts = session.take_counts();
    assert_eq!((counts.claimed, counts.further), (Some(1), 2));
    query(session.as_mut(), "A; B").unwrap_err();
    session.reset().unwrap();
    let counts = session.take_counts();
    assert_eq!((counts.claimed, counts.further), (Some(1), 1), "on the lost connection");
    assert_eq!(session.take_counts().further, 0);
}

// Bulk loads, and a server that asks for files.

struct Rows(Vec<&'static str>);

impl Source for Rows {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(self.0.pop().unwrap_or_default().as_bytes());
        Ok(())
    }
}

fn load(session: &mut dyn Session) -> Result<Reply, Error> {
    let sent = session.load("LOAD DATA", Box::new(Rows(vec!["2\tb\n", "1\ta\n"])));
    wait(session, sent)
}

#[test]
fn a_bulk_load_streams_its_rows_and_an_empty_packet() {
    let hears = [Step::Hear, Step::Hear, Step::Hear];
    let asked = [Step::Hear, say_all(&[b"\xfbrows"])];
    let done = [Step::Say(packet(5, &ok(2, 2)))];
    let server = Server::start(vec![after_login(&[&asked[..], &hears, &done].concat())]);
    let mut session = server.open().unwrap();
    let reply = load(session.as_mut()).unwrap();
    assert_eq!(reply, Reply::Ready { rows: 0, changed: 2 });
    drop(session);
    let heard = server.received();
    assert_eq!(heard[2..], [b"1\ta\n".to_vec(), b"2\tb\n".to_vec(), Vec::new()]);
}

#[test]
fn a_bulk_load_may_be_refused_before_or_amid_its_rows() {
    let denied = b"\xff\x6c\x0f#42000Loading local data is disabled";
    let server = Server::start(vec![after_login(&[Step::Hear, say_all(&[denied])])]);
    let error = load(server.open().unwrap().as_mut()).unwrap_err();
    assert_eq!(error.failure(None).blame, "user");
    let duplicate = packet(5, b"\xff\x26\x04#23000Duplicate entry");
    let hears = [Step::Hear, Step::Hear, Step::Hear, Step::Say(duplicate)];
    let asked = [Step::Hear, say_all(&[b"\xfbrows"])];
    let more = [Step::Hear, say_all(&[&ok(0, 2)])];
    let server = Server::start(vec![after_login(&[&asked[..], &hears, &more].concat())]);
    let mut session = server.open().unwrap();
    assert_eq!(load(session.as_mut()).unwrap_err().number(), 1062);
    query(session.as_mut(), "SELECT 1").unwrap();
}

#[test]
fn a_server_that_asks_for_a_file_unasked_gets_an_empty_packet() {
    let refused = packet(3, b"\xff\x02\x00#HY000File not found");
    let asked = [Step::Hear, say_all(&[b"\xfb/etc/passwd"]), Step::Hear, Step::Say(refused)];
    let server =
        Server::start(vec![after_login(&[&asked[..], &[Step::Hear, say(ADMITTED)]].concat())]);
    let mut session = server.open().unwrap();
    let error = query(session.as_mut(), "SELECT 1").unwrap_err();
    assert_eq!(error.engine_code(), Some("local-infile"));
    query(session.as_mut(), "SELECT 1").unwrap();
    drop(session);
    assert_eq!(server.received()[2], b"");
}

#[test]
fn a_server_that_keeps_up_with_a_bulk_load_gets_all_of_it() {
    let rows: &'static str = "x".repeat(64 * 1024).leak();
    for _ in 0..20 {
        let asked = [Step::Hear, say_all(&[b"\xfbrows"])];
        let done = [Step::Say(packet(19, &ok(16, 2)))];
        let hears: Vec<Step> = (0..17).map(|_| Step::Hear).collect();
        let server = Server::start(vec![after_login(&[&asked[..], &hears, &done].concat())]);
        let mut session = server.open().unwrap();
        let sent = session.load("LOAD DATA", Box::new(Rows(vec![rows; 16])));
        let reply = wait(session.as_mut(), sent).unwrap();
        assert_eq!(reply, Reply::Ready { rows: 0, changed: 16 });
    }
}
