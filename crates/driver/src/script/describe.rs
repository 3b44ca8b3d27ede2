//! What a script declares: options, commands, phases, ledger, size.

use std::collections::{BTreeMap, BTreeSet};

use mlua::{LuaSerdeExt, Value};
use serde::de::DeserializeOwned;

use super::UserIdentity;
use super::lua_state::LuaState;
use super::main_state::MainState;
use crate::plan::Plan;
use crate::plan::error::{self, Error};
use crate::plan::event::{Description, ScriptOption};
use crate::plan::phase::{OWN_LOOP, Pace, Phase, Primary, Role, Stop, Stream};

/// How many connections a stream may have; each has a state of its own.
const USERS: std::ops::RangeInclusive<u32> = 1..=65536;

/// Loads the script without a session and asks it.
pub fn describe(plan: &Plan) -> Result<Description, Error> {
    let state = load(plan, "run")?;
    let commands: Vec<String> = state.call("commands", ())?;
    let has_run = commands.iter().any(|name| name == "run");
    let Comment { summary, title } = opening_comment(plan)?;
    let phases = if has_run { run_phases(&state)? } else { Vec::new() };
    let streams = phases.iter().flat_map(|phase| &phase.streams);
    let functions: BTreeSet<&str> = streams.map(|stream| stream.function.as_str()).collect();
    let in_lua = state.call("list_in_lua", functions.into_iter().collect::<Vec<_>>())?;
    plan.client.map_or(Ok(()), |client| client.check_phases(&phases))?;
    Ok(Description {
        summary,
        options: options(&state)?,
        phases: entitle(phases, title),
        ledger: declared(&state, "ledger")?,
        plans: declared(&state, "plans")?,
        size_bytes: size(&state)?,
        brief: brief(&state)?,
        in_lua,
        commands,
    })
}

/// The phases that a command plays, and the state that begins and ends them.
pub fn phases(plan: &Plan, command: &str) -> Result<(Vec<Phase>, Option<MainState>), Error> {
    let state = load(plan, command)?;
    if command == "run" {
        let phases = run_phases(&state)?;
        refuse_interleaving(plan, &phases)?;
        plan.client.map_or(Ok(()), |client| client.check_phases(&phases))?;
        let phases = match &plan.excerpt {
            Some(excerpt) => excerpt.cut(phases)?,
            None => phases,
        };
        return Ok((phases, MainState::of(state, plan.reports)?));
    }
    if state.slot(command, true)?.is_none() {
        return Err(state.no_function(command));
    }
    let parallel: bool = state.call("is_parallel", command)?;
    let users = if parallel { threads(&state)? } else { 1 };
    Ok((vec![command_phase(command, users)], None))
}

/// An interleaved engine stands still in others' slices, and a script's own loop goes by the wall
/// clock.
fn refuse_interleaving(plan: &Plan, phases: &[Phase]) -> Result<(), Error> {
    let mut streams = phases.iter().flat_map(|phase| &phase.streams);
    match plan.turns.is_some() && streams.any(Stream::is_own_loop) {
        true => Err(Error::user("a script with a thread_run of its own cannot be interleaved")
            .hint("play its restarts one after the other (--sequential)")),
        false => Ok(()),
    }
}

fn load(plan: &Plan, command: &str) -> Result<LuaState, Error> {
    let identity =
        UserIdentity { command, phase: "", stream: "", number: 0, users: 0, turns: None };
    LuaState::load(plan, &identity)
}

/// What a script says of itself before its first statement.
struct Comment {
    /// Its first comment block, without a shebang, rulers, a title and a licence.
    summary: String,
    /// What stands behind `-- title: `; empty where there is none.
    title: String,
}

/// Reads it: `--` begins a comment in Lua and in SQL.
fn opening_comment(plan: &Plan) -> Result<Comment, Error> {
    let text = std::fs::read(&plan.script.path)
        .map_err(|error| Error::user("cannot read the script").because(error))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (mut blocks, mut title) = (vec![Vec::new()], String::new());
    for line in text.lines().filter(|line| !line.starts_with("#!")) {
        match line.trim_start().strip_prefix("--") {
            Some(comment) => {
                let words = comment.trim().trim_matches('-').trim().to_owned();
                if let Some(told) = words.strip_prefix("title:") {
                    title = told.trim().to_owned();
                } else if let Some(block) = blocks.last_mut() {
                    block.push(words);
                }
            }
            None if line.trim().is_empty() => blocks.push(Vec::new()),
            None => break,
        }
    }
    let blocks = blocks.into_iter().map(|lines| lines.join("\n").trim().to_owned());
    let told = |block: &String| !block.is_empty() && !is_licence(block);
    Ok(Comment { summary: blocks.into_iter().find(told).unwrap_or_default(), title })
}

