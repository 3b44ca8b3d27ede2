//! The session against the system's SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use super::{failure, open};
use crate::generate::Source;
use crate::plan;
use crate::plan::error::Error;
use crate::sessions::{EngineCounts, Reply, Session, Value};
use crate::testing::Folder;

fn plan_of(folder: &Folder, pragmas: &[(&str, &str)]) -> plan::Session {
    let pragmas = pragmas.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    plan::Session::Sqlite {
        library: PathBuf::from("libsqlite3.so.0"),
        database: folder.path().join("test.db"),
        pragmas: pragmas.collect(),
    }
}

fn open_session(folder: &Folder, pragmas: &[(&str, &str)]) -> Box<dyn Session> {
    open(&plan_of(folder, pragmas)).unwrap()
}

fn texts(session: &dyn Session) -> Vec<Option<String>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    session.rows().fields().iter().map(|field| field.map(text)).collect()
}

fn ask(session: &mut dyn Session, sql: &str) -> Vec<Option<String>> {
    session.query(sql).unwrap();
    texts(session)
}

// Rows, and counts of them.

#[test]
fn values_of_every_kind_come_back_as_they_went() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
    session.query("CREATE TABLE t (a, b, c, d)").unwrap();
    let insert = session.prepare(b"INSERT INTO t VALUES (?, ?, ?, ?)").unwrap();
    let big = (1 << 53) + 1;
    let values =
        [Value::Integer(big), Value::Real(0.5), Value::Text(b"\xc3\xa9\0x".to_vec()), Value::Null];
    let reply = session.execute(insert, &values).unwrap();
    assert_eq!(reply, Reply::Ready { rows: 0, changed: 1 });
    let row = ask(session.as_mut(), "SELECT *, typeof(a), typeof(b), '' FROM t");
    let wanted = ["9007199254740993", "0.5", "é\0x"].map(|it| Some(it.to_owned()));
    assert_eq!(row[..3], wanted);
    assert_eq!(row[3], None);
    assert_eq!(row[4..], ["integer", "real", ""].map(|it| Some(it.to_owned())));
    assert_eq!(session.rows().columns.to_vec()[..2], ["a", "b"]);
}

#[test]
fn changed_rows_are_those_of_this_statement() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
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
    let mut session = open_session(&folder, &[]);
    session.query("CREATE TABLE t (a PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let all = session.prepare(b"SELECT * FROM t").unwrap();
    let insert = session.prepare(b"INSERT INTO t (a) VALUES (?)").unwrap();
    session.query("ALTER TABLE t ADD COLUMN b DEFAULT 'x'").unwrap();
    let error = session.execute(insert, &[Value::Integer(1)]).unwrap_err();
    assert_eq!(error.engine_code(), Some("SQLITE_CONSTRAINT_PRIMARYKEY"));
    session.execute(insert, &[Value::Integer(2)]).unwrap();
    let reply = session.execute(all, &[]).unwrap();
    assert_eq!(reply, Reply::Ready { rows: 2, changed: 0 });
    assert_eq!(texts(session.as_ref()).len(), 4);
    assert_eq!(session.rows().columns.to_vec(), ["a", "b"]);
}

// What goes wrong, and whose fault it is.

#[test]
fn a_full_disk_is_the_hosts_fault() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[("max_page_count", "2")]);
    let error = session.query("CREATE TABLE t (a); CREATE TABLE u (a)").unwrap_err();
    assert_eq!(error.failure(None).blame, "host");
    assert!(error.failure(None).hint.contains("disk is full"), "{error:?}");
}

#[test]
fn foreign_words_get_the_engines_words_and_a_hint() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
    let error = session.query("CREATE TABLE t (a INT) ENGINE = innodb").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the engine does not understand a statement: near \"=\": syntax error"
    );
    assert!(error.failure(None).hint.starts_with("is it written for another engine? CREATE TABLE"));
    let error = session.prepare(b"SELECT sleep(1)").unwrap_err();
    assert_eq!(error.state(), "42883");
}

#[test]
fn damaged_data_have_the_sqlstate_of_damage() {
    for code in [11, 26] {
        assert_eq!(failure::error(code, "malformed", "SELECT 1").state(), "XX001");
    }
}

