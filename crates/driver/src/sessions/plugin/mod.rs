//! An engine of a user's own: any library with the functions of `dyno_engine.h`, opened by path; it
//! works inside the call, on the caller's thread.

mod library;
mod play;
mod tables;

use std::collections::HashMap;
use std::sync::Arc;

use slab::Slab;

use super::key_value::{self, Statement};
use super::sql::Quoting;
use super::{
    Counts, Descriptor, Engine, EngineCounts, Reply, Rows, Session, Value, literal, misdirected,
    open_statement,
};
use crate::plan;
use crate::plan::error::Error;
use library::Store;
use play::Play;
use tables::Table;

/// What the driver knows of this session.
pub const DESCRIPTOR: Descriptor = Descriptor {
    kind: "plugin",
    engine: Engine::Embedded,
    dialect: Some("pgsql"),
    quoting: Quoting::Standard,
    open,
    type_name: |_| String::new(),
};

/// What an engine may count, by the names of Dyno's probe `work`.
const COUNTED: [&str; 8] = [
    "lock_wait_us",
    "pages_read",
    "page_requests",
    "pages_written",
    "pages_spilled",
    "rows_read",
    "log_bytes",
    "fsyncs",
];

/// One user of one database.
struct Plugin {
    store: Store,
    /// Those that were met.
    tables: HashMap<String, Arc<Table>>,
    statements: Slab<Prepared>,
    text_rows: Rows,
    /// The statement whose rows were read last; `None`: those of a text query.
    last: Option<u32>,
    /// Rows will be read.
    keeps: bool,
}

/// A prepared statement with the rows of its last execution.
struct Prepared {
    play: Play,
    parameters: usize,
    sql: String,
    rows: Rows,
}

/// Opens the library and the database that the plan names.
fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Plugin { library, database, settings } = session else {
        return Err(misdirected());
    };
    Ok(Box::new(Plugin {
        store: Store::open(library, database, settings)?,
        tables: HashMap::new(),
        statements: Slab::new(),
        text_rows: Rows::default(),
        last: None,
        keeps: true,
    }))
}

impl Plugin {
    fn read(&mut self, sql: &str) -> Result<(Play, usize), Error> {
        let (statement, parameters) = key_value::read(sql)?;
        if let Statement::Create { table, .. } | Statement::Drop { table } = &statement {
            self.tables.remove(table);
        }
        let (store, tables) = (&self.store, &mut self.tables);
        let mut find = |name: &str| {
            if let Some(table) = tables.get(name) {
                return Ok(table.clone());
            }
            let found = tables::find(store, name)?;
            tables.insert(name.to_owned(), found.clone());
            Ok(found)
        };
        Ok((Play::new(statement, &mut find)?, parameters))
    }
}

impl Session for Plugin {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        let (play, parameters) = self.read(sql)?;
        check_parameters(parameters, 0, sql)?;
        self.last = None;
        self.text_rows.clear();
        self.text_rows.is_unread = !self.keeps;
        play.play(&mut self.store, &[], &mut self.text_rows)
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<u32, Error> {
        let sql = literal::sql(sql)?;
        let (play, parameters) = self.read(sql)?;
        let (sql, rows) = (sql.to_owned(), Rows::default());
        Ok(self.statements.insert(Prepared { play, parameters, sql, rows }) as u32)
    }

    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error> {
        let Prepared { play, parameters, sql, rows } =
            open_statement(&mut self.statements, statement)?;
        check_parameters(*parameters, values.len(), sql)?;
        self.last = Some(statement);
        rows.is_unread = !self.keeps;
        play.play(&mut self.store, values, rows)
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        self.statements.try_remove(statement as usize);
        Ok(())
    }

    fn keep_rows(&mut self, wanted: bool) {
        self.keeps = wanted;
    }

    fn in_transaction(&self) -> bool {
        self.store.in_transaction()
    }

    fn reset(&mut self) -> Result<(), Error> {
        match self.store.in_transaction() {
            true => self.store.end(false),
            false => Ok(()),
        }
    }

    fn count_work(&mut self, counts: &mut EngineCounts) {
        for (name, count) in self.store.database.count_since() {
            if let Some(name) = COUNTED.iter().find(|it| **it == name) {
                *counts.entry(name).or_default() += count;
            }
        }
    }

    fn rows(&self) -> &Rows {
        let prepared = self.last.and_then(|at| self.statements.get(at as usize));
        prepared.map_or(&self.text_rows, |prepared| &prepared.rows)
    }

    fn take_counts(&mut self) -> Counts {
        Counts::default()
    }
}

fn check_parameters(wanted: usize, given: usize, sql: &str) -> Result<(), Error> {
    match wanted == given {
        true => Ok(()),
        false => {
            let told = format!("a statement with {wanted} parameters got {given} values");
            Err(Error::user(told).because(sql))
        }
    }
}
