//! Statements as bytes, and replies as answers.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::answer::{Answer, Expected};
use super::statement::{Column, Play, Table};
use crate::sessions::{Reply, key_value};

fn table() -> Arc<Table> {
    Arc::new(Table { name: "kv".into(), key: "k".into(), value: "v".into() })
}

fn play(sql: &str) -> Result<Play, String> {
    let (statement, _) = key_value::read(sql).map_err(|it| it.to_string())?;
    Play::new(statement, &mut |_| Ok(table())).map_err(|it| it.to_string())
}

/// What replies say to what is expected, in two pieces each.
fn answer(expected: Vec<Expected>, keys: &[i64], bytes: &[u8]) -> (Result<Reply, String>, Answer) {
    let mut answer = Answer::default();
    answer.begin(true);
    if !keys.is_empty() {
        let columns = Arc::new([Column::Key, Column::Value]);
        answer.expect_rows(table(), columns, keys);
    }
    expected.into_iter().for_each(|it| answer.expect(it));
    let (first, _) = bytes.split_at(bytes.len() / 2);
    let used = answer.feed(first).unwrap();
    let used = used + answer.feed(&bytes[used..]).unwrap();
    assert_eq!((used, answer.to_come()), (bytes.len(), 0));
    (answer.outcome().map_err(|it| it.to_string()), answer)
}

#[test]
fn what_these_servers_cannot_do_is_refused_by_name() {
    for (sql, why) in [
        ("SELECT k, v FROM kv WHERE k >= ? ORDER BY k LIMIT ?", "scans no range"),
        ("SELECT v FROM kv WHERE k BETWEEN 1 AND 2", "scans no range"),
        ("SELECT k FROM kv WHERE v = 'a'", "by their key alone"),
        ("UPDATE kv SET v = v + 1 WHERE k = 1", "sets the value"),
        ("CREATE TABLE t (k INT PRIMARY KEY, v INT, w INT)", "one value"),
        ("SELECT w FROM kv WHERE k = 1", "no column w"),
        ("SELECT COUNT(*) FROM kv WHERE k = 1", "of all keys"),
        ("SHOW STATUS", "no such command"),
    ] {
        let refused = play(sql).unwrap_err();
        assert!(refused.contains(why), "{sql}: {refused}");
    }
    assert!(play("SELECT v, k FROM kv WHERE k IN (?, ?)").is_ok());
}

#[test]
fn values_become_rows_with_the_keys_that_were_asked_for() {
    let (reply, answer) = answer(vec![], &[3, 17, 20], b"*3\r\n$1\r\na\r\n$-1\r\n$2\r\nbc\r\n");
    assert_eq!(reply, Ok(Reply::Ready { rows: 2, changed: 0 }));
    let fields: Vec<_> = answer.rows.fields().iter().map(|it| it.unwrap().to_vec()).collect();
    assert_eq!(fields, [&b"3"[..], b"a", b"20", b"bc"]);
    assert_eq!(answer.rows.columns.to_vec(), ["k", "v"]);
}

#[test]
fn a_key_that_is_there_makes_an_insert_fail_at_once_or_at_the_end_of_its_transaction() {
    let (reply, _) = answer(vec![Expected::Inserted(1)], &[], b"$-1\r\n");
    assert!(reply.unwrap_err().contains("there already"));
    let queued = || vec![Expected::Ignored, Expected::Queued(2), Expected::Executed];
    let (reply, _) = answer(queued(), &[], b"+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
    assert_eq!(reply, Ok(Reply::Ready { rows: 0, changed: 2 }));
    let (reply, _) = answer(queued(), &[], b"+OK\r\n+QUEUED\r\n*1\r\n:0\r\n");
    assert!(reply.unwrap_err().contains("there already"));
}

#[test]
fn an_update_of_several_keys_counts_those_that_were_there() {
    let expected = vec![Expected::Part, Expected::Part, Expected::Part, Expected::UpdatedAll];
    let (reply, _) = answer(expected, &[], b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$-1\r\n");
    assert_eq!(reply, Ok(Reply::Ready { rows: 0, changed: 1 }));
}

#[test]
fn the_first_refusal_is_told_and_what_nobody_waits_for_says_nothing() {
    let (reply, _) = answer(
        vec![Expected::Deleted, Expected::Updated, Expected::Deleted],
        &[],
        b":1\r\n-OOM no memory\r\n-ERR other\r\n",
    );
    assert!(reply.unwrap_err().contains("OOM no memory"));
    let mut answer = Answer::default();
    answer.begin(true);
    answer.expect_rows(table(), Arc::new([Column::Value]), &[1]);
    answer.abandon();
    answer.begin(true);
    answer.expect(Expected::Deleted);
    answer.feed(b"$1\r\na\r\n:4\r\n").unwrap();
    assert_eq!(answer.outcome().unwrap(), Reply::Ready { rows: 0, changed: 4 });
}

#[test]
fn a_reply_of_another_kind_breaks_the_protocol() {
    let mut answer = Answer::default();
    answer.begin(true);
    answer.expect(Expected::Updated);
    assert!(answer.feed(b"*0\r\n").is_err());
}
