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
    assert_eq!(phases[0].stop, Stop::Count { events: 9, within_s: 0.0 });
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
        dyno.brief = function() return {n = tostring(sysbench.opt.n - 4)} end
        dyno.size_bytes = function() return sysbench.opt.n * 1000 end",
    );
    let told = describe(&plan).unwrap();
    let phase = &told.phases[0];
    let stop = Stop::Count { events: 7, within_s: 0.0 };
    assert_eq!((phase.stop.clone(), phase.settle), (stop, true));
    assert_eq!(phase.streams[0].function, "one");
    assert_eq!(phase.streams[0].pace, Pace::Poisson { rate_per_s: 2.5 });
    assert_eq!(told.ledger[0].counters["deleted"], -1);
    assert_eq!(told.size_bytes, 7000);
    assert_eq!(told.brief, BTreeMap::from([("n".to_owned(), "3".to_owned())]));
    assert_eq!(phases(&plan, "run").unwrap().0, told.phases);
}

/// The phases of a script of which an excerpt is played: `load`, then `write` of 50 events.
fn excerpt(streams: &str, phase: &str, events: u64) -> Result<Vec<Phase>, Error> {
    let folder = Folder::new();
    let mut plan = folder.plan(&format!(
        "function one() end
        local writes = {{{{name = 'w', run = 'one', connections = 1 {streams}}}}}
        local load = {{{{name = 'l', run = 'one', connections = 2}}}}
        function dyno.phases() return {{
           {{name = 'load', streams = load, stop = {{kind = 'count', events = 7}}}},
           {{name = 'write', streams = writes, stop = {{kind = 'count', events = 50}},
              warmup_s = 3}},
           {{name = 'after', streams = writes, stop = {{kind = 'time', duration_s = 1}}}}}} end"
    ));
    plan.excerpt = Some(Excerpt { phase: phase.to_owned(), events });
    Ok(phases(&plan, "run")?.0)
}

#[test]
fn an_excerpt_ends_with_so_many_events_of_its_phase() {
    let played = excerpt("", "write", 20).unwrap();
    let stops: Vec<_> = played.iter().map(|it| (it.name.as_str(), it.stop.clone())).collect();
    let counted = |events| Stop::Count { events, within_s: 0.0 };
    assert_eq!(stops, [("load", counted(7)), ("write", counted(20))]);
    assert_eq!(played[1].warmup_s, 0.0);
}

#[test]
fn an_excerpt_that_is_not_one_users_or_too_long_is_refused() {
    let why = |streams, phase, events| excerpt(streams, phase, events).unwrap_err().to_string();
    assert!(why("", "", 5).starts_with("phase load has 2 connections"));
    assert!(why("", "write", 51).starts_with("phase write has 50 events, not 51"));
    let paced = ", pace = {kind = 'uniform', rate_per_s = 9}";
    assert!(why(paced, "write", 5).starts_with("phase write is paced"));
    assert!(why("", "wrote", 5).starts_with("there is no phase wrote"));
}

#[test]
fn a_brief_play_is_made_of_the_scripts_own_options() {
    let error = described("dyno.brief = {rows = '5'} function event() end", &[]).unwrap_err();
    assert!(error.to_string().starts_with("dyno.brief names no option: 'rows'"), "{error}");
    let error = described("dyno.brief = {time = {}} function event() end", &[]).unwrap_err();
    assert!(error.to_string().starts_with("the script's dyno.brief is not as"), "{error}");
}

