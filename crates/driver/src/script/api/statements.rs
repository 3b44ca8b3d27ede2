//! Statements that are sent again and again, with their values or with many rows.

use mlua::{Lua, LuaString, MultiValue, Value};

use super::{Raw, answer, stop};
use crate::script::shared::Shared;
use crate::script::statement::{Form, Kind};

impl Raw<'_> {
    pub fn statements(&self) -> mlua::Result<()> {
        self.add("prepare", |_, it, (connection, sql): (usize, LuaString)| {
            Ok(match it.prepare(connection, &sql.to_str()?) {
                Some(number) => Value::Integer(number as i64),
                None => Value::Boolean(true),
            })
        })?;
        self.add("text", |_, it, (connection, sql): (usize, LuaString)| {
            Ok(it.keep(connection, Form::text(&sql.to_str()?)))
        })?;
        self.add("bind", |_, it, (statement, kinds): (usize, Vec<u8>)| {
            let kinds = kinds.into_iter().map(kind).collect();
            it.bind(statement, kinds);
            Ok(())
        })?;
        self.add("close", |_, it, statement| it.close(statement).map_err(|error| stop(it, error)))?;
        self.executions()
    }

    /// One entry per usual number of parameters: arguments on the stack cost 9 ns each, a list of
    /// unknown length costs 80 ns.
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