/// The script's title is that of its phase where it has one phase without.
fn entitle(mut phases: Vec<Phase>, title: String) -> Vec<Phase> {
    if phases.len() == 1 && phases[0].title.is_empty() {
        phases[0].title = title;
    }
    phases
}

fn is_licence(block: &str) -> bool {
    ["Copyright", "free software", "WARRANTY", "SPDX", "along with this program"]
        .iter()
        .any(|word| block.contains(word))
}

fn options(state: &LuaState) -> Result<Vec<ScriptOption>, Error> {
    read(state, "options", Value::Table(state.options.clone()))
}

/// `dyno.phases`, or sysbench's single loop over `event`.
fn run_phases(state: &LuaState) -> Result<Vec<Phase>, Error> {
    let declared = state.dyno_value("phases")?;
    if declared.is_nil() {
        if state.slot("event", false)?.is_none() {
            return Err(state.no_function("event"));
        }
        return Ok(vec![general_phase(state)?]);
    }
    let phases: Vec<Phase> = read(state, "phases", declared)?;
    differ("phases", phases.iter().map(|phase| phase.name.as_str()))?;
    for phase in &phases {
        ends(phase)?;
        differ("streams of a phase", phase.streams.iter().map(|stream| stream.name.as_str()))?;
    }
    for stream in phases.iter().flat_map(|phase| &phase.streams) {
        if !USERS.contains(&stream.connections) {
            let found = stream.connections;
            let error = Error::user(format!("stream {} has {found} connections", stream.name));
            return Err(error.hint("1 to 65536; an option of the script sets them"));
        }
        if stream.is_own_loop() {
            let error = Error::user(format!("stream {} plays {OWN_LOOP}", stream.name));
            return Err(error.hint("that is sysbench's loop over event(): name a function's event"));
        }
        if state.slot(&stream.function, false)?.is_none() {
            return Err(state.no_function(&stream.function));
        }
    }
    Ok(phases)
}

/// Refuses a phase that would measure nothing, or never end.
fn ends(phase: &Phase) -> Result<(), Error> {
    let name = &phase.name;
    let is_length = |it: f64| it >= 0.0 && it.is_finite();
    if !is_length(phase.warmup_s) {
        let error = Error::user(format!("the warm-up of phase {name} is {} s", phase.warmup_s));
        return Err(error.hint("warmup_s takes seconds from 0 on"));
    }
    match &phase.stop {
        Stop::Time { duration_s } if !(*duration_s > 0.0 && is_length(*duration_s)) => {
            let error = Error::user(format!("phase {name} lasts {duration_s} s"));
            Err(error.hint("set the script's option for its length (often time) above 0"))
        }
        Stop::Count { within_s, .. } if !is_length(*within_s) => {
            let error = Error::user(format!("phase {name} ends within {within_s} s"));
            Err(error.hint("within_s takes seconds; 0: however long it takes"))
        }
        Stop::Stream { stream, .. } => {
            let names = phase.streams.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
            if names.contains(stream) {
                return Ok(());
            }
            let message = format!("phase {name} ends with stream {stream}, which it has not");
            Err(Error::user(message).hint(error::nearest_or_all(stream, names)))
        }
        _ => Ok(()),
    }
}

/// Refuses two things of one name, since all that is told of them is told by it.
fn differ<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(Error::user(format!("two {what} are called {name}"))
            .hint("give each a name of its own")),
        None => Ok(()),
    }
}

