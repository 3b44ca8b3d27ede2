//! `dyno-driver rows ROWS`: writes the rows of a bulk load to stdout, so that they can be looked at
//! and held against files of other generators.

use std::process::ExitCode;

use crate::generate;
use crate::plan::error::Error;
use crate::plan::parent;

/// Writes the rows that a script would name by `dyno.rows`, here as JSON:
/// `{"kind": "ssb", "table": "date"}`.
pub fn rows(wanted: &str) -> Result<ExitCode, Error> {
    let rows = serde_json::from_str(wanted).map_err(|cause| {
        let hint = r#"{"kind": "tpch", "ssb" or "tpcc", "table": …, "scale": …}"#;
        Error::user("the rows are not described in JSON").because(cause).hint(hint)
    })?;
    let (mut source, mut made) = (generate::open(&rows)?, Vec::new());
    loop {
        made.clear();
        source.fill(&mut made)?;
        if made.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        parent::print_bytes(&made)?;
    }
}
