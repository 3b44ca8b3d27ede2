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
    let mut user = User::load(&plan, &SEAT).unwrap();
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
    let mut user = User::load(&plan, &Seat { number: 3, users: 4, ..SEAT }).unwrap();
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
    let mut user = User::load(&plan, &SEAT).unwrap();
    assert_eq!(user.begin("thread_init").unwrap(), DONE);
    let failure = user.begin("event").unwrap_err().failure(None);
    assert!(failure.message.ends_with("script.lua has no function event"), "{failure:?}");
    assert_eq!(failure.hint, "did you mean evnt?");
    plan.script.path = folder.path().join("scrpt.lua");
    let failure = User::load(&plan, &SEAT).map(drop).unwrap_err().failure(None);
    assert!(failure.message.contains("scrpt.lua: No such file"), "{failure:?}");
    assert_eq!(
        (failure.blame.as_str(), failure.hint.as_str()),
        ("user", "did you mean script.lua?")
    );
}
