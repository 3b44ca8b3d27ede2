//! The functions that Lua calls: connections, answers, errors. They are thin, so that a query on
//! the null session costs one crossing.

mod pauses;
mod scripts;
mod statements;

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{BString, IntoLua, LightUserData, Lua, LuaSerdeExt, LuaString, Table, Value};

use super::errors::Reported;
use super::shared::{RequestState, Shared};
use crate::plan::error;
use crate::plan::error::Error;

/// One user's shared part, as its Lua functions hold it.
pub type SharedHandle = Rc<RefCell<Shared>>;

/// Makes the table `raw` of lua/*.lua.
pub fn table(lua: &Lua, shared: &SharedHandle) -> mlua::Result<Table> {
    let raw = RawTable { lua, table: lua.create_table()?, shared };
    let mark = std::ptr::from_ref(&WAITING).cast_mut().cast();
    raw.table.raw_set("waiting", LightUserData(mark))?;
    raw.connections()?;
    raw.answers()?;
    raw.batches()?;
    raw.bulks()?;
    raw.statements()?;
    raw.programs()?;
    raw.rows()?;
    raw.errors()?;
    raw.numbers()?;
    raw.texts()?;
    raw.pauses()?;
    Ok(raw.table)
}

/// Adds what only scripts of pgbench's language call: a state without one is smaller for it.
pub fn add_scripts(lua: &Lua, table: &Table, shared: &SharedHandle) -> mlua::Result<()> {
    let raw = RawTable { lua, table: table.clone(), shared };
    raw.scripts()?;
    raw.script_play()?;
    raw.clients()
}

/// Its address is what Lua yields while a request is under way: no script has it, and it costs
/// nothing to read (a table would be held for the driver).
static WAITING: u8 = 0;

struct RawTable<'a> {
    lua: &'a Lua,
    table: Table,
    shared: &'a SharedHandle,
}

impl RawTable<'_> {
    /// Adds a function over the shared part.
    fn add<A, R>(
        &self,
        name: &str,
        body: impl Fn(&Lua, &mut Shared, A) -> mlua::Result<R> + 'static,
    ) -> mlua::Result<()>
    where
        A: mlua::FromLuaMulti,
        R: mlua::IntoLuaMulti,
    {
        let shared = Rc::clone(self.shared);
        let function = self.lua.create_function(move |lua, arguments: A| {
            body(lua, &mut shared.borrow_mut(), arguments)
        })?;
        self.table.raw_set(name, function)
    }

    fn connections(&self) -> mlua::Result<()> {
        self.add("connect", |lua, it, ()| match it.connect() {
            Ok(number) => Ok(Value::Integer(number as i64)),
            Err(error) => string(lua, it.refuse(error).as_bytes())?.into_lua(lua),
        })?;
        self.add("disconnect", |_, it, connection| {
            it.disconnect(connection);
            Ok(())
        })?;
        self.add("reconnect", |_, it, connection| {
            it.reconnect(connection).map_err(|error| stop(it, error))
        })?;
        // A BString is read off Lua's stack; a LuaString would be held there, which costs more.
        self.add("query", |lua, it, (connection, sql): (usize, BString)| {
            let sent = it.query(connection, &sql);
            answer(lua, it, sent)
        })?;
        self.add("query_row", |lua, it, (connection, sql): (usize, BString)| {
            it.answers.keeps_next = true;
            let sent = it.query(connection, &sql);
            answer(lua, it, sent)
        })?;
        self.add("drain", |_, it, ()| {
            it.drain();
            Ok(())
        })?;
        self.add("reset", |_, it, ()| {
            it.reset();
            Ok(())
        })
    }

    /// What is said of the answers to come, and of where a script is.
    fn answers(&self) -> mlua::Result<()> {
        self.add("keep_rows", |_, it, ()| {
            it.answers.keeps_rows = true;
            Ok(())
        })?;
        self.add("expect_types", |_, it, ()| {
            it.expects_types = true;
            Ok(())
        })?;
        self.add("in_transaction", |_, it, connection| Ok(it.in_transaction(connection)))?;
        self.add("next_result", |lua, it, connection| {
            it.next_result(connection).map(|sent| answer(lua, it, sent)).transpose()
        })?;
        self.add("more_results", |_, it, connection| Ok(it.has_next_result(connection)))?;
        self.add("keep_next", |_, it, ()| {
            it.answers.keeps_next = true;
            Ok(())
        })?;
        self.add("place", |_, it, place: String| {
            it.errors.place = Some(place);
            Ok(())
        })
    }

    fn batches(&self) -> mlua::Result<()> {
        self.add("begin_batch", |_, it, connection| {
            it.begin_batch(connection).map_err(|error| stop(it, error))
        })?;
        self.add("flush_batch", |_, it, connection| {
            it.flush_batch(connection).map_err(|error| stop(it, error))
        })?;
        self.add("sync", |lua, it, (connection, keeps)| {
            let sent = it.sync(connection, keeps);
            answer(lua, it, sent)
        })?;
        self.add("batch_result", |lua, it, connection| {
            it.batch_result(connection).map(|sent| answer(lua, it, sent)).transpose()
        })?;
        self.add("rows_brought", |_, it, ()| Ok(it.answers.rows_brought))?;
        self.add("load", |lua, it, (connection, sql, rows): (usize, LuaString, Value)| {
            let rows = lua.from_value(rows).map_err(|error| {
                stop(it, unreadable("dyno.rows cannot make these rows", &error))
            })?;
            let sent = it.load(connection, &sql.to_str()?, &rows);
            answer(lua, it, sent)
        })?;
        self.add("open_dump", |_, it, (path, databases): (String, String)| {
            it.open_dump(&path, &databases).map_err(|error| stop(it, error))
        })?;
        self.add("send_of_dump", |lua, it, connection| {
            let sent = it.send_of_dump(connection).map_err(|error| stop(it, error))?;
            sent.map(|sent| answer(lua, it, sent)).transpose()
        })?;
        self.add("explain_dump", |_, it, ()| Ok(it.explain_dump()))?;
        self.add("note_refusal", |_, it, ()| Ok(it.note_refusal()))?;
        self.add("sum_refusals", |_, it, ()| Ok(it.sum_refusals()))
    }
}

