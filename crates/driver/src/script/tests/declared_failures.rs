//! Declared events go wrong as written ones do, and refuse what cannot be played.

use super::failures::{TABLE, step_on_sqlite};
use super::*;

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
fn a_restart_plays_it_anew_with_the_scripts_own_hooks() {
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
    let mut user = User::load(&plan, &SEAT).unwrap();
    play(&mut user, "thread_init").unwrap();
    assert!(matches!(user.begin("event"), Ok(Step::Waiting { .. })));
    user.lose();
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
    let (step, mut user) = played_on_null(&with_connection(script), 0).unwrap();
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
