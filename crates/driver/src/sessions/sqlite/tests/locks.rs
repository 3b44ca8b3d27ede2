//! Locks that others hold: waited for, counted, given up, or a deadlock.

use super::super::open;
use super::{opened, plan_of};
use crate::testing::Folder;

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
    let mut holder = opened(&folder, &[]);
    holder.query("CREATE TABLE t (a); BEGIN IMMEDIATE").unwrap();
    let mut other = opened(&folder, &[("busy_timeout", "20")]);
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
    let mut one = opened(&folder, &[("journal_mode", "wal")]);
    one.query("CREATE TABLE t (a); BEGIN; SELECT * FROM t").unwrap();
    let mut two = opened(&folder, &[]);
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
    let mut one = opened(&folder, &[]);
    one.query("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
    one.query("BEGIN; SELECT * FROM t").unwrap();
    let mut two = opened(&folder, &[("busy_timeout", "20")]);
    two.query("BEGIN; SELECT * FROM t; UPDATE t SET a = 2").unwrap();
    let error = one.query("UPDATE t SET a = 3").unwrap_err();
    assert!(error.is_restartable(), "{error:?}");
}
