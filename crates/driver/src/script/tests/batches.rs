//! Batches of requests, and bulk loads.

use super::*;

#[test]
fn requests_of_a_batch_wait_only_once_and_together() {
    let script = with_connection(
        "function event()
           local insert = con:prepare('insert')
           con:pipeline_begin()
           con:query('x') insert:execute() insert:execute()
           local rows, changed = con:pipeline_sync()
           assert(rows == 0 and changed == 0)
           con:query('y')
        end",
    );
    let (step, mut user) = played_on_null(&script, 20_000).unwrap();
    assert_eq!((step, user.take_counts().queries), (DONE, 4));
    assert!(matches!(user.begin("event").unwrap(), Step::Waiting { .. }));
    assert_eq!(user.take_counts().queries, 3);
}

#[test]
fn a_failed_event_ends_its_batch() {
    let script = with_connection(
        "function event()
           if not failed then
              failed = true
              con:pipeline_begin()
              error({errcode = sysbench.error.RESTART_EVENT})
           end
           con:query('y')
        end",
    );
    let folder = Folder::new();
    let mut plan = folder.plan(&script);
    plan.session = Session::Null { delay_ns: 50_000_000 };
    let mut user = User::load(&plan, &SEAT).unwrap();
    assert_eq!(play(&mut user, "thread_init").unwrap(), DONE);
    assert_eq!(user.begin("event").unwrap(), Step::Waiting { until_ns: 0 });
    assert!(matches!(user.advance().unwrap(), Step::Waiting { until_ns } if until_ns > 0));
}

#[test]
fn an_engine_without_batches_and_loads_says_so() {
    for (call, said) in [("pipeline_begin()", "no batches"), ("pipeline_sync()", "no batch")] {
        let script = with_connection(&format!("function event() con:{call} end"));
        let error = started(&sqlite(&Folder::new(), &script)).map(drop).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    let load = "function event() con:load('x', dyno.rows.lineitem{scale = 0.001}) end";
    let error = started(&sqlite(&Folder::new(), &with_connection(load))).map(drop).unwrap_err();
    assert!(error.to_string().contains("no bulk load"), "{error}");
}

#[test]
fn a_load_makes_the_rows_that_were_asked_for() {
    let script = with_connection(
        "function event()
           for part = 1, 2 do
              local rows = dyno.rows.lineitem{scale = 0.001, part = part, parts = 2}
              dyno.count('n', con:load('copy', rows).nrows)
           end
        end",
    );
    assert_eq!(counted(&script), 6005);
}

#[test]
fn rows_that_nobody_can_make_are_refused_by_name() {
    for (rows, said) in [
        ("dyno.rows.customer{}", "unknown variant `customer`"),
        ("dyno.rows.lineitem{size = 1}", "unknown field `size`"),
        ("dyno.rows.lineitem{scale = 'x'}", "invalid type: string"),
        ("dyno.rows.lineitem{scale = -1}", "no scale -1"),
        ("dyno.rows.lineitem{part = 3, parts = 2}", "no part 3 of 2"),
    ] {
        let script = with_connection(&format!("function event() con:load('copy', {rows}) end"));
        let error = broken(&script);
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn reads_answer_with_columns_and_writes_change_rows() {
    let folder = Folder::new();
    let script = with_connection(
        "function event()
           con:query('CREATE TABLE t (a)')
           con:query('INSERT INTO t VALUES (1), (2)')
           con:query('DELETE FROM t WHERE a = 3')
           con:query('SELECT a FROM t WHERE a = 3')
        end",
    );
    let (_, mut user) = started(&sqlite(&folder, &script)).unwrap();
    let counts = user.take_counts();
    assert_eq!((counts.queries, counts.reads, counts.writes), (4, 1, 1));
}
