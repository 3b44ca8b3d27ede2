//! Script files of PostgreSQL's pgbench, played by lua/pgbench/*.lua.

use std::path::Path;

use super::prelude::Text;
use super::state::{State, ours};
use crate::plan::error::Error;

const PGBENCH: Text = ("pgbench", include_str!("../lua/pgbench/pgbench.lua"));

/// The parts that lua/pgbench/pgbench.lua puts together.
const PARTS: &[Text] = &[
    ("atoms", include_str!("../lua/pgbench/atoms.lua")),
    ("commands", include_str!("../lua/pgbench/commands.lua")),
    ("expression", include_str!("../lua/pgbench/expression.lua")),
    ("functions", include_str!("../lua/pgbench/functions.lua")),
    ("meta", include_str!("../lua/pgbench/meta.lua")),
    ("names", include_str!("../lua/pgbench/names.lua")),
    ("operators", include_str!("../lua/pgbench/operators.lua")),
    ("permutation", include_str!("../lua/pgbench/permutation.lua")),
    ("phases", include_str!("../lua/pgbench/phases.lua")),
    ("pieces", include_str!("../lua/pgbench/pieces.lua")),
    ("random", include_str!("../lua/pgbench/random.lua")),
    ("setup", include_str!("../lua/pgbench/setup.lua")),
    ("statements", include_str!("../lua/pgbench/statements.lua")),
    ("tables", include_str!("../lua/pgbench/tables.lua")),
    ("texts", include_str!("../lua/pgbench/texts.lua")),
    ("values", include_str!("../lua/pgbench/values.lua")),
    ("words", include_str!("../lua/pgbench/words.lua")),
];

/// Is it not Lua? Lua is what is called so, or begins with a line for the shell.
pub fn is_pgbench(path: &Path, text: &[u8]) -> bool {
    path.extension().is_none_or(|it| it != "lua") && !text.starts_with(b"#!")
}

/// Makes the file's functions: `event`, `thread_init`, `prepare`, `cleanup`.
pub fn run(state: &State, text: &[u8], name: &str) -> Result<(), Error> {
    state.assemble(PGBENCH, PARTS)?;
    state.call("run_pgbench", (state.lua.create_string(text).map_err(ours)?, name))
}
