//! What a script declares as data: events, rows.

use mlua::{LuaSerdeExt, LuaString, Value};

use super::{Raw, answer, stop, unreadable};
use crate::script::program::Program;
use crate::script::row::{Insert, Row};

impl Raw<'_> {
    pub fn programs(&self) -> mlua::Result<()> {
        self.add("declare", |lua, it, program: Value| {
            let program: Program = lua
                .from_value(program)
                .map_err(|error| stop(it, unreadable("dyno.event cannot be played", &error)))?;
            it.programs.push(program.furnished());
            Ok(it.programs.len() - 1)
        })?;
        self.add("play", |lua, it, program| {
            let sent = it.play(program);
            answer(lua, it, sent)
        })?;
        self.add("broken_off", |_, it, ()| Ok(it.broken_off.take()))
    }

    pub fn rows(&self) -> mlua::Result<()> {
        self.add("row", |lua, it, row: Value| {
            let row: Row = lua
                .from_value(row)
                .map_err(|error| stop(it, unreadable("dyno.row cannot be drawn", &error)))?;
            it.rows.push(row);
            Ok(it.rows.len() - 1)
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
