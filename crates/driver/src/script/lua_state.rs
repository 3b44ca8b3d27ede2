//! One Lua state with a script in it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, Table, Thread, Value};

use super::api::SharedHandle;
use super::errors::Reported;
use super::pacing::Wait;
use super::random::{Distribution, Origin, Rand, Shape};
use super::shared::Shared;
use super::{UserIdentity, api, prelude, watch};
use crate::plan::error::Error;
use crate::plan::{Plan, Session, error};
use crate::schedule::clock::{NAP_NS, now_ns};
use crate::sessions::{self, Engine, rows};
use crate::wire;

/// A declared event's program and transaction type.
pub type Declared = Option<(usize, i64)>;

/// One user's Lua state, the script loaded.
pub struct LuaState {
    pub lua: Lua,
    pub shared: SharedHandle,
    pub raw: Table,
    pub number: u32,
    path: PathBuf,
    /// The general and the script's own options, as lua/options.lua lists them.
    pub options: Table,
}

impl LuaState {
    /// Makes a state, fills it with sysbench's and Dyno's functions, and runs the script in it.
    pub fn load(plan: &Plan, identity: &UserIdentity) -> Result<Self, Error> {
        let path = plan.script.path.clone();
        let text = read_script(&path)?;
        let lua = Lua::new();
        let shared = Rc::new(RefCell::new(Shared::new(
            plan.session.clone(),
            rand_before_options(plan, identity),
        )));
        if let Some(turns) = identity.turns {
            shared.borrow_mut().pacing.turns = Arc::clone(turns);
        }
        let is_dealt = plan.client.is_some_and(|client| client.of > 1);
        shared.borrow_mut().pacing.is_dealt = is_dealt;
        if identity.number == 0 {
            shared.borrow_mut().account.keep_many();
        }
        let raw = api::table(&lua, &shared).map_err(internal)?;
        let options = lua.create_table().map_err(internal)?;
        let engine = sessions::descriptor(&plan.session).engine;
        let state = Self { lua, shared, raw, number: identity.number, path, options };
        state.fill(plan, identity)?;
        state.shared.borrow_mut().is_loading = engine == Engine::Served;
        let in_script = watch::in_script();
        state.run_script(plan, &text)?;
        drop(in_script);
        state.shared.borrow_mut().is_loading = false;
        let list: Table = state.call("settle_options", ())?;
        // Once more: the script may have declared these options with defaults of its own.
        state.limit_memory(identity)?;
        state.seed(plan, identity)?;
        Ok(Self { options: list, ..state })
    }

    /// The coroutine that plays the script's functions.
    pub fn coroutine(&self) -> Result<Thread, Error> {
        self.raw.raw_get("coroutine").map_err(internal)
    }

    /// The number under which lua/functions.lua keeps a function; `None`: the script has none.
    pub fn slot(&self, name: &str, is_command: bool) -> Result<Option<i64>, Error> {
        self.call("slot", (name, is_command))
    }

    /// What of a kept function the driver can play alone, if it is a declared event.
    pub fn declaration(&self, slot: Option<i64>) -> Result<Declared, Error> {
        let (is_good, program, kind): (bool, _, _) = self.call("declaration", slot)?;
        if is_good { Ok(Option::zip(program, kind)) } else { Err(self.reported_error()) }
    }

    /// Calls one of the functions that lua/*.lua put into `raw`.
    pub fn call<R: mlua::FromLuaMulti>(
        &self,
        name: &str,
        arguments: impl mlua::IntoLuaMulti,
    ) -> Result<R, Error> {
        let function: Function = self.raw.raw_get(name).map_err(internal)?;
        function.call(arguments).map_err(|error| self.lua_error(&error))
    }

    /// The same in a coroutine of its own, so that it may wait for answers, and waits for them.
    pub fn call_waiting<R: mlua::FromLua>(
        &self,
        name: &str,
        arguments: impl mlua::IntoLuaMulti,
    ) -> Result<R, Error> {
        let function: Function = self.raw.raw_get(name).map_err(internal)?;
        let coroutine = self.lua.create_thread(function).map_err(internal)?;
        let mut resumed = coroutine.resume::<Value>(arguments);
        while resumed.is_ok() && coroutine.is_resumable() {
            self.waits_until_ns()?;
            while let Some(until_ns) = self.poll_pending() {
                wire::wait_in_turn(until_ns.min(now_ns() + NAP_NS));
            }
            resumed = coroutine.resume(self.take_answer()?);
        }
        let answer = resumed.map_err(|error| self.lua_error(&error))?;
        R::from_lua(answer, &self.lua).map_err(internal)
    }