fn unreadable(what: &str, error: &mlua::Error) -> Error {
    let cause = error.to_string();
    let cause = cause.strip_prefix("deserialize error: ").unwrap_or(&cause).to_owned();
    Error::user(what).because(cause)
}

/// A request's standing as lua/requests.lua reads it.
pub fn answer(lua: &Lua, it: &Shared, sent: RequestState) -> mlua::Result<Value> {
    match sent {
        RequestState::Changed(changed) => Ok(Value::Integer(changed as i64)),
        RequestState::Counted { columns, rows } => Ok(Value::Number(counted(columns, rows))),
        RequestState::Rows => string(lua, &it.answers.packed)?.into_lua(lua),
        RequestState::Pending => Ok(Value::Boolean(false)),
        RequestState::Failed => Ok(Value::Boolean(true)),
    }
}

/// Longer strings cost more to fill than to guard.
const SMALL: usize = 4096;

/// A string for Lua. Where a state has a limit, mlua guards each by a call of its own, in case the
/// memory is refused; that costs a good part of a row (docs/evidence/code-choices.md). So a small
/// one may exceed the limit.
pub fn string(lua: &Lua, bytes: &[u8]) -> mlua::Result<LuaString> {
    if bytes.len() > SMALL {
        return lua.create_string(bytes);
    }
    let limit = lua.set_memory_limit(0)?;
    let string = lua.create_string(bytes);
    lua.set_memory_limit(limit)?;
    string
}

/// As lua/requests.lua takes it apart.
fn counted(columns: u32, rows: u32) -> f64 {
    -(f64::from(columns) * 4_294_967_296.0 + f64::from(rows)) - 1.0
}

/// Ends the trial with an error, also if the script catches what is thrown.
fn stop(it: &mut Shared, error: Error) -> mlua::Error {
    let text = error.to_string();
    it.errors.stop.get_or_insert(error);
    mlua::Error::runtime(text)
}

// What goes wrong: asked for by a script, and told by it.

impl RawTable<'_> {
    pub fn errors(&self) -> mlua::Result<()> {
        self.add("failure", |lua, it, query: LuaString| {
            it.name_statement(&query.to_string_lossy());
            failure(lua, it)
        })?;
        self.add("thrown", |_, it, text: LuaString| {
            it.errors.thrown = text.to_string_lossy();
            Ok(text)
        })?;
        type Report = (LuaString, bool, Option<String>);
        self.add("report", |_, it, (text, restart, function): Report| {
            it.errors.report = Some(Reported { text: text.to_string_lossy(), restart, function });
            Ok(())
        })?;
        self.add("locate", |lua, it, ()| {
            it.errors.place = place(lua);
            Ok(())
        })?;
        self.add("restarted", |_, it, ()| {
            it.restarted();
            Ok(())
        })?;
        self.add("fail", |_, it, (message, hint): (String, String)| {
            Err::<(), _>(stop(it, Error::user(message).hint(hint)))
        })?;
        self.add("unknown", |_, it, (what, name, names): (String, String, Vec<String>)| {
            let error = Error::user(format!("unknown {what} '{name}'"));
            Err::<(), _>(stop(it, error.hint(error::nearest_or_all(&name, names))))
        })
    }
}

fn failure(lua: &Lua, it: &Shared) -> mlua::Result<Table> {
    let error =
        it.errors.failure.clone().unwrap_or_else(|| Error::driver("an error without a cause"));
    let table = lua.create_table()?;
    table.raw_set("number", error.number())?;
    table.raw_set("state", error.state())?;
    table.raw_set("message", error.engine_words())?;
    table.raw_set("report", error.engine_report())?;
    table.raw_set("restartable", error.is_restartable())?;
    table.raw_set("changed", error.changed())?;
    table.raw_set("stops", !error.is_engine())?;
    Ok(table)
}

/// File and line of the innermost function of the script's.
fn place(lua: &Lua) -> Option<String> {
    (0..64).find_map(|level| {
        lua.inspect_stack(level, |frame| {
            let source = frame.source().source?.strip_prefix('@')?.to_owned();
            Some(format!("{source}:{}", frame.current_line()?))
        })?
    })
}
