//! Phases, ledger, commands, transaction types.

use super::*;

fn described(script: &str, options: &[(&str, &str)]) -> Result<Vec<Phase>, Error> {
    let folder = Folder::new();
    let mut plan = folder.plan(script);
    let options = options.iter().map(|(name, text)| (name.to_string(), text.to_string()));
    plan.script.options = options.collect();
    Ok(describe(&plan)?.phases)
}

#[test]
fn a_script_without_phases_has_one_made_of_the_general_options() {
    let options = [("threads", "4"), ("time", "3"), ("rate", "50"), ("warmup-time", "1")];
    let phases = described("function event() end", &options).unwrap();
    let [phase] = phases.as_slice() else { panic!("{phases:?}") };
    assert_eq!((phase.name.as_str(), phase.warmup_s, phase.stationary), ("run", 1.0, true));
    assert_eq!(phase.stop, Stop::Time { duration_s: 3.0 });
    let stream = &phase.streams[0];
    assert_eq!((stream.name.as_str(), stream.connections), ("event", 4));
    assert_eq!(stream.pace, Pace::Uniform { rate_per_s: 50.0 });
    assert_eq!((phase.primary[0].stream.as_str(), phase.primary.len()), ("event", 1));
    let phases = described("function event() end", &[("events", "9"), ("time", "0")]).unwrap();
    assert_eq!(phases[0].stop, Stop::Count { events: 9 });
    assert!(described("function event() end", &[("time", "0")]).is_err());
    assert!(described("function event() end", &[("threads", "0")]).is_err());
}

#[test]
fn declared_phases_ledger_and_size_are_read() {
    let folder = Folder::new();
    let plan = folder.plan(
        "sysbench.cmdline.options = {n = {'N', 7}}
        function one() end
        function dyno.phases() return {{name = 'l.i0', settle = true, primary = {},
           streams = {{name = 'w', run = 'one', connections = 2, role = 'writer', unit = 'row',
              units_per_event = 100, pace = {kind = 'poisson', rate_per_s = 2.5}}},
           stop = {kind = 'count', events = sysbench.opt.n}}} end
        dyno.ledger = {{name = 'rows', sql = 'SELECT 1', counters = {inserted = 1, deleted = -1}}}
        dyno.size_bytes = function() return sysbench.opt.n * 1000 end",
    );
    let told = describe(&plan).unwrap();
    let phase = &told.phases[0];
    assert_eq!((phase.stop.clone(), phase.settle), (Stop::Count { events: 7 }, true));
    assert_eq!(phase.streams[0].function, "one");
    assert_eq!(phase.streams[0].pace, Pace::Poisson { rate_per_s: 2.5 });
    assert_eq!(told.ledger[0].counters["deleted"], -1);
    assert_eq!(told.size_bytes, 7000);
    assert_eq!(phases(&plan, "run").unwrap().0, told.phases);
}

#[test]
fn a_wrong_declaration_is_told_in_its_own_words() {
    let error = described("function dyno.phases() return {{name = 'a', stop = 3}} end", &[]);
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("the script's dyno.phases is not as it should be: "), "{text}");
    let script = "function dyno.phases() return {{name = 'a', stop = {kind = 'count', events = 1},
        streams = {{name = 's', run = 'missing', connections = 1}}}} end";
    let text = described(script, &[]).unwrap_err().to_string();
    assert!(text.ends_with("has no function missing"), "{text}");
}

#[test]
fn a_phase_that_would_measure_nothing_is_refused_before_anything_is_played() {
    for (connections, duration_s, message) in
        [(1, 0, "phase a lasts 0 s"), (1, -3, "phase a lasts -3 s"), (0, 1, "s has 0 connections")]
    {
        let script = format!(
            "function event() end
            function dyno.phases() return {{{{name = 'a',
               stop = {{kind = 'time', duration_s = {duration_s}}},
               streams = {{{{name = 's', run = 'event', connections = {connections}}}}}}}}} end"
        );
        let text = described(&script, &[]).unwrap_err().to_string();
        assert!(text.ends_with(message), "{text}");
    }
}

#[test]
fn commands_play_once_or_by_all_users() {
    let folder = Folder::new();
    let mut plan = folder.plan(
        "function event() end
        function cleanup() dyno.count('cleaned') end
        sysbench.cmdline.commands = {
           prepare = {function(tid) dyno.count('prepared', 1 + tid) end,
              sysbench.cmdline.PARALLEL_COMMAND},
           own = {function() dyno.count('own', sysbench.opt.threads) end}}",
    );
    plan.script.options.insert("threads".into(), "3".into());
    assert_eq!(describe(&plan).unwrap().commands, ["cleanup", "own", "prepare", "run"]);
    for (command, users) in [("prepare", 3), ("own", 1), ("cleanup", 1)] {
        let phase = phases(&plan, command).unwrap().0.remove(0);
        assert_eq!((phase.name.as_str(), phase.streams[0].connections), (command, users));
        assert_eq!(phase.stop, Stop::Count { events: u64::from(users) });
    }
    let mut user = User::load(&plan, &Seat { command: "prepare", number: 2, ..SEAT }).unwrap();
    assert_eq!(user.begin("prepare").unwrap(), DONE);
    assert_eq!(user.counters()["prepared"], 3);
    let seat = Seat { command: "own", users: 1, ..SEAT };
    let mut user = User::load(&plan, &seat).unwrap();
    assert_eq!(user.begin("own").unwrap(), DONE);
    assert_eq!(user.counters()["own"], 3, "a single user works for all");
    let failure = phases(&plan, "prepar").map(drop).unwrap_err().failure(None);
    assert!(failure.hint.contains("prepare"), "{failure:?}");
}

#[test]
fn events_end_a_stream_by_false_with_phases_and_by_true_without() {
    let more = |script: &str| match played_on_null(script, 0).unwrap().0 {
        Step::Done { more, .. } => more,
        step => panic!("{step:?}"),
    };
    assert!(more("function event() return false end"));
    assert!(!more("function event() return 1 end"));
    assert!(!more("function event() return false end dyno.phases = {}"));
    assert!(more("function event() return true end dyno.phases = {}"));
}

#[test]
fn transactions_are_named() {
    let script = "local n = 0
        function event() n = n + 1 dyno.transaction(n == 2 and 'pay' or 'order') end
        function other() end";
    let (first, mut user) = played_on_null(script, 0).unwrap();
    assert_eq!(first, Step::Done { transaction: 1, more: true });
    assert_eq!(user.begin("event").unwrap(), Step::Done { transaction: 2, more: true });
    assert_eq!(user.begin("event").unwrap(), Step::Done { transaction: 1, more: true });
    assert_eq!(user.begin("other").unwrap(), DONE);
    assert_eq!(user.transaction_names(), ["", "order", "pay"]);
}

#[test]
fn only_a_script_with_report_hooks_keeps_a_state_for_them_and_only_for_run() {
    let hooked = "sysbench.hooks.report_cumulative = sysbench.report_csv";
    let event = "function event() end\nfunction prepare() end";
    let keeps = |script: &str, command: &str| {
        let folder = Folder::new();
        let plan = folder.plan(script);
        phases(&plan, command).unwrap().1.is_some()
    };
    assert!(!keeps(event, "run"));
    assert!(keeps(&format!("{event}\n{hooked}"), "run"));
    assert!(!keeps(&format!("{event}\n{hooked}"), "prepare"));
    assert!(!keeps(&format!("{event}\nfunction thread_init() {hooked} end"), "run"));
}
