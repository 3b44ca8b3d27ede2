//! The functions that Lua calls for statements, declared events and rows, random numbers.

use std::sync::atomic::Ordering;

use mlua::{BString, Lua, LuaSerdeExt, LuaString, MultiValue, Value};
use sha2::{Digest, Sha256};

use super::{RawTable, answer, stop, string, unreadable};
use crate::plan::error::Error;
use crate::script::inserts::{Insert, Row};
use crate::script::program::Program;
use crate::script::shared::Shared;
use crate::script::statement::{Form, Kind};
use crate::sessions::literal::TextStatement;
use crate::sessions::sql::{Quoting, number_placeholders, passage};

/// Why turns are not counted.
const NO_TURNS: &str =
    "dyno.turn counts the turns of all users, and several client hosts play them";

impl RawTable<'_> {
    pub fn statements(&self) -> mlua::Result<()> {
        self.add("prepare", |_, it, (connection, sql): (usize, LuaString)| {
            Ok(match it.prepare(connection, &sql.as_bytes()) {
                Some(number) => Value::Integer(number as i64),
                None => Value::Boolean(true),
            })
        })?;
        self.add("text", |_, it, (connection, sql): (usize, LuaString)| {
            let statement = TextStatement::new(&sql.as_bytes(), it.connections.quoting);
            Ok(it.keep(connection, Form::Text(statement), &sql.as_bytes()))
        })?;
        self.add("unnamed", |_, it, (connection, sql): (usize, LuaString)| {
            let text = number_placeholders(&sql.as_bytes()).into_owned();
            Ok(it.keep(connection, Form::Unnamed(text), &sql.as_bytes()))
        })?;
        self.add("bind", |_, it, (statement, kinds): (usize, Vec<u8>)| {
            let kinds = kinds.into_iter().map(kind).collect();
            it.bind(statement, kinds);
            Ok(())
        })?;
        self.add("close", |_, it, statement| it.close(statement).map_err(|error| stop(it, error)))?;
        self.executions()
    }

    /// One entry per usual number of parameters: arguments on the stack cost far less than a list
    /// of unknown length (docs/evidence/code-choices.md).
    fn executions(&self) -> mlua::Result<()> {
        self.add("execute0", |lua, it, statement| execute(lua, it, statement, &[]))?;
        self.add("execute1", |lua, it, (statement, a): (usize, Value)| {
            execute(lua, it, statement, &[&a])
        })?;
        self.add("execute2", |lua, it, (statement, a, b): (usize, Value, Value)| {
            execute(lua, it, statement, &[&a, &b])
        })?;
        self.add(
            "execute4",
            |lua, it, (statement, a, b, c, d): (usize, Value, Value, Value, Value)| {
                execute(lua, it, statement, &[&a, &b, &c, &d])
            },
        )?;
        self.add("execute_many", |lua, it, (statement, values): (usize, MultiValue)| {
            for (at, value) in values.iter().enumerate() {
                it.set(statement, at, value);
            }
            execute(lua, it, statement, &[])
        })
    }

    pub fn bulks(&self) -> mlua::Result<()> {
        self.add("bulk_begin", |_, it, (connection, head): (usize, LuaString)| {
            let bulk = it.bulk(connection).map(|bulk| bulk.begin(&head.as_bytes()));
            bulk.map_err(|error| stop(it, error))
        })?;
        self.add("bulk_rows", |_, it, (connection, rows): (usize, LuaString)| {
            let bulk = it.bulk(connection).map(|bulk| bulk.put(&rows.as_bytes()));
            bulk.map_err(|error| stop(it, error))
        })?;
        self.add("bulk_send", |lua, it, connection| {
            let sent = it.send_bulk(connection).map_err(|error| stop(it, error))?;
            answer(lua, it, sent)
        })
    }
}

fn execute(lua: &Lua, it: &mut Shared, statement: usize, values: &[&Value]) -> mlua::Result<Value> {
    for (at, value) in values.iter().enumerate() {
        it.set(statement, at, value);
    }
    let sent = it.execute(statement);
    answer(lua, it, sent)
}

fn kind(number: u8) -> Kind {
    match number {
        1 => Kind::Integer,
        2 => Kind::Real,
        _ => Kind::Text,
    }
}

// What a script declares as data: events, rows.

