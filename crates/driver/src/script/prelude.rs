//! The driver's own texts of Lua, and how they are put together in a state.

use mlua::{Function, Lua, MultiValue, Table};

use super::state::{State, ours};
use crate::plan::error::Error;

/// A text and its name.
pub type Text = (&'static str, &'static str);

/// Puts together all that a script finds when it begins.
pub const PRELUDE: Text = ("prelude", include_str!("../lua/prelude.lua"));

/// The parts that lua/prelude.lua puts together.
pub const PARTS: &[Text] = &[
    ("bulk", include_str!("../lua/bulk.lua")),
    ("cells", include_str!("../lua/cells.lua")),
    ("commands", include_str!("../lua/commands.lua")),
    ("connections", include_str!("../lua/connections.lua")),
    ("counters", include_str!("../lua/counters.lua")),
    ("draw", include_str!("../lua/draw.lua")),
    ("dyno", include_str!("../lua/dyno.lua")),
    ("event", include_str!("../lua/event.lua")),
    ("general_options", include_str!("../lua/general_options.lua")),
    ("guard", include_str!("../lua/guard.lua")),
    ("loading", include_str!("../lua/loading.lua")),
    ("option_types", include_str!("../lua/option_types.lua")),
    ("options", include_str!("../lua/options.lua")),
    ("playing", include_str!("../lua/playing.lua")),
    ("random", include_str!("../lua/random.lua")),
    ("reports", include_str!("../lua/reports.lua")),
    ("requests", include_str!("../lua/requests.lua")),
    ("results", include_str!("../lua/results.lua")),
    ("row", include_str!("../lua/row.lua")),
    ("statements", include_str!("../lua/statements.lua")),
    ("sysbench", include_str!("../lua/sysbench.lua")),
    ("thrown", include_str!("../lua/thrown.lua")),
    ("waiting", include_str!("../lua/waiting.lua")),
];

impl State {
    /// Runs a text with `raw`, `seat`, and a function that runs one of the parts by its name.
    pub fn assemble(&self, (whole, text): Text, parts: &'static [Text]) -> Result<(), Error> {
        let seat: Table = self.raw.raw_get("seat").map_err(ours)?;
        let part = move |lua: &Lua, (name, arguments): (String, MultiValue)| {
            let Some((_, text)) = parts.iter().find(|(part, _)| *part == name) else {
                return Err(mlua::Error::runtime(format!("there is no text {whole}/{name}")));
            };
            loaded(lua, &format!("{whole}/{name}"), text)?.call::<MultiValue>(arguments)
        };
        let part = self.lua.create_function(part).map_err(ours)?;
        let run = loaded(&self.lua, whole, text).map_err(ours)?;
        run.call((&self.raw, seat, part)).map_err(|error| self.broken(&error))
    }
}

/// A text as a function; named in brackets, so that no line of it is taken for one of the script.
fn loaded(lua: &Lua, name: &str, text: &str) -> mlua::Result<Function> {
    lua.load(text).set_name(format!("=[{name}]")).into_function()
}
