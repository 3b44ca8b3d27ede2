//! The session against a real library, which `tests/on_servers` fetches; else they are ignored.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use super::open;
use crate::generate::Source;
use crate::plan;
use crate::plan::error::Error;
use crate::sessions::{Reply, Session, Value};
use crate::testing::Folder;

fn plan_of(library: &Path, folder: &Folder) -> plan::Session {
    plan::Session::Duckdb {
        library: library.to_owned(),
        database: folder.path().join("test.db"),
        settings: vec![("threads".to_owned(), "1".to_owned())],
    }
}

fn library() -> PathBuf {
    PathBuf::from(std::env::var_os("DYNO_TEST_DUCKDB").unwrap())
}

fn texts(session: &dyn Session) -> Vec<Option<String>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    session.rows().fields().iter().map(|field| field.map(text)).collect()
}

#[test]
fn a_file_that_is_no_library_is_refused() {
    let folder = Folder::new();
    let error = open(&plan_of(Path::new("libm.so.6"), &folder)).err().unwrap();
    assert!(error.to_string().starts_with("libm.so.6 is not a DuckDB library: "), "{error}");
    assert_eq!(error.failure(None).blame, "user");
}

#[test]
#[ignore = "needs DYNO_TEST_DUCKDB, the path of a libduckdb.so"]
fn values_of_every_kind_come_back_as_they_went() {
    let folder = Folder::new();
    let mut session = open(&plan_of(&library(), &folder)).unwrap();
    session.query("CREATE TABLE t (a INTEGER, b BIGINT, c VARCHAR, d DOUBLE, e DATE)").unwrap();
    let insert = session.prepare(b"INSERT INTO t VALUES (?, ?, ?, ?, DATE '2020-02-29')").unwrap();
    let long = "é, longer than twelve bytes";
    for (text, real) in [("short", Value::Real(0.5)), (long, Value::Null)] {
        let text = Value::Text(text.as_bytes().to_vec());
        let values = [Value::Integer(-7), Value::Integer((1 << 53) + 1), text, real];
        assert_eq!(session.execute(insert, &values), Ok(Reply::Ready { rows: 0, changed: 1 }));
    }
    let rows = |sql: &str, session: &mut dyn Session| {
        session.query(sql).unwrap();
        texts(session).into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    let it = session.as_mut();
    assert_eq!(rows("SELECT a, c FROM t", it), ["-7", "short", "-7", long]);
    assert_eq!(rows("SELECT sum(b) FROM t", it), ["18014398509481986"]);
    assert_eq!(rows("SELECT d, e FROM t", it), ["0.5", "2020-02-29", "", "2020-02-29"]);
    assert_eq!(rows("SELECT sum(a) FROM t WHERE a > 0", it), [""]);
    assert_eq!(it.rows().columns.to_vec(), ["sum(a)"]);
}

#[test]
#[ignore = "needs DYNO_TEST_DUCKDB, the path of a libduckdb.so"]
fn the_later_of_two_writers_may_begin_anew_after_a_reset() {
    let folder = Folder::new();
    let plan = plan_of(&library(), &folder);
    let (mut one, mut two) = (open(&plan).unwrap(), open(&plan).unwrap());
    one.query("CREATE TABLE t (id SERIAL PRIMARY KEY, a INT)").unwrap();
    one.query("INSERT INTO t (a) VALUES (1), (2)").unwrap();
    one.query("BEGIN; UPDATE t SET a = 3 WHERE id = 1").unwrap();
    two.query("BEGIN").unwrap();
    let error = two.query("UPDATE t SET a = 4 WHERE id = 1").unwrap_err();
    assert!(error.is_restartable(), "{error:?}");
    two.reset().unwrap();
    two.reset().unwrap();
    one.query("COMMIT").unwrap();
    drop(one);
    two.query("UPDATE t SET a = 5 WHERE id = 1").unwrap();
    drop(two);
    let mut again = open(&plan).unwrap();
    again.query("SELECT a FROM t ORDER BY id").unwrap();
    assert_eq!(texts(again.as_ref()), [Some("5".to_owned()), Some("2".to_owned())]);
}

/// Rows of a load, at once.
struct Text(Option<&'static [u8]>);

impl Source for Text {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(self.0.take().unwrap_or_default());
        Ok(())
    }
}

#[test]
#[ignore = "needs DYNO_TEST_DUCKDB, the path of a libduckdb.so"]
fn a_load_is_whole_or_not_at_all() {
    let folder = Folder::new();
    let mut session = open(&plan_of(&library(), &folder)).unwrap();
    session.query("CREATE TABLE t (a INTEGER PRIMARY KEY, b DECIMAL(15,2), c DATE)").unwrap();
    let load = |rows: &'static [u8], session: &mut dyn Session| {
        session.load("COPY t FROM STDIN", Box::new(Text(Some(rows))))
    };
    let it = session.as_mut();
    for bad in [&b"1\t2\t1995-03-15\nx\t2\t1995-03-15\n"[..], b"1\t2\t1995-03-15\n2\t2\n"] {
        assert!(load(bad, it).is_err());
    }
    it.query("BEGIN").unwrap();
    load(b"1\t-0.50\t1995-03-15\n", it).unwrap();
    it.query("ROLLBACK").unwrap();
    let loaded = load(b"2\t-0.50\t1995-03-15\n3\t\\N\t1996-01-01\n", it);
    assert_eq!(loaded, Ok(Reply::Ready { rows: 0, changed: 2 }));
    it.query("SELECT a, b::VARCHAR, c::VARCHAR FROM t ORDER BY a").unwrap();
    let found: Vec<_> = texts(it).into_iter().map(Option::unwrap_or_default).collect();
    assert_eq!(found, ["2", "-0.50", "1995-03-15", "3", "", "1996-01-01"]);
}
