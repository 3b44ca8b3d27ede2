//! Errors, and what is said of them.

use super::*;

pub const TABLE: &str = "function thread_init()
       con = sysbench.sql.driver():connect()
       con:query('CREATE TABLE t (a INTEGER PRIMARY KEY)')
       con:query('INSERT INTO t VALUES (1)')
    end\n";

pub fn step_on_sqlite(rest: &str) -> (Result<Step, Error>, User, Folder) {
    let folder = Folder::new();
    let plan = sqlite(&folder, &format!("{TABLE}{rest}"));
    let mut user = User::load(&plan, &IDENTITY).unwrap();
    play(&mut user, "thread_init").unwrap();
    user.take_counts();
    (play(&mut user, "event"), user, folder)
}

#[test]
fn an_engines_error_costs_the_event_its_counters_and_its_transaction() {
    let (step, mut user, _folder) = step_on_sqlite(
        "function event() dyno.count('n', 5) con:query('BEGIN')
           con:query('INSERT INTO t VALUES (1)') end",
    );
    let Ok(Step::Failed(error)) = step else { panic!("{step:?}") };
    assert_eq!(error.engine_code(), Some("SQLITE_CONSTRAINT_PRIMARYKEY"));
    assert_eq!(user.counters()["n"], 0);
    let counts = user.take_counts();
    assert_eq!(counts.errors, BTreeMap::from([("SQLITE_CONSTRAINT_PRIMARYKEY".into(), 1)]));
    assert_eq!(play(&mut user, "event"), Ok(Step::Failed(error)));
}

#[test]
fn a_script_may_catch_an_engines_error() {
    let (step, mut user, _folder) = step_on_sqlite(
        "function event()
           local ok, text = pcall(con.query, con, 'INSERT INTO t VALUES (1)')
           assert(not ok and text:find(\"errno = 1555, state = '23505'\", 1, true), text)
           dyno.count('n', 2)
        end",
    );
    assert_eq!(step.unwrap(), DONE);
    assert_eq!(user.counters()["n"], 2);
    assert_eq!(user.take_counts().errors.len(), 1);
}

fn without_library(script: &str) -> (Plan, Folder) {
    let folder = Folder::new();
    let mut plan = sqlite(&folder, script);
    if let Session::Sqlite { library, .. } = &mut plan.session {
        *library = "/nowhere/libsqlite3.so".into();
    }
    (plan, folder)
}

#[test]
fn a_script_may_catch_that_a_connection_is_refused() {
    let (plan, _folder) = without_library(
        "function event()
           local drv = sysbench.sql.driver()
           local ok, text = pcall(drv.connect, drv)
           assert(not ok and text:find('/nowhere/libsqlite3.so', 1, true), text)
           dyno.count('n', 2)
        end",
    );
    let mut user = User::load(&plan, &IDENTITY).unwrap();
    assert_eq!(play(&mut user, "event"), Ok(DONE));
    assert_eq!(play(&mut user, "event"), Ok(DONE));
    assert_eq!(user.counters()["n"], 4);
}

#[test]
fn a_connection_that_is_refused_ends_the_trial_wherever_it_is_asked_for() {
    let connects = [
        "function event() sysbench.sql.driver():connect() end",
        "function event() local ok, e = pcall(sysbench.sql.driver().connect) error(e, 0) end",
    ];
    for script in connects {
        let (plan, _folder) = without_library(script);
        let mut user = User::load(&plan, &IDENTITY).unwrap();
        let error = play(&mut user, "event").unwrap_err();
        assert!(error.to_string().contains("/nowhere/libsqlite3.so"), "{error}");
        assert!(!error.failure(None).hint.is_empty());
    }
    let (plan, _folder) = without_library("con = sysbench.sql.driver():connect()");
    let Err(error) = User::load(&plan, &IDENTITY) else { panic!("it was loaded") };
    assert!(!error.failure(None).hint.is_empty(), "{error}");
}

#[test]
fn a_statement_that_is_never_understood_ends_the_trial() {
    let (step, _, _folder) =
        step_on_sqlite("function event()\n con:query('SELECT SQL_NO_CACHE 1 2') end");
    let failure = step.unwrap_err().failure(None);
    assert_eq!(failure.blame, "engine");
    assert!(failure.message.contains("syntax error"), "{failure:?}");
    assert!(failure.hint.contains("SELECT SQL_NO_CACHE 1 2"), "{failure:?}");
    assert!(failure.place.unwrap().ends_with("script.lua:7"));
}

#[test]
fn a_lua_error_names_file_line_and_connection() {
    let folder = Folder::new();
    let plan = folder.plan("function event()\n local x = nil\n return x.y\nend");
    let mut user = User::load(&plan, &UserIdentity { number: 3, users: 4, ..IDENTITY }).unwrap();
    let failure = user.begin("event").unwrap_err().failure(Some("run"));
    assert_eq!(failure.blame, "user");
    assert_eq!(failure.message, "the script failed: attempt to index local 'x' (a nil value)");
    assert_eq!(failure.place.unwrap(), format!("{}:3", plan.script.path.display()));
    assert_eq!(failure.connection, Some(3));
}

#[test]
fn an_error_in_a_required_file_names_that_file() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("more.lua"), "\n\nfunction fail() error('no') end").unwrap();
    let plan = folder.plan("require('more')\nfunction event() fail() end");
    let failure = started(&plan).map(drop).unwrap_err().failure(None);
    assert!(failure.place.unwrap().ends_with("more.lua:3"), "{}", failure.message);
    let plan = folder.plan("function event( end");
    let failure = started(&plan).map(drop).unwrap_err().failure(None);
    assert!(failure.place.unwrap().ends_with("script.lua:1"), "{}", failure.message);
    let plan = folder.plan("require('missing')");
    assert!(started(&plan).map(drop).unwrap_err().to_string().contains("module 'missing'"));
}

