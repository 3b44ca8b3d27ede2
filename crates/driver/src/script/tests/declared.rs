//! Declared events send what written ones send.

use super::failures::{TABLE, step_on_sqlite};
use super::*;
use crate::testing::take_sent;

const HEAD: &str = "
    local con
    local function prepared(number)
       return con:prepare('SELECT a FROM t' .. number .. ' WHERE a BETWEEN ? AND ?'),
          con:prepare('DELETE FROM t' .. number .. ' WHERE a = ?'),
          con:prepare('INSERT INTO t' .. number .. ' VALUES (?, ?, ?)')
    end
    function thread_init()
       con = sysbench.sql.driver():connect()
       con:query('CREATE TABLE t1 (a, b, c)')
       con:query('CREATE TABLE t2 (a, b, c)')
    end
    function rows()
       for number = 1, 2 do
          local answer = con:query('SELECT * FROM t' .. number)
          for _ = 1, answer.nrows do
             local row = answer:fetch_row()
             dyno.count(('t%d %s %s %s'):format(number, row[1], row[2], tostring(row[3])))
          end
       end
    end\n";

/// Three ranges on one of two tables; a delete and an insert of one id, twice, on one of two; text.
const DECLARED: &str = "
    local function items(number)
       local range, delete, insert = prepared(number)
       local from, id = dyno.rand.default(1, 100), dyno.rand.special(1, 5)
       return {times = 3, range, from, from + 9},
          {times = 2, {delete, id, counts = {gone = 1, ids = id}},
             {insert, id, dyno.rand.string('#@#'), 2.5}}
    end
    declared = dyno.event(function()
       local first, second = {items(1)}, {items(2)}
       return {
          {con:prepare('BEGIN')},
          dyno.one_of {first[1], second[1]},
          dyno.one_of {first[2], second[2]},
          {con:unprepared('INSERT INTO t1 VALUES (?, ?, NULL)'), dyno.rand.unique() - 1, \"it's\"},
          {con:prepare('COMMIT')},
          atomic = true,
       }
    end)\n";

const WRITTEN: &str = "
    local rand, t = sysbench.rand, sysbench.sql.type
    local function bound(statement, ...)
       local cells = {}
       for i, kind in ipairs {...} do cells[i] = statement:bind_create(kind) end
       statement:bind_param(unpack(cells))
       return function(...)
          for i, cell in ipairs(cells) do cell:set((select(i, ...))) end
          return statement:execute().nrows
       end
    end
    local function functions(number)
       local range, delete, insert = prepared(number)
       return {range = bound(range, t.INT, t.INT), delete = bound(delete, t.INT),
          insert = bound(insert, t.INT, t.CHAR, t.DOUBLE)}
    end
    function thread_start()
       local tables = {functions(1), functions(2)}
       local text = bound(con:unprepared('INSERT INTO t1 VALUES (?, ?, NULL)'), t.BIGINT, t.CHAR)
       local begin, commit = con:prepare('BEGIN'), con:prepare('COMMIT')
       event = function()
          begin:execute()
          local one = tables[rand.uniform(1, 2)]
          for _ = 1, 3 do
             local from = rand.default(1, 100)
             one.range(from, from + 9)
          end
          one = tables[rand.uniform(1, 2)]
          for _ = 1, 2 do
             local id = rand.special(1, 5)
             local gone = one.delete(id)
             dyno.count('gone', gone)
             dyno.count('ids', gone * id)
             one.insert(id, rand.string('#@#'), 2.5)
          end
          text(rand.unique() - 1, \"it's\")
          commit:execute()
       end
    end
    function event() thread_start() event() end\n";

/// All that 20 events of a script sent, and what they counted.
fn sent(plan: &Plan) -> (Vec<String>, BTreeMap<String, u64>) {
    let mut user = User::load(plan, &IDENTITY).unwrap();
    play(&mut user, "thread_init").unwrap();
    take_sent();
    let steps = (0..20).map(|_| play(&mut user, "event").unwrap());
    assert!(steps.into_iter().all(|step| step == DONE));
    assert_eq!(user.take_counts().queries, 20 * 10 + 2);
    let sent = take_sent();
    play(&mut user, "rows").unwrap();
    (sent, user.counters())
}

const FORMS: [&str; 3] = [WRITTEN, "event = declared", "function event() declared() end"];

#[test]
fn a_declared_event_sends_what_a_written_one_sends() {
    for (option, value) in
        [("rand_type", "uniform"), ("rand_type", "pareto"), ("db-ps-mode", "disable")]
    {
        for delay_ns in [0, 1000] {
            let [written, declared, called] = FORMS.map(|form| {
                let folder = Folder::new();
                let mut plan = folder.plan(&format!("{HEAD}{DECLARED}{form}"));
                plan.session = Session::Null { delay_ns };
                plan.script.options.insert(option.into(), value.into());
                sent(&plan).0
            });
            assert_eq!(written.len(), 200);
            assert_eq!(written, declared);
            assert_eq!(written, called);
        }
    }
}

#[test]
fn declared_and_written_events_leave_the_same_rows_and_counts() {
    let [written, declared, called] = FORMS.map(|form| {
        let folder = Folder::new();
        sent(&sqlite(&folder, &format!("{HEAD}{DECLARED}{form}"))).1
    });
    assert!(written["gone"] > 0 && written.len() > 20, "{written:?}");
    assert_eq!(written, declared);
    assert_eq!(written, called);
}

// Declared events go wrong as written ones do, and refuse what cannot be played.

/// An insert that works and one of a key that is there already.
const CLASH: &str = "event = dyno.event(function()
       return {
          {con:prepare('INSERT INTO t VALUES (?)'), dyno.rand.unique() + 2, counts = {n = 1}},
          {con:prepare('INSERT INTO t VALUES (1)'), counts = {n = 1}},
          atomic = ATOMIC,
       }
    end)\n";

fn clash(atomic: bool) -> String {
    CLASH.replace("ATOMIC", if atomic { "true" } else { "false" })
}

#[test]
fn an_engines_error_ends_the_event_and_its_counts_are_kept_unless_it_is_atomic() {
    for (atomic, counted) in [(true, 0), (false, 1)] {
        let (step, mut user, _folder) = step_on_sqlite(&clash(atomic));
        let Ok(Step::Failed(error)) = step else { panic!("{step:?}") };
        assert_eq!(error.engine_code(), Some("SQLITE_CONSTRAINT_PRIMARYKEY"));
        assert_eq!(user.counters()["n"], counted);
        let counts = user.take_counts();
        assert_eq!((counts.queries, counts.errors["SQLITE_CONSTRAINT_PRIMARYKEY"]), (2, 1));
        assert_eq!(play(&mut user, "event"), Ok(Step::Failed(error)));
    }
}

#[test]
fn a_restarted_declared_event_calls_the_scripts_own_hooks() {
    let hooks = "local tries = 0
        function sysbench.hooks.sql_error_ignorable(err)
           return err.sql_errno == 1555 and err.connection == con and err.query:find('(1)', 1, true)
        end
        function sysbench.hooks.before_restart_event(err)
           tries = tries + 1
           if tries == 2 then con:query('DELETE FROM t WHERE a = 1') end
        end\n";
    let (step, mut user, _folder) = step_on_sqlite(&format!("{hooks}{}", clash(true)));
    assert_eq!(step, Ok(DONE));
    assert_eq!(user.counters()["n"], 2);
    let counts = user.take_counts();
    assert_eq!((counts.restarted, counts.queries), (2, 7));
    assert_eq!(user.begin("event"), Ok(Step::Waiting { until_ns: 0 }));
    assert!(matches!(user.give_up(), Ok(Step::Failed(_))));
    assert_eq!(user.counters()["n"], 2);
}

#[test]
fn a_script_may_catch_the_error_of_an_event_that_it_calls() {
    let call = "local part = event
        function event()
           local ok, text = pcall(part)
           assert(not ok and text:find(\"errno = 1555, state = '23505'\", 1, true), text)
        end";
    let (step, mut user, _folder) = step_on_sqlite(&format!("{}{call}", clash(false)));
    assert_eq!(step, Ok(DONE));
    assert_eq!(play(&mut user, "event"), Ok(DONE));
    assert_eq!(user.counters()["n"], 2);
}

#[test]
fn an_answer_that_never_comes_is_lost() {
    let folder = Folder::new();
    let mut plan = folder.plan(&with_connection(
        "event = dyno.event(function() return {times = 3, {con:prepare('x')}} end)",
    ));
    plan.session = Session::Null { delay_ns: 60_000_000_000 };
    let mut user = User::load(&plan, &IDENTITY).unwrap();
    play(&mut user, "thread_init").unwrap();
    assert!(matches!(user.begin("event"), Ok(Step::Waiting { .. })));
    user.drop_connections();
    let Ok(Step::Failed(error)) = user.advance() else { panic!() };
    assert_eq!(error.engine_code(), Some("lost"));
}

#[test]
fn its_type_has_a_name() {
    let script = "local function named(name)
           return dyno.event(function()
              return {{con:prepare('x')}, transaction = name}
           end)
        end
        event = named('payment')
        order = named('order')";
    let (step, mut user) = play_on_null(&with_connection(script), 0).unwrap();
    assert_eq!(step, Step::Done { transaction: 1, more: true });
    assert_eq!(play(&mut user, "order").unwrap(), Step::Done { transaction: 2, more: true });
    assert_eq!(user.transaction_names(), ["", "payment", "order"]);
}

#[test]
fn what_cannot_be_played_is_refused_when_it_is_built() {
    for (items, wanted) in [
        ("{{con:prepare('?'), true}}", "a declared statement cannot send a boolean"),
        ("{{}}", "an item of a declared event is a statement with its values, or a list of items"),
        ("{con:prepare('x')}", "an item of a declared event is a statement"),
        ("{{con:prepare('?'), dyno.rand.string('#') + 1}}", "attempt to perform arithmetic"),
        ("{{con:prepare('?'), dyno.rand.uniform(1)}}", "dyno.event cannot be played"),
        ("{{con:prepare('x'), times = 1.5}}", "dyno.event cannot be played"),
        ("{{con:prepare('x'), counts = {n = dyno.rand.unique()}}}", "what it sends"),
        ("nil", "a declared event is a list of items"),
    ] {
        let script = format!("event = dyno.event(function() return {items} end)");
        let text = broken(&with_connection(&script)).to_string();
        assert!(text.contains(wanted), "{items}: {text}");
    }
}

#[test]
fn a_declared_event_counts_as_the_command_run() {
    let folder = Folder::new();
    let told = describe(&folder.plan(&format!("{TABLE}{}", clash(true)))).unwrap();
    assert!(told.commands.contains(&"run".to_owned()));
    assert_eq!(told.phases[0].streams[0].function, "event");
}
