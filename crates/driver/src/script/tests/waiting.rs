//! Where a query may wait for its answer, and where it may not.

use super::*;

#[test]
fn a_query_gives_way_only_while_its_answer_is_out() {
    let script = with_connection("function event() con:query('x') con:query('y') end");
    let (_, mut user) = played_on_null(&script, 0).unwrap();
    assert_eq!(user.begin("event").unwrap(), DONE);
    assert_eq!(user.take_counts().queries, 4);
    assert_eq!(user.take_counts().queries, 0);
    let (_, mut user) = played_on_null(&script, 50_000_000).unwrap();
    assert!(matches!(user.begin("event").unwrap(), Step::Waiting { until_ns } if until_ns > 0));
    assert!(matches!(user.advance().unwrap(), Step::Waiting { .. }));
}

#[test]
fn queries_wait_inside_pcall_metamethods_iterators_and_coroutines() {
    let script = with_connection(
        "local function ask() con:query('x') return 1 end
        local meta = setmetatable({}, {__index = ask, __add = ask, __lt = ask})
        local function rows() return coroutine.wrap(function()
           for i = 1, 3 do ask() coroutine.yield(i) end
        end) end
        function event()
           local ok, one = pcall(ask)
           local sum = one + meta.field + (meta + meta) + (meta < meta and 1 or 0)
           for i in rows() do sum = sum + i end
           for i in function(_, last) ask() return last < 2 and last + 1 or nil end, nil, 0 do
              sum = sum + i
           end
           local co = coroutine.create(function(a) ask() local b = coroutine.yield(a) ask()
              return b end)
           local _, a = coroutine.resume(co, 5)
           local _, b = coroutine.resume(co, 7)
           assert(coroutine.status(co) == 'dead')
           dyno.count('n', sum + a + b)
        end",
    );
    assert_eq!(counted(&script), 4 + 6 + 3 + 12);
}

#[test]
fn a_query_where_lua_cannot_give_way_is_told_in_our_words() {
    for body in [
        "table.sort({3, 1, 2}, function(a, b) con:query('x') return a < b end)",
        "('abc'):gsub('b', function() con:query('x') end)",
    ] {
        let script = with_connection(&format!("function event()\n{body} end"));
        assert_eq!(played_on_null(&script, 0).unwrap().0, DONE);
        let error = played_on_null(&script, 10_000).map(drop).unwrap_err().failure(None);
        assert!(error.message.contains("a query cannot wait for its answer"), "{error:?}");
        assert!(error.place.unwrap().ends_with("script.lua:3"));
    }
}

#[test]
fn an_answer_that_never_comes_there_is_given_up() {
    let query = "table.sort({3, 1, 2}, function(a, b) con:query('x') return a < b end)";
    let script = with_connection(&format!("function event()\n{query} end"));
    let error = played_on_null(&script, 3_600_000_000_000).map(drop).unwrap_err();
    assert!(error.to_string().contains("a query cannot wait for its answer"), "{error}");
}

#[test]
fn a_yield_outside_a_coroutine_is_refused() {
    let error = broken("function event() coroutine.yield(true) end");
    assert!(error.to_string().contains("yielded outside"), "{error}");
}

#[test]
fn a_connection_that_is_given_up_fails_its_event_as_lost() {
    let folder = Folder::new();
    let mut plan = folder.plan(
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") end"#,
    );
    plan.session = Session::Null { delay_ns: 3_600_000_000_000 };
    let mut user = User::load(&plan, &SEAT).unwrap();
    play(&mut user, "thread_init").unwrap();
    assert!(matches!(user.begin("event").unwrap(), Step::Waiting { .. }));
    user.lose();
    for step in [user.advance(), play(&mut user, "event")] {
        let Ok(Step::Failed(error)) = step else { panic!("{step:?}") };
        assert_eq!(error.engine_code(), Some("lost"));
    }
    assert_eq!(user.take_counts().errors.get("lost"), Some(&2));
}