#[test]
fn a_thrown_table_and_os_exit_are_user_errors() {
    let failure = broken("function event() error({message = 'own words'}) end").failure(None);
    assert_eq!(failure.message, "the script failed: own words");
    assert!(failure.place.unwrap().ends_with("script.lua:1"));
    let failure = broken("function event() os.exit(1) end").failure(None);
    assert_eq!(failure.message, "the script failed: the script called os.exit(1)");
}

#[test]
fn missing_files_and_functions_name_the_nearest() {
    let folder = Folder::new();
    let mut plan = folder.plan("function evnt() end\nfunction prepare() end");
    let mut user = User::load(&plan, &IDENTITY).unwrap();
    assert_eq!(user.begin("thread_init").unwrap(), DONE);
    let failure = user.begin("event").unwrap_err().failure(None);
    assert!(failure.message.ends_with("script.lua has no function event"), "{failure:?}");
    assert_eq!(failure.hint, "did you mean evnt?");
    plan.script.path = folder.path().join("scrpt.lua");
    let failure = User::load(&plan, &IDENTITY).map(drop).unwrap_err().failure(None);
    assert!(failure.message.contains("scrpt.lua: No such file"), "{failure:?}");
    assert_eq!(
        (failure.blame.as_str(), failure.hint.as_str()),
        ("user", "did you mean script.lua?")
    );
}

// Events that begin anew, and when they are given up.

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
fn a_restart_yields_so_that_it_cannot_hang_the_worker() {
    let script = "function event() error({errcode = sysbench.error.RESTART_EVENT}) end";
    let plan_folder = Folder::new();
    let mut user = User::load(&plan_folder.plan(script), &IDENTITY).unwrap();
    let again = Step::Waiting { until_ns: 0 };
    assert_eq!(user.begin("event").unwrap(), again);
    assert_eq!(user.advance().unwrap(), again);
    assert_eq!(user.take_counts().restarted, 2);
}

#[test]
fn an_abandoned_event_has_failed_and_the_engines_code_is_counted() {
    let folder = Folder::new();
    let script = "function sysbench.hooks.sql_error_ignorable() return true end
        function event() dyno.count('n', 1) con:query('INSERT INTO t VALUES (1)') end";
    let mut user = User::load(&sqlite(&folder, &format!("{TABLE}{script}")), &IDENTITY).unwrap();
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

// Where a query may wait for its answer, and where it may not.

#[test]
fn a_query_yields_only_while_its_answer_is_pending() {
    let script = with_connection("function event() con:query('x') con:query('y') end");
    let (_, mut user) = play_on_null(&script, 0).unwrap();
    assert_eq!(user.begin("event").unwrap(), DONE);
    assert_eq!(user.take_counts().queries, 4);
    assert_eq!(user.take_counts().queries, 0);
    let (_, mut user) = play_on_null(&script, 50_000_000).unwrap();
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
fn a_query_where_lua_cannot_yield_is_refused_with_the_reason() {
    for body in [
        "table.sort({3, 1, 2}, function(a, b) con:query('x') return a < b end)",
        "('abc'):gsub('b', function() con:query('x') end)",
    ] {
        let script = with_connection(&format!("function event()\n{body} end"));
        assert_eq!(play_on_null(&script, 0).unwrap().0, DONE);
        let error = play_on_null(&script, 10_000).map(drop).unwrap_err().failure(None);
        assert!(error.message.contains("a query cannot wait for its answer"), "{error:?}");
        assert!(error.place.unwrap().ends_with("script.lua:3"));
    }
}

#[test]
fn an_answer_that_never_comes_to_a_loading_script_is_given_up() {
    let query = "table.sort({3, 1, 2}, function(a, b) con:query('x') return a < b end)";
    let script = with_connection(&format!("function event()\n{query} end"));
    let error = play_on_null(&script, 3_600_000_000_000).map(drop).unwrap_err();
    assert!(error.to_string().contains("a query cannot wait for its answer"), "{error}");
}

#[test]
fn a_yield_outside_a_coroutine_is_refused() {
    let error = broken("function event() coroutine.yield(true) end");
    assert!(error.to_string().contains("yielded outside"), "{error}");
}

#[test]
fn a_dropped_connection_fails_its_event_as_lost() {
    let folder = Folder::new();
    let mut plan = folder.plan(
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") end"#,
    );
    plan.session = Session::Null { delay_ns: 3_600_000_000_000 };
    let mut user = User::load(&plan, &IDENTITY).unwrap();
    play(&mut user, "thread_init").unwrap();
    assert!(matches!(user.begin("event").unwrap(), Step::Waiting { .. }));
    user.drop_connections();
    for step in [user.advance(), play(&mut user, "event")] {
        let Ok(Step::Failed(error)) = step else { panic!("{step:?}") };
        assert_eq!(error.engine_code(), Some("lost"));
    }
    assert_eq!(user.take_counts().errors.get("lost"), Some(&2));
}
