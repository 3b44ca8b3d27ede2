//! Several answers in a row: batches, and answers that are nobody's.

use super::super::answer::{Answer, Asked};
use super::super::framing::Fed;
use super::server::{Server, Step, admitted};
use super::sessions::query;
use super::transcripts::{ROW_8, SYNTAX_ERROR, TWO_RESULTS_8, bytes};
use super::{answer, ok};
use crate::sessions::Reply;

const BATCH: Asked = Asked { binary: false, keeps: false, is_batch: true };

fn all(it: &mut Answer, bytes: &[u8]) {
    let (used, fed) = it.feed(bytes).unwrap();
    assert_eq!((used, fed), (bytes.len(), Fed::Done));
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
fn the_first_error_is_the_batchs_and_the_others_are_read_all_the_same() {
    let mut it = Answer::new(true);
    it.expect(3, BATCH);
    let duplicate = answer(&[b"\xff\x26\x04#23000Duplicate entry"]);
    all(&mut it, &[bytes(SYNTAX_ERROR), duplicate, bytes(ROW_8)].concat());
    assert_eq!(it.outcome().unwrap_err().number(), 1064);
}

#[test]
fn the_answer_of_a_rollback_is_nobodys() {
    let mut it = Answer::new(true);
    it.roll_back();
    it.expect(1, Asked { binary: true, keeps: true, is_batch: false });
    all(&mut it, &[answer(&[&ok(0, 2)]), bytes(ROW_8)].concat());
    assert_eq!(it.outcome().unwrap(), Reply::Ready { rows: 1, changed: 0 });
    assert_eq!(it.rows.fields().count(), 2);
}

#[test]
fn an_answer_abandoned_amid_its_rows_is_passed_over() {
    let mut it = Answer::new(true);
    it.expect(1, Asked { binary: true, keeps: true, is_batch: false });
    let one = bytes(ROW_8);
    for cut in 1..one.len() {
        let mut inbox = one[..cut].to_vec();
        let (used, _) = it.feed(&inbox).unwrap();
        inbox.drain(..used);
        it.abandon();
        it.expect(1, Asked { binary: true, keeps: true, is_batch: false });
        inbox.extend_from_slice(&one[cut..]);
        inbox.extend_from_slice(&one);
        all(&mut it, &inbox);
        assert_eq!(it.outcome().unwrap(), Reply::Ready { rows: 1, changed: 0 }, "cut at {cut}");
        assert_eq!(it.rows.fields().count(), 2);
        it.expect(1, Asked { binary: true, keeps: true, is_batch: false });
    }
}

#[test]
fn results_that_follow_the_first_of_a_request_may_have_been_counted_as_statements() {
    let texts = answer(&[&ok(1, 10), &ok(1, 10), &ok(1, 2)]);
    let torn = answer(&[&ok(1, 10)]);
    let first = admitted(&[Step::Hear, Step::Say(texts), Step::Hear, Step::Say(torn)]);
    let server = Server::start(vec![first, admitted(&[Step::Hear])]);
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
