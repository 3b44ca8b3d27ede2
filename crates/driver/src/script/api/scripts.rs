//! The functions that lua/pgbench calls: it reads scripts, which the driver plays, and goes on with
//! what only Lua can do.

use std::time::SystemTime;

use mlua::{BString, LuaSerdeExt, Value};

use super::{RawTable, answer, stop, string, unreadable};
use crate::plan::error::Error;
use crate::script::pgbench::{Client, Held, Program, now_us};

impl RawTable<'_> {
    /// What a script is made of.
    pub fn scripts(&self) -> mlua::Result<()> {
        self.add("is_bigint", |_, _, digits: String| Ok(digits.parse::<i64>().is_ok()))?;
        self.add("variable", |_, it, name: String| Ok(it.scripts.variables.place(&name)))?;
        self.add("set_variable", |_, it, (name, value): (String, Value)| {
            let place = it.scripts.variables.place(&name);
            it.scripts.variables.held[place] = held(&value, false);
            Ok(())
        })?;
        self.add("variable_text", |lua, it, name: String| {
            let text = it.scripts.variables.text(&name);
            text.map(|it| string(lua, &it)).transpose()
        })?;
        type Statement = (Vec<BString>, Vec<usize>, Option<u64>);
        self.add("add_statement", |_, it, (pieces, variables, prepare): Statement| {
            Ok(it.scripts.add_statement(pieces, variables, prepare))
        })?;
        self.add("set_made", |_, it, (statement, made)| {
            it.scripts.set_made(statement, made);
            Ok(())
        })?;
        self.add("add_program", |lua, it, program: Value| {
            let program: Program = lua
                .from_value(program)
                .map_err(|error| stop(it, unreadable("a script cannot be played", &error)))?;
            Ok(it.scripts.add(program))
        })?;
        self.add("add_rows", |_, it, (places, fill)| Ok(it.scripts.add_rows(places, fill)))?;
        self.add("add_cell", |_, it, (rows, value, is_text): (usize, Value, bool)| {
            it.scripts.add_cell(rows, held(&value, is_text));
            Ok(())
        })?;
        self.add("draw_from", |_, it, count| {
            it.scripts.draw_from(count);
            Ok(())
        })
    }

    /// How it is played.
    pub fn script_play(&self) -> mlua::Result<()> {
        type Seed = (f64, u32, Option<u32>);
        self.add("seed_scripts", |_, it, (seed, number, clients): Seed| {
            let mut word = || u64::from(it.rand.word()) << 32 | u64::from(it.rand.word());
            let own = (word(), word());
            Ok(it.scripts.seed(seed as u64, own, clients.map(|it| (number, it))).to_string())
        })?;
        self.add("play_directly", |_, it, connection| {
            it.scripts.play_directly(connection);
            Ok(())
        })?;
        self.add("draw_script", |_, it, ()| Ok(it.draw_script()))?;
        self.add("draw_again", |_, it, _: Value| {
            it.scripts.is_again = true;
            Ok(())
        })?;
        self.add("rewind_draws", |_, it, ()| {
            it.scripts.rewind();
            Ok(())
        })?;
        self.add("play_script", |lua, it, (program, connection)| {
            let played = it.play_script(program, connection);
            answer(lua, it, played.state())
        })?;
        self.add("go_on_script", |lua, it, ()| {
            let played = it.go_on_script();
            answer(lua, it, played.state())
        })?;
        self.add("script_problem", |_, it, ()| Ok(it.scripts.take_problem()))?;
        self.add("sent_of_script", |lua, it, ()| string(lua, &it.sent_of_script()))?;
        self.add("place_of_script", |_, it, ()| Ok(it.scripts.place()))
    }

    /// What a client of `dyno pgbench` counts.
    pub fn clients(&self) -> mlua::Result<()> {
        self.add("open_client", |lua, it, options: Value| {
            let options = lua.from_value(options)?;
            let client = Client::open(options).map_err(|cause| {
                stop(it, Error::host("cannot open the file that clients count in").because(cause))
            })?;
            it.scripts.client = Some(client);
            Ok(())
        })?;
        self.add("transaction_times", |_, it, ()| {
            Ok(it.scripts.client.as_ref().map_or((0.0, 0.0), |it| (it.begun_us, it.due_us)))
        })?;
        self.add("begin_transaction_now", |_, it, ()| {
            it.scripts.client.iter_mut().for_each(Client::begin_now);
            Ok(())
        })?;
        self.add("end_transaction", |_, it, (script, column, tries)| {
            Ok(it.scripts.client.as_mut().and_then(|it| it.end(script, column, tries)))
        })?;
        self.add("ended_transactions", |_, it, ()| {
            Ok(it.scripts.client.as_ref().map_or(0, |it| it.ended))
        })?;
        self.add("end_client", |_, it, ()| {
            it.scripts.client.iter_mut().for_each(|it| it.is_over = true);
            Ok(())
        })?;
        self.add("add_to_client", |_, it, (at, more)| {
            it.scripts.client.iter_mut().for_each(|it| it.add(at, more));
            Ok(())
        })?;
        self.add("add_to_command", |_, it, column| {
            it.scripts.client.iter_mut().for_each(|it| it.add_to_command(column));
            Ok(())
        })?;
        self.add("now_us", |_, _, ()| Ok(now_us()))?;
        self.add("epoch_us", |_, _, ()| {
            let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            Ok(since.as_secs_f64() * 1e6)
        })
    }
}

/// A value of Lua's. A text that a whole number would be written as is that number, unless it is to
/// stay a text.
fn held(value: &Value, is_text: bool) -> Held {
    match value {
        Value::String(text) if is_text => Held::Text(text.as_bytes().to_vec()),
        Value::String(text) => Held::read(&text.as_bytes()),
        Value::Integer(number) => Held::integer(*number),
        Value::Number(number) => Held::integer(*number as i64),
        _ => Held::Unset,
    }
}