#[test]
fn a_wrong_declaration_has_a_message_of_its_own() {
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
fn commands_run_once_or_by_all_users() {
    let folder = Folder::new();
    let mut plan = folder.plan(
        "function event() end
        function cleanup() dyno.count('cleaned') end
        sysbench.cmdline.commands = {
           prepare = {function() dyno.count('prepared', 1 + sysbench.tid) end,
              sysbench.cmdline.PARALLEL_COMMAND},
           own = {function() dyno.count('own', sysbench.opt.threads) end}}",
    );
    plan.script.options.insert("threads".into(), "3".into());
    assert_eq!(describe(&plan).unwrap().commands, ["cleanup", "own", "prepare", "run"]);
    for (command, users) in [("prepare", 3), ("own", 1), ("cleanup", 1)] {
        let phase = phases(&plan, command).unwrap().0.remove(0);
        assert_eq!((phase.name.as_str(), phase.streams[0].connections), (command, users));
        assert_eq!(phase.stop, Stop::Count { events: u64::from(users), within_s: 0.0 });
    }
    let mut user =
        User::load(&plan, &UserIdentity { command: "prepare", number: 2, ..IDENTITY }).unwrap();
    assert_eq!(user.begin("prepare").unwrap(), DONE);
    assert_eq!(user.counters()["prepared"], 3);
    let identity = UserIdentity { command: "own", users: 1, ..IDENTITY };
    let mut user = User::load(&plan, &identity).unwrap();
    assert_eq!(user.begin("own").unwrap(), DONE);
    assert_eq!(user.counters()["own"], 3, "a single user works for all");
    let failure = phases(&plan, "prepar").map(drop).unwrap_err().failure(None);
    assert!(failure.hint.contains("prepare"), "{failure:?}");
}

#[test]
fn events_end_a_stream_by_false_with_phases_and_by_true_without() {
    let more = |script: &str| match play_on_null(script, 0).unwrap().0 {
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
    let (first, mut user) = play_on_null(script, 0).unwrap();
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

// Options of a script and of everyone.

const SCRIPT: &str = "-- Plays nothing.
-- It only declares.

sysbench.cmdline.options = {
   table_size = {'Rows', 1000},
   ['dash-ed'] = {'A text', 'x'},
   flag = {'A switch', false},
   list = {'Names', {'a', 'b'}},
   whole = {'Whole', 3, sysbench.cmdline.ARG_INT},
   bytes = {'Size', '1M', sysbench.cmdline.ARG_SIZE},
   unset = {'Nothing by default'},
}
early = sysbench.opt.table_size
function event()
   local opt = sysbench.opt
   assert(early == opt.table_size and type(opt.table_size) == 'number')
   dyno.count('n', opt.table_size)
   seen = table.concat({opt.dash_ed, opt['dash-ed'], tostring(opt.flag),
      table.concat(opt.list, '+'),
  opt.whole, tostring(opt.bytes), tostring(opt.unset), opt.rand_type, opt.threads}, ' ')
   assert(seen == expected(), seen)
end\n";

fn run(options: &[(&str, &str)], expected: &str) -> Result<u64, Error> {
    let folder = Folder::new();
    let mut plan = folder.plan(&format!("{SCRIPT}function expected() return '{expected}' end"));
    let options = options.iter().map(|(name, text)| (name.to_string(), text.to_string()));
    plan.script.options = options.collect();
    Ok(started(&plan)?.1.counters()["n"])
}

#[test]
fn defaults_give_the_types_and_dashes_are_underscores() {
    assert_eq!(run(&[], "x x false a+b 3 1048576  special 1").unwrap(), 1000);
    let set = [
        ("table-size", "2e3"),
        ("dash_ed", "y z"),
        ("flag", "on"),
        ("list", "c, d,e"),
        ("whole", "-4"),
        ("bytes", "2k"),
        ("unset", "now"),
        ("rand-type", "zipfian"),
    ];
    assert_eq!(run(&set, "y z y z true c+d+e -4 2048 now zipfian 1").unwrap(), 2000);
}

#[test]
fn what_is_unknown_or_of_another_type_is_refused() {
    for (name, text, message, hint) in [
        ("table_siz", "1", "unknown option 'table_siz'", "did you mean table_size?"),
        ("table_size", "many", "option table_size is not a number: \"many\"", "\"1000\""),
        ("table_size", "nan", "option table_size is not a number: \"nan\"", "\"1000\""),
        ("whole", "1.5", "option whole is not a whole number: \"1.5\"", "\"3\""),
        ("nothing_like_it", "1", "unknown option 'nothing_like_it'", "known: arrivals, "),
        ("flag", "maybe", "option flag is not on or off: \"maybe\"", "\"off\""),
        ("rand_type", "zipf", "unknown value of option rand_type 'zipf'", "zipfian"),
    ] {
        let failure = run(&[(name, text)], "").unwrap_err().failure(None);
        assert_eq!(failure.blame, "user");
        assert_eq!(failure.message, message);
        assert!(failure.hint.contains(hint), "{failure:?}");
    }
}

#[test]
fn a_general_option_out_of_range_is_refused_before_anything_is_played() {
    for (name, text, hint) in [
        ("threads", "0", "1 to 65536"),
        ("threads", "1000000", "1 to 65536"),
        ("time", "-5", "0 or more"),
        ("rate", "-1", "0 or more"),
    ] {
        let folder = Folder::new();
        let mut plan = folder.plan(SCRIPT);
        plan.script.options.insert(name.into(), text.into());
        let failure = describe(&plan).unwrap_err().failure(None);
        assert_eq!(failure.message, format!("option {name} is out of range: {text}"));
        assert_eq!(failure.hint, hint);
    }
}

#[test]
fn a_description_lists_all_with_their_owners() {
    let folder = Folder::new();
    let mut plan = folder.plan(SCRIPT);
    plan.script.options.insert("table-size".into(), "5".into());
    let told = describe(&plan).unwrap();
    assert_eq!(told.summary, "Plays nothing.\nIt only declares.");
    let option = |name: &str| told.options.iter().find(|it| it.name == name).unwrap().clone();
    let size = option("table_size");
    assert_eq!((size.default.as_str(), size.value.as_str()), ("1000", "5"));
    assert_eq!((size.help.as_str(), size.owner.as_str()), ("Rows", "script"));
    assert_eq!(option("flag").default, "off");
    assert_eq!(option("list").value, "a,b");
    let rand_type = option("rand_type");
    assert_eq!((rand_type.value.as_str(), rand_type.owner.as_str()), ("special", "general"));
    assert_eq!(told.commands, ["run"]);
}

#[test]
fn a_title_in_the_opening_comment_names_the_one_phase_of_a_script_and_is_no_part_of_its_summary() {
    let folder = Folder::new();
    let script = "-- Reads rows.\n-- title: read a row by key\n\nfunction event() end\n";
    let told = describe(&folder.plan(script)).unwrap();
    assert_eq!(told.summary, "Reads rows.");
    assert_eq!(told.phases[0].title, "read a row by key");
    let own = "-- title: all of it\n\nfunction event() end\ndyno.phases = {{name = 'run', \
               title = 'its own', stop = {kind = 'time', duration_s = 1}, \
               streams = {{name = 'e', run = 'event', connections = 1}}}}\n";
    assert_eq!(describe(&folder.plan(own)).unwrap().phases[0].title, "its own");
}

// sysbench's own words for options.

/// What a script reads of an option on a server that is never reached.
fn read_of(session: Session, option: &str, set: &[(&str, &str)]) -> Result<String, Error> {
    let folder = Folder::new();
    let mut plan = folder.plan(&format!(
        "dyno.size_bytes = function()
           error('it is <' .. tostring(sysbench.opt.{option}) .. '>')
         end"
    ));
    plan.session = session;
    plan.script.options.extend(set.iter().map(|(name, text)| (name.to_string(), text.to_string())));
    let told = describe(&plan).map(drop).unwrap_err();
    let text = told.to_string();
    match text.split_once("it is <") {
        Some((_, rest)) => Ok(rest.split('>').next().unwrap().to_owned()),
        None => Err(told),
    }
}

fn mysql() -> Session {
    Session::Mysql(Login {
        host: "/run/my.sock".to_owned(),
        port: 0,
        user: "tester".to_owned(),
        password: Some("secret".to_owned()),
        database: "sbtest".to_owned(),
        tls: Tls { mode: TlsMode::Disable, ca: None },
        settings: Vec::new(),
        tells_notices: false,
        proof: Default::default(),
        reads_only: None,
    })
}

#[test]
fn db_driver_is_the_engines_and_no_other_is_believed() {
    let null = Session::Null { delay_ns: 0 };
    assert_eq!(read_of(mysql(), "db_driver", &[]).unwrap(), "mysql");
    assert_eq!(read_of(mysql(), "db_driver", &[("db-driver", "mysql")]).unwrap(), "mysql");
    assert_eq!(read_of(null.clone(), "db_driver", &[("db_driver", "mysql")]).unwrap(), "mysql");
    assert_eq!(read_of(null, "db_driver", &[]).unwrap(), "pgsql");
    let refused = read_of(mysql(), "db_driver", &[("db_driver", "pgsql")]).unwrap_err();
    assert!(refused.to_string().contains("db_driver is pgsql, but the engine speaks mysql"));
}

#[test]
fn how_the_server_is_reached_can_be_read_but_for_the_password_and_not_be_set() {
    for (option, value) in [
        ("mysql_db", "sbtest"),
        ("mysql_user", "tester"),
        ("mysql_socket", "/run/my.sock"),
        ("mysql_host", "localhost"),
        ("mysql_password", ""),
        ("pgsql_db", ""),
    ] {
        assert_eq!(read_of(mysql(), option, &[]).unwrap(), value, "{option}");
    }
    let refused = read_of(mysql(), "mysql_db", &[("mysql-db", "other")]).unwrap_err().failure(None);
    assert_eq!(refused.message, "option mysql_db of sysbench's cannot be set here");
    assert!(refused.hint.contains("the candidate decides"), "{refused:?}");
}

#[test]
fn older_names_of_options_are_the_newer() {
    let null = Session::Null { delay_ns: 0 };
    let old = [("num-threads", "3")];
    assert_eq!(read_of(null.clone(), "threads", &old).unwrap(), "3");
    assert_eq!(read_of(null.clone(), "num_threads", &old).unwrap(), "3");
    let both = [("max_requests", "3"), ("events", "4")];
    let refused = read_of(null, "events", &both).unwrap_err().to_string();
    assert!(refused.contains("max_requests and events are one"), "{refused}");
}

#[test]
fn an_option_without_a_default_is_empty_by_its_type() {
    let script = "local a = sysbench.cmdline
        a.options = { b = {'', nil, a.ARG_BOOL}, i = {'', nil, a.ARG_INT},
           d = {'', nil, a.ARG_DOUBLE}, s = {''}, l = {'', nil, a.ARG_LIST} }
        function event()
           local o = sysbench.opt
           assert(o.b == true and o.i == 0 and o.d == 0 and o.s == '' and #o.l == 0)
           dyno.count('n', 1)
        end";
    assert_eq!(counted(script), 1);
}

#[test]
fn a_script_that_declares_no_options_finds_all_as_globals() {
    let folder = Folder::new();
    let mut plan = folder.plan(
        "function rate() end
        function event()
           assert(oltp_table_size == '7' and num_threads == 1 and events == 0, num_threads)
           assert(db_driver == 'pgsql' and type(rate) == 'function' and test:match('script.lua$'))
           dyno.count('n', 1)
        end",
    );
    plan.script.options.insert("oltp-table-size".into(), "7".into());
    assert_eq!(started(&plan).unwrap().1.counters()["n"], 1);
    plan.script.options.insert("oltp-tabel-size".into(), "7".into());
    let refused = describe(&plan).map(drop).unwrap_err();
    assert!(refused.to_string().contains("unknown option 'oltp_tabel_size'"), "{refused}");
}