fn general_phase(state: &LuaState) -> Result<Phase, Error> {
    let (duration_s, events): (f64, f64) = (number(state, "time")?, number(state, "events")?);
    let stop = if events > 0.0 {
        // Both given, as sysbench's command line always has them, both end it.
        let is_limited = state.call::<bool>("is_given", "time")?;
        Stop::Count { events: events as u64, within_s: if is_limited { duration_s } else { 0.0 } }
    } else if duration_s > 0.0 {
        Stop::Time { duration_s }
    } else {
        return Err(Error::user("the options time and events are both 0: the run would not end"));
    };
    let function = if state.call("has_own_loop", ())? { OWN_LOOP } else { "event" }.to_owned();
    let event = stream("event", threads(state)?);
    Ok(Phase {
        streams: vec![Stream { pace: pace(state)?, function, ..event }],
        stop,
        warmup_s: number(state, "warmup_time")?,
        stationary: true,
        primary: vec![Primary {
            stream: "event".to_owned(),
            metric: "rate_per_s".to_owned(),
            margin_percent: None,
        }],
        expected_s: duration_s,
        ..command_phase("run", 1)
    })
}

fn pace(state: &LuaState) -> Result<Pace, Error> {
    let rate_per_s = number(state, "rate")?;
    let arrivals: String = state.call("general", "arrivals")?;
    Ok(match arrivals.as_str() {
        _ if rate_per_s == 0.0 => Pace::Closed,
        "poisson" => Pace::Poisson { rate_per_s },
        "burst" => Pace::Burst { rate_per_s },
        _ => Pace::Uniform { rate_per_s },
    })
}

fn command_phase(command: &str, users: u32) -> Phase {
    Phase {
        title: String::new(),
        group: String::new(),
        name: command.to_owned(),
        streams: vec![Stream { role: Role::Writer, ..stream(command, users) }],
        stop: Stop::Count { events: u64::from(users), within_s: 0.0 },
        warmup_s: 0.0,
        stationary: false,
        settle: false,
        primary: Vec::new(),
        expected_s: 0.0,
    }
}

fn stream(function: &str, connections: u32) -> Stream {
    Stream {
        name: function.to_owned(),
        function: function.to_owned(),
        connections,
        pace: Pace::Closed,
        role: Role::Reader,
        unit: "event".to_owned(),
        units_per_event: 1,
    }
}

fn number(state: &LuaState, option: &str) -> Result<f64, Error> {
    let value: f64 = state.call("general", option)?;
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(Error::user(format!("option {option} is out of range: {value}")).hint("0 or more"))
}

fn threads(state: &LuaState) -> Result<u32, Error> {
    match number(state, "threads")? {
        users if (1.0..=65536.0).contains(&users) => Ok(users as u32),
        other => {
            let error = Error::user(format!("option threads is out of range: {other}"));
            Err(error.hint("1 to 65536"))
        }
    }
}

/// What `dyno.name` says; nothing where it is absent.
fn declared<T: DeserializeOwned + Default>(state: &LuaState, name: &str) -> Result<T, Error> {
    let declared = state.dyno_value(name)?;
    if declared.is_nil() {
        return Ok(T::default());
    }
    read(state, name, declared)
}

/// `dyno.brief`, whose names are the script's own options.
fn brief(state: &LuaState) -> Result<BTreeMap<String, String>, Error> {
    let brief: BTreeMap<String, String> = declared(state, "brief")?;
    let known = options(state)?;
    match brief.keys().find(|name| !known.iter().any(|option| &option.name == *name)) {
        Some(name) => Err(Error::user(format!("dyno.brief names no option: '{name}'"))
            .hint("declare it in sysbench.cmdline.options")),
        None => Ok(brief),
    }
}

fn size(state: &LuaState) -> Result<u64, Error> {
    let declared = state.dyno_value("size_bytes")?;
    match declared {
        Value::Nil => Ok(0),
        Value::Integer(bytes) if bytes >= 0 => Ok(bytes as u64),
        Value::Number(bytes) if bytes >= 0.0 => Ok(bytes as u64),
        other => Err(Error::user("dyno.size_bytes of the script is not a number of bytes")
            .because(other.type_name())),
    }
}

/// Lua's tables as our types, with what is wrong in the declaration's own words.
fn read<T: DeserializeOwned>(state: &LuaState, what: &str, value: Value) -> Result<T, Error> {
    state.lua.from_value(value).map_err(|error| {
        let cause = error.to_string();
        let cause = cause.strip_prefix("deserialize error: ").unwrap_or(&cause).to_owned();
        Error::user(format!("the script's dyno.{what} is not as it should be")).because(cause)
    })
}