#[test]
fn wrong_use_is_the_users_error() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
    let one = session.prepare(b"SELECT ?").unwrap();
    let error = session.execute(one, &[]).unwrap_err();
    assert_eq!(error.to_string(), "a statement with 1 parameters got 0 values: SELECT ?");
    session.close(one).unwrap();
    session.close(one).unwrap();
    assert!(session.execute(one, &[Value::Null]).is_err());
    let again = session.prepare(b"SELECT 2 ; -- the last").unwrap();
    assert_eq!(again, one, "the closed statement's place is used again");
    let error = session.prepare(b"SELECT 1; ; SELECT 2").unwrap_err();
    assert_eq!(error.to_string(), "several statements were prepared as one: SELECT 1; ; SELECT 2");
}

#[test]
fn a_bad_library_or_folder_is_named() {
    let folder = Folder::new();
    let failed = |library: &Path, database: &str| -> Error {
        let plan = plan::Session::Sqlite {
            library: library.to_owned(),
            database: folder.path().join(database),
            pragmas: Vec::new(),
        };
        open(&plan).err().unwrap()
    };
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a library").unwrap();
    let error = failed(&text, "test.db");
    assert!(error.to_string().contains("notes.txt is not a SQLite library: "), "{error}");
    assert_eq!(error.failure(None).blame, "user");
    let error = failed(Path::new("libm.so.6"), "test.db");
    assert!(error.to_string().contains("sqlite3_threadsafe"), "{error}");
    let error = failed(Path::new("libsqlite3.so.0"), "missing/test.db");
    assert_eq!(error.failure(None).blame, "host");
    assert!(error.to_string().contains("missing/test.db: unable to open"), "{error}");
}

// Locks that others hold: waited for, counted, given up, or a deadlock.

#[test]
fn many_connections_may_open_one_new_database_in_wal_mode_at_once() {
    let folder = Folder::new();
    let plan = plan_of(&folder, &[("journal_mode", "wal")]);
    std::thread::scope(|scope| {
        let opening = || (0..20).try_for_each(|_| open(&plan).map(drop));
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(opening)).collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_held_lock_is_waited_for_counted_and_given_up() {
    let folder = Folder::new();
    let mut holder = open_session(&folder, &[]);
    holder.query("CREATE TABLE t (a); BEGIN IMMEDIATE").unwrap();
    let mut other = open_session(&folder, &[("busy_timeout", "20")]);
    let error = other.query("INSERT INTO t VALUES (1)").unwrap_err();
    assert_eq!(error.engine_code(), Some("SQLITE_BUSY"));
    assert!(!error.is_restartable(), "a timeout is a failure, not a deadlock");
    assert!(other.take_counts().busy > 0);
    assert_eq!(other.take_counts().busy, 0);
    holder.query("COMMIT").unwrap();
    other.query("INSERT INTO t VALUES (1)").unwrap();
}

#[test]
fn a_stale_snapshot_may_begin_anew_after_a_reset() {
    let folder = Folder::new();
    let mut one = open_session(&folder, &[("journal_mode", "wal")]);
    one.query("CREATE TABLE t (a); BEGIN; SELECT * FROM t").unwrap();
    let mut two = open_session(&folder, &[]);
    two.query("INSERT INTO t VALUES (1)").unwrap();
    let error = one.query("INSERT INTO t VALUES (2)").unwrap_err();
    assert_eq!(error.engine_code(), Some("SQLITE_BUSY_SNAPSHOT"));
    assert!(error.is_restartable());
    one.reset().unwrap();
    one.reset().unwrap();
    one.query("BEGIN; INSERT INTO t VALUES (2); COMMIT").unwrap();
}

#[test]
fn two_readers_that_both_want_to_write_are_a_deadlock() {
    let folder = Folder::new();
    let mut one = open_session(&folder, &[]);
    one.query("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
    one.query("BEGIN; SELECT * FROM t").unwrap();
    let mut two = open_session(&folder, &[("busy_timeout", "20")]);
    two.query("BEGIN; SELECT * FROM t; UPDATE t SET a = 2").unwrap();
    let error = one.query("UPDATE t SET a = 3").unwrap_err();
    assert!(error.is_restartable(), "{error:?}");
}

// PRAGMAs of the plan.

#[test]
fn pragmas_are_set_on_opening_and_read_back() {
    let folder = Folder::new();
    let pragmas = [("journal_mode", "wal"), ("cache_size", "-4000"), ("busy_timeout", "5")];
    let mut session = open_session(&folder, &pragmas);
    assert_eq!(ask(session.as_mut(), "PRAGMA journal_mode"), [Some("wal".to_owned())]);
    assert_eq!(ask(session.as_mut(), "PRAGMA cache_size"), [Some("-4000".to_owned())]);
    let error = open(&plan_of(&folder, &[("a b", "1")])).err().unwrap();
    assert_eq!(error.to_string(), "not the name of a PRAGMA: a b");
}

// Bulk loads.

/// Rows of a load, at once.
struct Text(Option<&'static [u8]>);

impl Source for Text {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(self.0.take().unwrap_or_default());
        Ok(())
    }
}

fn load(session: &mut dyn Session, rows: &'static [u8]) -> Result<Reply, Error> {
    session.load("COPY t FROM STDIN", Box::new(Text(Some(rows))))
}

#[test]
fn a_load_becomes_what_the_columns_hold() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
    session.query("CREATE TABLE t (a INTEGER, b DECIMAL(15,2), c DATE)").unwrap();
    let loaded = load(session.as_mut(), b"1\t-0.5\t1995-03-15\n\\N\t2.00\t\n");
    assert_eq!(loaded, Ok(Reply::Ready { rows: 0, changed: 2 }));
    let found = ask(session.as_mut(), "SELECT typeof(a), typeof(b), typeof(c), c FROM t");
    let wanted = ["integer", "real", "text", "1995-03-15", "null", "integer", "text", ""];
    assert_eq!(found, wanted.map(|it| Some(it.to_owned())));
}

#[test]
fn a_load_that_fails_leaves_no_row_and_no_transaction() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
    session.query("CREATE TABLE t (a INTEGER PRIMARY KEY, b)").unwrap();
    let twice = load(session.as_mut(), b"1\tx\n1\ty\n").unwrap_err();
    assert!(twice.to_string().contains("UNIQUE"), "{twice}");
    let narrow = load(session.as_mut(), b"1\tx\n2\n").unwrap_err();
    assert!(narrow.to_string().starts_with("a row of 1 fields does not fit t"), "{narrow}");
    assert!(!session.in_transaction());
    assert_eq!(ask(session.as_mut(), "SELECT COUNT(*) FROM t"), [Some("0".to_owned())]);
}

#[test]
fn a_load_within_a_transaction_is_a_part_of_it() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
    session.query("CREATE TABLE t (a)").unwrap();
    session.query("BEGIN").unwrap();
    load(session.as_mut(), b"1\n").unwrap();
    assert!(session.in_transaction());
    session.query("ROLLBACK").unwrap();
    assert_eq!(ask(session.as_mut(), "SELECT COUNT(*) FROM t"), [Some("0".to_owned())]);
}