    /// What `dyno.name` holds, called if it is a function.
    pub fn dyno_value(&self, name: &str) -> Result<Value, Error> {
        self.call("declared", name)
    }

    /// The script's counters, and those of its declared events.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        let counted: Result<BTreeMap<String, f64>, Error> = self.call("counters", ());
        let counted = counted.unwrap_or_default();
        let mut counters: BTreeMap<_, _> =
            counted.into_iter().map(|(name, n)| (name, n as u64)).collect();
        for program in &self.shared.borrow().statements.programs {
            for (name, total) in program.counters.iter().zip(&program.total) {
                *counters.entry(name.clone()).or_insert(0) += total;
            }
        }
        counters
    }

    /// Polls for the request under way; `None`: the coroutine can go on.
    pub fn poll_pending(&self) -> Option<u64> {
        self.shared.borrow_mut().poll_pending()
    }

    /// What the coroutine waited for, as `wait` in lua/requests.lua hands it on; nil: nothing.
    pub fn take_answer(&self) -> Result<Value, Error> {
        let mut shared = self.shared.borrow_mut();
        let Some(sent) = shared.answers.arrived.take() else { return Ok(Value::Nil) };
        api::answer(&self.lua, &shared, sent).map_err(internal)
    }

    /// Until when the coroutine, which has just yielded, may wait.
    pub fn waits_until_ns(&self) -> Result<u64, Error> {
        match self.shared.borrow().pacing.wait {
            Wait::Request { until_ns, .. } | Wait::Sleep { until_ns } => Ok(until_ns),
            Wait::Restart => Ok(0),
            Wait::Nothing | Wait::Answer(_) => {
                Err(Error::user("the script yielded outside a coroutine of its own")
                    .hint(
                        "coroutine.yield belongs into a function given to coroutine.create or wrap",
                    )
                    .on(self.number))
            }
        }
    }

    /// The error of a function that lua/functions.lua reported as failed.
    pub fn reported_error(&self) -> Error {
        let mut shared = self.shared.borrow_mut();
        let place = shared.errors.place.take().map(|place| self.full(&place));
        let Reported { text, restart, function } = shared.errors.report.take().unwrap_or_default();
        let refused = shared.errors.refused.take_if(|refused| refused.to_string() == text);
        let error = if let Some(stop) = shared.errors.stop.clone() {
            stop
        } else if let Some(refused) = refused {
            // no event fails of it, for all to come would
            shared.errors.stop.insert(refused).clone()
        } else if let Some(failure) = shared.errors.failure.take()
            && (restart || text == shared.errors.thrown)
        {
            failure.in_script_words(&text)
        } else {
            return self.of_lua(&text, place).in_function(function).on(self.number);
        };
        let error = error.in_function(function);
        match place {
            Some(place) => error.at(place).on(self.number),
            None => error.on(self.number),
        }
    }

    /// An error that came out of Lua by another way than [`Self::reported_error`].
    pub fn lua_error(&self, error: &mlua::Error) -> Error {
        let text = first_line(error);
        let mut shared = self.shared.borrow_mut();
        let refused = shared.errors.refused.take_if(|refused| refused.to_string() == text);
        match shared.errors.stop.clone().or(refused) {
            Some(stop) => stop.on(self.number),
            None => self.of_lua(&text, None).on(self.number),
        }
    }

    /// A missing function, with the nearest ones.
    pub fn no_function(&self, name: &str) -> Error {
        let names: Vec<String> = self.call("function_names", ()).unwrap_or_default();
        Error::user(format!("the script {} has no function {name}", self.path.display()))
            .hint(error::nearest(name, names.iter().map(String::as_str)))
    }

    fn fill(&self, plan: &Plan, identity: &UserIdentity) -> Result<(), Error> {
        let table = self.identity(plan, identity).map_err(internal)?;
        self.raw.raw_set("identity", table).map_err(internal)?;
        self.assemble(prelude::PRELUDE, prelude::PARTS)?;
        self.limit_memory(identity)?;
        self.seed(plan, identity)
    }

    /// What the answers of the whole process may take, and this state.
    fn limit_memory(&self, identity: &UserIdentity) -> Result<(), Error> {
        let half = self.call::<f64>("general", "memory_bytes")? as usize / 2;
        rows::set_limit(half);
        self.lua.set_memory_limit(memory_of_user(half, identity.users)).map_err(internal)?;
        Ok(())
    }

    fn seed(&self, plan: &Plan, identity: &UserIdentity) -> Result<(), Error> {
        let shape = self.shape()?;
        let seed: f64 = self.call("general", "rand_seed")?;
        let seed = if seed == 0.0 { plan.seed } else { seed as u64 };
        self.shared.borrow_mut().rand = Rand::new(&origin(seed, identity), shape);
        Ok(())
    }

    fn identity(&self, plan: &Plan, identity: &UserIdentity) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        table.raw_set("number", identity.number)?;
        // A command that one user plays still works for all: it reads the option itself.
        let is_stream = identity.command == "run" && identity.users > 0;
        table.raw_set("users", is_stream.then_some(identity.users))?;
        table.raw_set("is_main", identity.users == 0)?;
        table.raw_set("command", identity.command)?;
        table.raw_set("argv", plan.script.argv.as_slice())?;
        table.raw_set("seed", plan.seed)?;
        table.raw_set("path", self.path.to_string_lossy().as_ref())?;
        table.raw_set("folder", folder(&self.path).to_string_lossy().as_ref())?;
        let session = sessions::descriptor(&plan.session);
        table.raw_set("engine", session.kind)?;
        table.raw_set("dialect", session.dialect)?;
        let options = plan.script.options.iter();
        let options: BTreeMap<String, &str> =
            options.map(|(name, text)| (name.replace('-', "_"), text.as_str())).collect();
        table.raw_set("options", options)?;
        if let Session::Mysql(login) | Session::Postgres(login) = &plan.session {
            let reached = self.lua.create_table()?;
            let socket = Some(&login.host).filter(|host| host.starts_with('/'));
            reached.raw_set("host", socket.map_or(login.host.as_str(), |_| "localhost"))?;
            reached.raw_set("socket", socket.map_or("", String::as_str))?;
            reached.raw_set("port", login.port)?;
            reached.raw_set("user", login.user.as_str())?;
            reached.raw_set("database", login.database.as_str())?;
            table.raw_set("login", reached)?;
        }
        Ok(table)
    }

    fn shape(&self) -> Result<Shape, Error> {
        let name: String = self.call("general", "rand_type")?;
        Ok(Shape {
            default: Distribution::named(&name).unwrap_or(Distribution::Special),
            iterations: self.call::<f64>("general", "rand_spec_iter")? as u32,
            special_percent: self.call("general", "rand_spec_pct")?,
            special_share: self.call("general", "rand_spec_res")?,
            pareto_h: self.call("general", "rand_pareto_h")?,
            zipfian_exponent: self.call("general", "rand_zipfian_exp")?,
        })
    }

    /// Names the chunk by its file only: LuaJIT cuts names of more than 60 bytes in its messages.
    /// What sysbench is called with is Lua, whatever it is named.
    fn run_script(&self, plan: &Plan, text: &[u8]) -> Result<(), Error> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let text_in_lua = self.lua.create_string(text).map_err(internal)?;
        if prelude::is_pgbench(&self.path, text) && !plan.is_line_of_sysbench() {
            api::add_scripts(&self.lua, &self.raw, &self.shared).map_err(internal)?;
            self.assemble(prelude::PGBENCH, prelude::PGBENCH_PARTS)?;
            return self.call("run_pgbench", (text_in_lua, name));
        }
        self.call("run_script", (text_in_lua, format!("@{name}")))
    }

    /// Runs a text with `raw`, `identity`, and a function that runs one of the parts by its name.
    fn assemble(&self, text: prelude::Text, parts: &'static [prelude::Text]) -> Result<(), Error> {
        let identity: Table = self.raw.raw_get("identity").map_err(internal)?;
        let (run, part) = prelude::functions(&self.lua, text, parts).map_err(internal)?;
        run.call((&self.raw, identity, part)).map_err(|error| self.lua_error(&error))
    }

    /// A Lua error's text without its place, which stands beside it.
    fn of_lua(&self, text: &str, located: Option<String>) -> Error {
        let (place, text) = match placed(text) {
            Some((place, rest)) => (Some(self.full(place)), rest),
            None => (located, text),
        };
        let is_full = text.lines().next().is_some_and(|line| line.ends_with(NO_MEMORY));
        let error = match is_full {
            true => self.out_of_memory(),
            false => Error::of_script(text.trim()),
        };
        match place {
            Some(place) => error.at(place),
            None => error,
        }
    }

    fn out_of_memory(&self) -> Error {
        let mib = self.lua.set_memory_limit(0).unwrap_or(0) >> 20;
        Error::user(format!("a user's Lua state takes more than the {mib} MiB that it may"))
            .hint("let the script hold less, or raise the option memory_bytes: half is for Lua")
    }

    /// `file.lua:12` as a path, where the script's folder holds that file.
    fn full(&self, place: &str) -> String {
        let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
        let beside = |name| self.path.with_file_name(name);
        match beside(file).is_file() {
            true => beside(place).display().to_string(),
            false => place.to_owned(),
        }
    }
}

