//! Each form of a statement, and what is refused.

#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use super::{Change, Length, Operand, Selection, Statement, read};
use crate::sessions::Value;

fn number(number: i64) -> Operand {
    Operand::Literal(Value::Integer(number))
}

fn text(text: &str) -> Operand {
    Operand::Literal(Value::Text(text.into()))
}

fn keys(keys: Vec<Operand>) -> Selection {
    Selection::Keys("k".into(), keys)
}

fn selected(rows: &str) -> Selection {
    match read(&format!("SELECT * FROM t {rows}")).unwrap().0 {
        Statement::Select { rows, .. } => rows,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tables_are_made_with_one_key_wherever_it_is_named() {
    let wanted = Statement::Create {
        table: "t".into(),
        key: "k".into(),
        columns: vec!["v".into(), "w".into()],
    };
    for sql in [
        "CREATE TABLE t (k BIGINT NOT NULL PRIMARY KEY, v VARCHAR(9) NOT NULL, w DECIMAL(9, 2))",
        "create table t (v CHAR(3) DEFAULT '' NOT NULL, \"w\" INT, k SERIAL, PRIMARY KEY (k));",
    ] {
        assert_eq!(read(sql).unwrap(), (wanted.clone(), 0), "{sql}");
    }
}

#[test]
fn rows_are_written_by_their_keys_with_parameters_or_literals() {
    let (table, columns) = ("t".to_owned(), vec!["k".to_owned(), "v".to_owned()]);
    let values = vec![number(-1), text("it's"), Operand::Parameter(0), Operand::Parameter(1)];
    let sql = "INSERT INTO t (k, v) VALUES(-1,'it''s'),(?,?)";
    assert_eq!(read(sql).unwrap(), (Statement::Insert { table, columns, values }, 2));

    let changes = vec![
        ("v".to_owned(), Change::To(Operand::Parameter(0))),
        ("n".to_owned(), Change::Plus(1)),
    ];
    let rows = keys(vec![Operand::Parameter(1), number(7)]);
    let update = Statement::Update { table: "t".into(), changes, rows };
    assert_eq!(read("UPDATE t SET v = ?, n=n+1 WHERE k IN (?, 7)").unwrap(), (update, 2));

    let delete = Statement::Delete { table: "t".into(), rows: keys(vec![Operand::Parameter(0)]) };
    assert_eq!(read("DELETE FROM t WHERE k=?").unwrap(), (delete, 1));
}

#[test]
fn rows_are_read_by_key_by_range_or_all_and_counted() {
    let range = Selection::Between("k".into(), number(1), Operand::Parameter(0));
    assert_eq!(selected("WHERE k BETWEEN 1 AND ?"), range);
    let from = Selection::From("k".into(), Operand::Parameter(0), Operand::Parameter(1));
    assert_eq!(selected("WHERE k >= ? ORDER BY k LIMIT ?"), from);
    let length = Length { column: "v".into(), order: Ordering::Less, bytes: 0 };
    assert_eq!(selected("WHERE LENGTH(v) < 0"), Selection::All(vec![length]));
    let all = |table: &str| (table.to_owned(), Selection::All(Vec::new()));
    for (sql, parts) in [
        ("SELECT COUNT(*) FROM t", vec![all("t")]),
        (
            "SELECT (SELECT count(*) FROM t) + (SELECT COUNT(*) FROM \"u v\")",
            vec![all("t"), all("u v")],
        ),
    ] {
        assert_eq!(read(sql).unwrap(), (Statement::Count(parts), 0), "{sql}");
    }
}

#[test]
fn all_other_sql_is_refused_by_name() {
    for sql in [
        "",
        "SELECT 1",
        "SELECT SUM(k) FROM t WHERE id BETWEEN ? AND ?",
        "SELECT c FROM t WHERE id BETWEEN 1 AND 2 ORDER BY c",
        "SELECT DISTINCT c FROM t",
        "SELECT v FROM t WHERE k >= 1 ORDER BY v LIMIT 1",
        "SELECT v FROM t WHERE k = 'it",
        "SELECT v FROM t WHERE k = 1; DROP TABLE IF EXISTS t",
        "INSERT INTO t (k, v) VALUES (1)",
        "CREATE TABLE t (k INT, v INT)",
        "CREATE INDEX k_1 ON sbtest1(k)",
        "DROP TABLE t",
    ] {
        let error = read(sql).unwrap_err().to_string();
        assert!(error.contains("does not know such a statement"), "{sql}: {error}");
    }
}
