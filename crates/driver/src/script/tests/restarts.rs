//! Events that begin anew, and when they are given up.

use super::failures::{TABLE, step_on_sqlite};
use super::*;

#[test]
fn a_restart_plays_the_whole_event_anew_and_drops_what_it_counted() {
    let (step, mut user, _folder) = step_on_sqlite(
        "local tries, restarts = 0, 0
        function sysbench.hooks.sql_error_ignorable(err)
           return err.sql_errno == 1555 and err.sql_state == '23505' and err.connection == con
              and err.query:find('INSERT') ~= nil
        end
        function sysbench.hooks.before_restart_event(err)
           assert(err.errcode == sysbench.error.RESTART_EVENT)
           restarts = restarts + 1
        end
        function event()
           tries = tries + 1
           dyno.count('n', 1)
           con:query('BEGIN')
           con:query('INSERT INTO t VALUES (' .. tries .. ')')
           con:query('COMMIT')
           if tries < 4 then error({errcode = sysbench.error.RESTART_EVENT}) end
           dyno.count('restarts', restarts)
        end",
    );
    assert_eq!(step.unwrap(), DONE);
    assert_eq!(user.counters(), BTreeMap::from([("n".into(), 1), ("restarts".into(), 3)]));
    assert_eq!(user.take_counts().restarted, 3);
}

#[test]
fn a_restart_gives_way_so_that_it_cannot_hang_the_worker() {
    let script = "function event() error({errcode = sysbench.error.RESTART_EVENT}) end";
    let plan_folder = Folder::new();
    let mut user = User::load(&plan_folder.plan(script), &SEAT).unwrap();
    let again = Step::Waiting { until_ns: 0 };
    assert_eq!(user.begin("event").unwrap(), again);
    assert_eq!(user.advance().unwrap(), again);
    assert_eq!(user.take_counts().restarted, 2);
}

#[test]
fn an_event_given_up_has_failed_and_the_engines_code_was_counted() {
    let folder = Folder::new();
    let script = "function sysbench.hooks.sql_error_ignorable() return true end
        function event() dyno.count('n', 1) con:query('INSERT INTO t VALUES (1)') end";
    let mut user = User::load(&sqlite(&folder, &format!("{TABLE}{script}")), &SEAT).unwrap();
    play(&mut user, "thread_init").unwrap();
    assert_eq!(user.begin("event").unwrap(), Step::Waiting { until_ns: 0 });
    let given_up = user.give_up().unwrap();
    assert!(matches!(given_up, Step::Failed(_)), "{given_up:?}");
    let errors = user.take_counts().errors;
    assert_eq!(errors["SQLITE_CONSTRAINT_PRIMARYKEY"], 1);
    assert_eq!(user.counters()["n"], 0);
    // Its coroutine is free for the next function.
    assert_eq!(play(&mut user, "thread_done").unwrap(), DONE);
    assert_eq!(user.begin("event").unwrap(), Step::Waiting { until_ns: 0 });
}

#[test]
fn a_restart_hook_may_ask_the_engine() {
    let script = with_connection(
        "local tries = 0
        function sysbench.hooks.before_restart_event() con:query('x') end
        function event()
           tries = tries + 1
           if tries < 3 then error({errcode = sysbench.error.RESTART_EVENT}) end
           dyno.count('n', tries)
        end",
    );
    assert_eq!(counted(&script), 3);
}