impl RawTable<'_> {
    pub fn programs(&self) -> mlua::Result<()> {
        self.add("declare", |lua, it, program: Value| {
            let program: Program = lua
                .from_value(program)
                .map_err(|error| stop(it, unreadable("dyno.event cannot be played", &error)))?;
            it.statements.programs.push(program.with_room());
            Ok(it.statements.programs.len() - 1)
        })?;
        self.add("run_declared", |lua, it, program| {
            let sent = it.run_declared(program);
            answer(lua, it, sent)
        })?;
        self.add("load_recording", |_, it, (path, connection, speed): (String, usize, f64)| {
            it.load_recording(path.as_ref(), connection, speed).map_err(|error| stop(it, error))
        })?;
        self.add("written_column", |_, it, (name, every): (String, f64)| {
            Ok(it.written.column(&name, every as u64))
        })?;
        self.add("write", |_, it, (column, key, value): (usize, f64, BString)| {
            it.written.send_text(column, key as i64, &value);
            Ok(())
        })?;
        self.add("failed_statement", |_, it, ()| Ok(it.statements.failed.take()))
    }

    pub fn rows(&self) -> mlua::Result<()> {
        self.add("row", |lua, it, row: Value| {
            let row: Row = lua
                .from_value(row)
                .map_err(|error| stop(it, unreadable("dyno.row cannot be drawn", &error)))?;
            it.statements.rows.push(row);
            Ok(it.statements.rows.len() - 1)
        })?;
        type Arguments = (usize, LuaString, usize, usize, LuaString);
        self.add("insert", |lua, it, (connection, head, count, row, given): Arguments| {
            let (head, given) = (head.as_bytes(), given.as_bytes());
            let insert = Insert { head: &head, count, row, given: &given };
            let sent = it.insert(connection, &insert);
            answer(lua, it, sent)
        })
    }
}

// Random numbers and texts, and a few other values.

/// A bound of a script's random numbers: those of sysbench's functions have 32 bits.
fn bound(given: f64) -> f64 {
    if given.abs() < 4_294_967_296.0 { given } else { f64::from(given as i64 as u32) }
}

impl RawTable<'_> {
    pub fn numbers(&self) -> mlua::Result<()> {
        self.add("rand_default", |_, it, (a, b)| Ok(it.rand.by_default(bound(a), bound(b))))?;
        self.add("rand_uniform", |_, it, (a, b)| Ok(it.rand.uniform(bound(a), bound(b))))?;
        self.add("rand_gaussian", |_, it, (a, b)| Ok(it.rand.gaussian(bound(a), bound(b))))?;
        self.add("rand_special", |_, it, (a, b)| Ok(it.rand.special(bound(a), bound(b))))?;
        self.add("rand_pareto", |_, it, (a, b)| Ok(it.rand.pareto(bound(a), bound(b))))?;
        self.add("rand_zipfian", |_, it, (a, b)| Ok(it.rand.zipfian(bound(a), bound(b))))?;
        self.add("rand_unique", |_, it, ()| Ok(it.rand.unique()))?;
        self.add("rand_unique_in", |_, it, (a, b): (f64, f64)| {
            Ok(it.rand.unique_in(a, b.min(u32::MAX.into())))
        })?;
        self.add("rand_uniform_double", |_, it, ()| Ok(it.rand.double()))?;
        self.add("rand_uint32", |_, it, ()| Ok(it.rand.word()))
    }

    pub fn texts(&self) -> mlua::Result<()> {
        self.add("rand_string", |lua, it, template: LuaString| {
            it.answers.packed.clear();
            it.rand.string(&template.as_bytes(), &mut it.answers.packed);
            string(lua, &it.answers.packed)
        })?;
        self.add("text_cell", |_, it, (template, known): (LuaString, Option<usize>)| {
            Ok(it.text_cell(&template.as_bytes(), known))
        })?;
        self.add("draw_text", |_, it, cell: usize| {
            it.statements.text_cells[cell].draw(&mut it.rand);
            Ok(())
        })?;
        self.add("rand_varstring", |lua, it, (least, most)| {
            it.answers.packed.clear();
            it.rand.varstring(least, most, &mut it.answers.packed);
            string(lua, &it.answers.packed)
        })?;
        self.add("turn", |_, it, ()| match it.pacing.is_dealt {
            true => Err(stop(it, Error::user(NO_TURNS).hint("play the script from one host"))),
            false => Ok(it.pacing.turns.fetch_add(1, Ordering::Relaxed)),
        })?;
        self.add("number_text", |_, _, number: f64| Ok(number.to_string()))?;
        self.add("passage", |_, _, (text, at, is_mysql): (LuaString, usize, bool)| {
            let quoting = if is_mysql { Quoting::Mysql } else { Quoting::Postgres };
            let passage = passage(&text.as_bytes(), at - 1, quoting);
            Ok(passage
                .map_or((None, false, false), |it| (Some(it.end + 1), it.is_comment, it.is_closed)))
        })?;
        self.add("digest", |_, _, text: LuaString| {
            let sum = Sha256::digest(text.as_bytes());
            Ok(sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        })?;
        self.add("transaction", |_, it, name: String| {
            it.transactions.push(name);
            Ok(it.transactions.len() - 1)
        })?;
        self.add("traceback", |lua, _, text: Option<LuaString>| {
            lua.traceback(text.map(|it| it.to_string_lossy()).as_deref(), 1)
        })
    }
}