/// How Lua's and mlua's words end where an allocation was refused.
const NO_MEMORY: &str = "not enough memory";

/// No state has less, however many there are: garbage alone takes as much as what is alive.
const LEAST_OF_USER: usize = 32 << 20;

/// A user's share of what the Lua states of a stream may take.
fn memory_of_user(all: usize, users: u32) -> usize {
    (all / users.max(1) as usize).max(LEAST_OF_USER)
}

fn origin<'a>(seed: u64, identity: &UserIdentity<'a>) -> Origin<'a> {
    Origin {
        seed,
        names: [identity.command, identity.phase, identity.stream],
        number: identity.number,
        users: identity.users,
    }
}

/// Random numbers until the options are read.
fn rand_before_options(plan: &Plan, identity: &UserIdentity) -> Rand {
    let shape = Shape {
        default: Distribution::Special,
        iterations: 12,
        special_percent: 1.0,
        special_share: 75.0,
        pareto_h: 0.2,
        zipfian_exponent: 0.8,
    };
    Rand::new(&origin(plan.seed, identity), shape)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Splits `file.lua:12: text`.
fn placed(text: &str) -> Option<(&str, &str)> {
    let (place, rest) = text.split_once(": ")?;
    let (file, line) = place.rsplit_once(':')?;
    let is_place = !line.is_empty() && line.bytes().all(|it| it.is_ascii_digit());
    (is_place && !file.starts_with('[')).then_some((place, rest))
}

fn first_line(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => cause.to_string(),
        other => other.to_string(),
    };
    let text = text.split("\nstack traceback:").next().unwrap_or_default();
    let text = text.strip_prefix("runtime error: ").or(text.strip_prefix("syntax error: "));
    text.map_or_else(|| error.to_string(), str::to_owned)
}

/// No script is larger, and some files have no end.
const LARGEST_SCRIPT: u64 = 32 << 20;

fn read_script(path: &Path) -> Result<Vec<u8>, Error> {
    let file = File::open(path).map_err(|error| missing(path, &error))?;
    let mut text = Vec::new();
    let read = file.take(LARGEST_SCRIPT + 1).read_to_end(&mut text);
    read.map_err(|error| missing(path, &error))?;
    if text.len() as u64 > LARGEST_SCRIPT {
        let large = format!("the script {} is larger than 32 MiB", path.display());
        return Err(Error::user(large)
            .hint("read data from a file or a table of the engine, not from the script"));
    }
    Ok(text)
}

fn missing(path: &Path, error: &std::io::Error) -> Error {
    let siblings = std::fs::read_dir(folder(path)).into_iter().flatten().flatten();
    let names: Vec<String> = siblings
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".lua"))
        .collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Error::user(format!("cannot read the script {}", path.display()))
        .because(error)
        .hint(error::nearest(&name, names.iter().map(String::as_str)))
}

fn internal(error: mlua::Error) -> Error {
    Error::driver("the script's state could not be made").because(error)
}
