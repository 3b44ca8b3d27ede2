//! The driver's own texts of Lua, pgbench's reader among them.

use std::path::Path;

use mlua::{Function, Lua, MultiValue};

/// A text and its name.
pub type Text = (&'static str, &'static str);

/// Puts together all that a script finds when it begins.
pub const PRELUDE: Text = ("prelude", include_str!("../lua/prelude.lua"));

/// The parts that lua/prelude.lua puts together.
pub const PARTS: &[Text] = &[
    ("connections", include_str!("../lua/connections.lua")),
    ("dyno", include_str!("../lua/dyno.lua")),
    ("event", include_str!("../lua/event.lua")),
    ("fatal", include_str!("../lua/fatal.lua")),
    ("functions", include_str!("../lua/functions.lua")),
    ("help", include_str!("../lua/help.lua")),
    ("histogram", include_str!("../lua/histogram.lua")),
    ("inserts", include_str!("../lua/inserts.lua")),
    ("known_scripts", include_str!("../lua/known_scripts.lua")),
    ("legacy", include_str!("../lua/legacy.lua")),
    ("oltp_common", include_str!("../lua/oltp_common.lua")),
    ("options", include_str!("../lua/options.lua")),
    ("pauses", include_str!("../lua/pauses.lua")),
    ("random", include_str!("../lua/random.lua")),
    ("reports", include_str!("../lua/reports.lua")),
    ("recording", include_str!("../lua/recording.lua")),
    ("requests", include_str!("../lua/requests.lua")),
    ("setup", include_str!("../lua/setup.lua")),
    ("statements", include_str!("../lua/statements.lua")),
    ("symbols", include_str!("../lua/symbols.lua")),
    ("sysbench", include_str!("../lua/sysbench.lua")),
    ("sysbench_options", include_str!("../lua/sysbench_options.lua")),
];

/// A text as a function, and what runs one of its parts by the part's name.
pub fn functions(
    lua: &Lua,
    (whole, text): Text,
    parts: &'static [Text],
) -> mlua::Result<(Function, Function)> {
    let part = move |lua: &Lua, (name, arguments): (String, MultiValue)| {
        let Some((_, text)) = parts.iter().find(|(part, _)| *part == name) else {
            return Err(mlua::Error::runtime(format!("there is no text {whole}/{name}")));
        };
        loaded(lua, &format!("{whole}/{name}"), text)?.call::<MultiValue>(arguments)
    };
    Ok((loaded(lua, whole, text)?, lua.create_function(part)?))
}

/// A text as a function; named in brackets, so that no line of it is taken for one of the script.
fn loaded(lua: &Lua, name: &str, text: &str) -> mlua::Result<Function> {
    lua.load(text).set_name(format!("=[{name}]")).into_function()
}

// Script files of PostgreSQL's pgbench, played by lua/pgbench/*.lua.

/// Makes the file's functions: `event`, `thread_init`, `prepare`, `cleanup`.
pub const PGBENCH: Text = ("pgbench", include_str!("../lua/pgbench/pgbench.lua"));

/// The parts that lua/pgbench/pgbench.lua puts together.
pub const PGBENCH_PARTS: &[Text] = &[
    ("atoms", include_str!("../lua/pgbench/atoms.lua")),
    ("client", include_str!("../lua/pgbench/client.lua")),
    ("commands", include_str!("../lua/pgbench/commands.lua")),
    ("expression", include_str!("../lua/pgbench/expression.lua")),
    ("functions", include_str!("../lua/pgbench/functions.lua")),
    ("marked", include_str!("../lua/pgbench/marked.lua")),
    ("marks", include_str!("../lua/pgbench/marks.lua")),
    ("pieces", include_str!("../lua/pgbench/pieces.lua")),
    ("scripts", include_str!("../lua/pgbench/scripts.lua")),
    ("shell", include_str!("../lua/pgbench/shell.lua")),
    ("statements", include_str!("../lua/pgbench/statements.lua")),
    ("tables", include_str!("../lua/pgbench/tables.lua")),
    ("values", include_str!("../lua/pgbench/values.lua")),
];

/// Is it not Lua? Lua is what is called so, or begins with a line for the shell.
pub fn is_pgbench(path: &Path, text: &[u8]) -> bool {
    path.extension().is_none_or(|it| it != "lua") && !text.starts_with(b"#!")
}
