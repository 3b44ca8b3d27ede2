//! What goes wrong: asked for by a script, and told by it.

use mlua::{Lua, LuaString, Table};

use super::{Raw, stop};
use crate::plan::error::Error;
use crate::script::nearest;
use crate::script::shared::Shared;

impl Raw<'_> {
    pub fn errors(&self) -> mlua::Result<()> {
        self.add("failure", |lua, it, ()| failure(lua, it))?;
        self.add("thrown", |_, it, text: LuaString| {
            it.thrown = text.to_string_lossy();
            Ok(text)
        })?;
        self.add("report", |_, it, (text, restart): (LuaString, bool)| {
            it.report = Some((text.to_string_lossy(), restart));
            Ok(())
        })?;
        self.add("locate", |lua, it, ()| {
            it.place = place(lua);
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
            Err::<(), _>(stop(it, error.hint(nearest::offer(&name, names))))
        })
    }
}

fn failure(lua: &Lua, it: &Shared) -> mlua::Result<Table> {
    let error = it.failure.clone().unwrap_or_else(|| Error::driver("an error without a cause"));
    let table = lua.create_table()?;
    table.raw_set("number", error.number())?;
    table.raw_set("state", error.state())?;
    table.raw_set("message", error.to_string())?;
    table.raw_set("restartable", error.is_restartable())?;
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
