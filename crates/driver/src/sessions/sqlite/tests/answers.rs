//! Rows, and counts of them.

use super::{asked, opened, texts};
use crate::sessions::{Reply, Session, Value};
use crate::testing::Folder;

#[test]
fn values_of_every_kind_come_back_as_they_went() {
    let folder = Folder::new();
    let mut session = opened(&folder, &[]);
    session.query("CREATE TABLE t (a, b, c, d)").unwrap();
    let insert = session.prepare("INSERT INTO t VALUES (?, ?, ?, ?)").unwrap();
    let big = (1 << 53) + 1;
    let values =
        [Value::Integer(big), Value::Real(0.5), Value::Text(b"\xc3\xa9\0x".to_vec()), Value::Null];
    let reply = session.execute(insert, &values).unwrap();
    assert_eq!(reply, Reply::Ready { rows: 0, changed: 1 });
    let row = asked(session.as_mut(), "SELECT *, typeof(a), typeof(b), '' FROM t");
    let wanted = ["9007199254740993", "0.5", "é\0x"].map(|it| Some(it.to_owned()));
    assert_eq!(row[..3], wanted);
    assert_eq!(row[3], None);
    assert_eq!(row[4..], ["integer", "real", ""].map(|it| Some(it.to_owned())));
    assert_eq!(session.rows().columns[..2], ["a", "b"]);
}

#[test]
fn changed_rows_are_those_of_this_statement() {
    let folder = Folder::new();
    let mut session = opened(&folder, &[]);
    session.query("CREATE TABLE t (a)").unwrap();
    let changed = |session: &mut dyn Session, sql| match session.query(sql).unwrap() {
        Reply::Ready { changed, .. } => changed,
        Reply::Pending { .. } => panic!("an embedded engine answers at once"),
    };
    assert_eq!(changed(session.as_mut(), "INSERT INTO t VALUES (1), (2), (3)"), 3);
    assert_eq!(changed(session.as_mut(), "BEGIN"), 0);
    assert_eq!(changed(session.as_mut(), "UPDATE t SET a = 0 WHERE a > 1"), 2);
    assert_eq!(changed(session.as_mut(), "CREATE TABLE u (a)"), 0);
    assert_eq!(changed(session.as_mut(), "SELECT * FROM t"), 0);
    assert_eq!(changed(session.as_mut(), "COMMIT; -- done"), 0);
}

#[test]
fn a_statement_survives_a_changed_schema_and_its_own_failure() {
    let folder = Folder::new();
    let mut session = opened(&folder, &[]);
    session.query("CREATE TABLE t (a PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let all = session.prepare("SELECT * FROM t").unwrap();
    let insert = session.prepare("INSERT INTO t (a) VALUES (?)").unwrap();
    session.query("ALTER TABLE t ADD COLUMN b DEFAULT 'x'").unwrap();
    let error = session.execute(insert, &[Value::Integer(1)]).unwrap_err();
    assert_eq!(error.engine_code(), Some("SQLITE_CONSTRAINT_PRIMARYKEY"));
    session.execute(insert, &[Value::Integer(2)]).unwrap();
    let reply = session.execute(all, &[]).unwrap();
    assert_eq!(reply, Reply::Ready { rows: 2, changed: 0 });
    assert_eq!(texts(session.as_ref()).len(), 4);
    assert_eq!(session.rows().columns, ["a", "b"]);
}