#[test]
fn a_text_with_a_nul_is_refused() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
    for sql in ["SELECT 1\0", "SELECT 1;\0SELECT 2", "\0"] {
        let errors = [session.query(sql).map(drop), session.prepare(sql.as_bytes()).map(drop)];
        for error in errors {
            let failure = error.unwrap_err().failure(None);
            assert_eq!((failure.blame, failure.hint.is_empty()), ("user".into(), false), "{sql:?}");
        }
    }
    assert_eq!(ask(session.as_mut(), "SELECT 1"), [Some("1".to_owned())]);
}

// What the engine counts itself.

#[test]
fn pages_and_steps_are_counted_since_the_last_time_and_texts_leave_no_steps() {
    let folder = Folder::new();
    let mut session = open_session(&folder, &[]);
    session.query("CREATE TABLE t (a)").unwrap();
    session.query("INSERT INTO t VALUES (3), (1), (2)").unwrap();
    let sorted = session.prepare(b"SELECT a FROM t ORDER BY a").unwrap();
    let count = |session: &mut dyn Session| {
        let mut counts = EngineCounts::new();
        session.count_work(&mut counts);
        counts
    };
    assert!(count(session.as_mut())["pages_written"] > 0);
    assert_eq!(count(session.as_mut()).values().sum::<u64>(), 0);
    session.execute(sorted, &[]).unwrap();
    session.execute(sorted, &[]).unwrap();
    let two = count(session.as_mut());
    assert_eq!((two["scanned_rows"], two["sorts"], two["pages_written"]), (4, 2, 0));
    assert!(two["machine_steps"] > 20 && two["page_requests"] >= 2, "{two:?}");
    session.execute(sorted, &[]).unwrap();
    session.close(sorted).unwrap();
    assert_eq!(count(session.as_mut())["sorts"], 1, "a closed statement's are not lost");
    session.query("SELECT a FROM t ORDER BY a").unwrap();
    assert_eq!(count(session.as_mut()).get("sorts"), None);
}
