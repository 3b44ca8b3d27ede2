//! SQLite, any library of it, opened by path; it works inside the call, on the caller's thread.
#![allow(unsafe_code)]

mod busy;
mod failure;
mod library;
mod serial;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString, c_int};
use std::io::Write;
use std::path::Path;
use std::ptr;
use std::rc::Rc;

use super::{Counts, Reply, Rows, Session, Value};
use crate::error::Error;
use crate::plan;
use busy::Busy;
use library::{Api, Connection, Statement};

const ROW: c_int = 100;
const DONE: c_int = 101;
const INTEGER: c_int = 1;
const NULL: c_int = 5;
/// Read and write, make, and no mutex: a connection never leaves its thread.
const OPEN_FLAGS: c_int = 0x2 | 0x4 | 0x8000;
/// What SQLite waits for a lock by default here, as most bindings set it.
const BUSY_TIMEOUT_MS: u64 = 5000;

/// One connection to one database file.
struct Sqlite {
    api: Api,
    connection: Connection,
    busy: Rc<Busy>,
    statements: Vec<Option<Prepared>>,
    /// Places of closed statements, used again.
    free: Vec<u32>,
    text_rows: Rows,
    /// The statement whose rows were read last; `None`: those of a text query.
    last: Option<usize>,
}

/// A prepared statement with the rows of its last execution.
struct Prepared {
    statement: Statement,
    parameters: usize,
    sql: String,
    rows: Rows,
}

/// Opens the library and the database that the plan names.
pub fn open(session: &plan::Session) -> Result<Box<dyn Session>, Error> {
    let plan::Session::Sqlite { library, database, pragmas } = session else {
        return Err(Error::driver("a plan for another session came to this one"));
    };
    let mut it = Sqlite::connect(Api::load(library)?, database, timeout_ms(pragmas)?)?;
    for (name, value) in pragmas.iter().filter(|(name, _)| !is_busy_timeout(name)) {
        it.set(&pragma(name, value)?)?;
    }
    it.busy.count.set(0);
    Ok(Box::new(it))
}

fn is_busy_timeout(name: &str) -> bool {
    name.eq_ignore_ascii_case("busy_timeout")
}

/// The PRAGMA would put SQLite's own handler in the place of ours, which counts.
fn timeout_ms(pragmas: &[(String, String)]) -> Result<u64, Error> {
    match pragmas.iter().rfind(|(name, _)| is_busy_timeout(name)) {
        None => Ok(BUSY_TIMEOUT_MS),
        Some((_, text)) => text.trim().parse().map_err(|_| {
            Error::user(format!("busy_timeout is not a number of milliseconds: {text}"))
        }),
    }
}

fn pragma(name: &str, value: &str) -> Result<String, Error> {
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        return Err(Error::user(format!("not the name of a PRAGMA: {name}")));
    }
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c));
    Ok(match is_plain {
        true => format!("PRAGMA {name} = {value}"),
        false => format!("PRAGMA {name} = '{}'", value.replace('\'', "''")),
    })
}

impl Sqlite {
    fn connect(api: Api, database: &Path, timeout_ms: u64) -> Result<Self, Error> {
        let path = CString::new(database.as_os_str().as_encoded_bytes())
            .map_err(|error| Error::user("the database's path holds a NUL").because(error))?;
        let mut it = Self {
            api,
            connection: ptr::null_mut(),
            busy: Busy::new(timeout_ms),
            statements: Vec::new(),
            free: Vec::new(),
            text_rows: Rows::default(),
            last: None,
        };
        let busy = Rc::as_ptr(&it.busy).cast_mut().cast();
        // SAFETY: the path ends in NUL; the connection is written even when opening fails, and is
        // closed by drop in any case; the busy handler's box lives as long as the connection.
        let code = unsafe {
            let code = (it.api.open)(path.as_ptr(), &mut it.connection, OPEN_FLAGS, ptr::null());
            if code == 0 {
                (it.api.extended_result_codes)(it.connection, 1);
                (it.api.busy_handler)(it.connection, busy::handler, busy);
            }
            code
        };
        match code {
            0 => Ok(it),
            code => Err(it.not_opened(code, database)),
        }
    }

    /// Asks again also where SQLite does not: for a change of the journal mode it gives up at once
    /// when another connection has the file open (pragma.html#pragma_journal_mode).
    fn set(&mut self, pragma: &str) -> Result<(), Error> {
        let mut times = 0;
        loop {
            match self.query(pragma) {
                Err(error) if is_busy(&error) && self.busy.wait(times) => times += 1,
                other => return other.map(drop),
            }
        }
    }

    fn not_opened(&self, code: c_int, database: &Path) -> Error {
        Error::host(format!("cannot open the database {}", database.display()))
            .because(self.told(code).1)
            .hint("does its folder exist, and may it be written?")
    }

    /// SQLite's last failure: the extended code and the message.
    fn told(&self, code: c_int) -> (c_int, String) {
        // SAFETY: SQLite answers both also for a connection that failed to open, even for none; the
        // message is copied before the next call.
        unsafe {
            let extended = (self.api.extended_errcode)(self.connection);
            let message = CStr::from_ptr((self.api.errmsg)(self.connection)).to_string_lossy();
            let is_same = extended & 0xff == code & 0xff;
            (if is_same { extended } else { code }, message.into_owned())
        }
    }

    fn failed(&self, code: c_int, sql: &str) -> Error {
        let (code, message) = self.told(code);
        let error = failure::error(code, &message, sql);
        match self.is_deadlock(code) {
            true => error.restartable(),
            false => error,
        }
    }

    /// A stale snapshot, or a lock for which SQLite would not even ask us to wait, because the
    /// holder waits for us (sqlite3_busy_handler's documentation).
    fn is_deadlock(&self, code: c_int) -> bool {
        code == failure::BUSY_SNAPSHOT || code == failure::BUSY && !self.busy.asked.get()
    }

    /// Compiles the first statement of a text; the rest of the text is returned.
    fn compiled<'a>(&self, sql: &'a str) -> Result<(Statement, &'a str), Error> {
        let length = c_int::try_from(sql.len())
            .map_err(|_| Error::user("a statement of more than 2 GiB"))?;
        self.busy.asked.set(false);
        let mut statement = ptr::null_mut();
        let mut tail = ptr::null();
        // SAFETY: pointer and length are those of the text; the tail points into it or to its end.
        let (code, rest) = unsafe {
            let start = sql.as_ptr().cast();
            let prepare = self.api.prepare;
            let code = prepare(self.connection, start, length, &mut statement, &mut tail);
            (code, if tail.is_null() { 0 } else { tail.offset_from(start) })
        };
        match code {
            0 => Ok((statement, sql.get(rest as usize..).unwrap_or_default())),
            code => Err(self.failed(code, sql)),
        }
    }

    /// Steps a statement to its end, reads its rows, and resets it.
    fn played(&mut self, statement: Statement, rows: &mut Rows, sql: &str) -> Result<Reply, Error> {
        self.busy.asked.set(false);
        // SAFETY: only reads the open connection.
        let before = unsafe { (self.api.total_changes)(self.connection) };
        rows.bytes.clear();
        rows.ends.clear();
        let outcome = self.stepped(statement, rows, sql);
        // SAFETY: the statement belongs to this connection and is not finalized; reset repeats the
        // failure that step told.
        unsafe { (self.api.reset)(statement) };
        let rows = outcome?;
        let changed = self.changed_since(before);
        Ok(Reply::Ready { rows, changed })
    }

    /// Counts the columns after the first step only, which compiles anew if the schema changed.
    fn stepped(&self, statement: Statement, rows: &mut Rows, sql: &str) -> Result<u64, Error> {
        let mut code = self.step(statement);
        // SAFETY: the statement belongs to this connection and is not finalized.
        let columns = unsafe { (self.api.column_count)(statement) };
        self.name_columns(statement, columns, rows);
        let mut count = 0;
        while code == ROW {
            for column in 0..columns {
                self.read(statement, column, rows)?;
            }
            count += 1;
            code = self.step(statement);
        }
        match code {
            DONE => Ok(count),
            code => Err(self.failed(code, sql)),
        }
    }

    fn step(&self, statement: Statement) -> c_int {
        // SAFETY: the statement belongs to this connection and is not finalized.
        unsafe { (self.api.step)(statement) }
    }

    fn read(&self, statement: Statement, column: c_int, rows: &mut Rows) -> Result<(), Error> {
        // SAFETY: the statement stands on a row and has this column. The text is valid until the
        // next call on the statement and is copied at once.
        unsafe {
            match (self.api.column_type)(statement, column) {
                NULL => rows.push(None),
                INTEGER => {
                    let number = (self.api.column_int64)(statement, column);
                    let _ = write!(rows.bytes, "{number}");
                    rows.push(Some(b""))
                }
                _ => {
                    let text = (self.api.column_text)(statement, column);
                    let length = (self.api.column_bytes)(statement, column) as usize;
                    match text.is_null() || length == 0 {
                        true => rows.push(Some(b"")),
                        false => rows.push(Some(std::slice::from_raw_parts(text, length))),
                    }
                }
            }
        }
    }

    /// Names the columns anew where their number changed; a prepared statement keeps its names.
    fn name_columns(&self, statement: Statement, columns: c_int, rows: &mut Rows) {
        rows.width = columns as u32;
        if rows.columns.len() == columns as usize {
            return;
        }
        // SAFETY: the statement has these columns; a name lives until the next call for it.
        let name = |column| unsafe {
            let name = (self.api.column_name)(statement, column);
            if name.is_null() {
                return String::new();
            }
            CStr::from_ptr(name).to_string_lossy().into_owned()
        };
        rows.columns = (0..columns).map(name).collect();
    }

    /// Rows that the last statement changed itself; `changes` alone tells of an older one.
    fn changed_since(&self, before: c_int) -> u64 {
        // SAFETY: both only read the open connection.
        unsafe {
            if (self.api.total_changes)(self.connection) == before {
                return 0;
            }
            u64::try_from((self.api.changes)(self.connection)).unwrap_or(0)
        }
    }

    fn bind(&self, statement: Statement, values: &[Value]) {
        for (index, value) in (1..).zip(values) {
            // SAFETY: the index is within the statement's parameters (checked by execute). A text
            // is not copied: it outlives the execution, and the next one binds all anew first.
            unsafe {
                match value {
                    Value::Null => (self.api.bind_null)(statement, index),
                    Value::Integer(n) => (self.api.bind_int64)(statement, index, *n),
                    Value::Real(x) => (self.api.bind_double)(statement, index, *x),
                    Value::Text(text) => {
                        let length = text.len() as c_int;
                        let text = text.as_ptr().cast();
                        (self.api.bind_text)(statement, index, text, length, ptr::null())
                    }
                }
            };
        }
    }

    fn keep(&mut self, prepared: Prepared) -> u32 {
        if let Some(at) = self.free.pop() {
            self.statements[at as usize] = Some(prepared);
            return at;
        }
        self.statements.push(Some(prepared));
        self.statements.len() as u32 - 1
    }

    fn texts(&mut self, sql: &str, rows: &mut Rows) -> Result<Reply, Error> {
        let (mut reply, mut rest) = (Reply::Ready { rows: 0, changed: 0 }, sql);
        while !rest.trim().is_empty() {
            let (statement, tail) = self.compiled(rest)?;
            rest = tail;
            if statement.is_null() {
                continue;
            }
            rows.clear();
            let outcome = self.played(statement, rows, sql);
            // SAFETY: compiled above, and used no more.
            unsafe { (self.api.finalize)(statement) };
            reply = outcome?;
        }
        Ok(reply)
    }
}

impl Session for Sqlite {
    fn query(&mut self, sql: &str) -> Result<Reply, Error> {
        let sql = serial::mapped(sql)?;
        let mut rows = std::mem::take(&mut self.text_rows);
        rows.clear();
        let reply = self.texts(&sql, &mut rows);
        self.text_rows = rows;
        self.last = None;
        reply
    }

    fn prepare(&mut self, sql: &str) -> Result<u32, Error> {
        let (statement, _) = self.compiled(sql)?;
        if statement.is_null() {
            return Err(Error::user("an empty statement was prepared"));
        }
        // SAFETY: compiled above.
        let parameters = unsafe { (self.api.bind_parameter_count)(statement) } as usize;
        let (sql, rows) = (sql.to_owned(), Rows::default());
        let prepared = Prepared { statement, parameters, sql, rows };
        Ok(self.keep(prepared))
    }

    fn execute(&mut self, statement: u32, values: &[Value]) -> Result<Reply, Error> {
        let at = statement as usize;
        let Some(mut prepared) = self.statements.get_mut(at).and_then(Option::take) else {
            return Err(Error::user("a closed statement was executed"));
        };
        let reply = if prepared.parameters == values.len() {
            self.bind(prepared.statement, values);
            self.played(prepared.statement, &mut prepared.rows, &prepared.sql)
        } else {
            Err(unbound(&prepared, values.len()))
        };
        self.statements[at] = Some(prepared);
        self.last = Some(at);
        reply
    }

    fn close(&mut self, statement: u32) -> Result<(), Error> {
        let slot = self.statements.get_mut(statement as usize);
        if let Some(prepared) = slot.and_then(Option::take) {
            // SAFETY: taken out of its slot, so it is finalized once.
            unsafe { (self.api.finalize)(prepared.statement) };
            self.free.push(statement);
        }
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Error> {
        // SAFETY: only reads the open connection.
        if unsafe { (self.api.get_autocommit)(self.connection) } != 0 {
            return Ok(());
        }
        self.query("ROLLBACK").map(drop)
    }

    fn rows(&self) -> &Rows {
        let prepared = self.last.and_then(|at| self.statements.get(at)?.as_ref());
        prepared.map_or(&self.text_rows, |prepared| &prepared.rows)
    }

    fn take_counts(&mut self) -> Counts {
        Counts { busy: self.busy.count.take(), ..Counts::default() }
    }
}

fn is_busy(error: &Error) -> bool {
    error.number() & 0xff == failure::BUSY
}

fn unbound(prepared: &Prepared, given: usize) -> Error {
    let wanted = prepared.parameters;
    Error::user(format!("a statement with {wanted} parameters got {given} values"))
        .because(&prepared.sql)
}

impl Drop for Sqlite {
    /// Closing the last connection of a database in WAL mode also checkpoints it.
    fn drop(&mut self) {
        for prepared in self.statements.drain(..).flatten() {
            // SAFETY: drained, so each is finalized once.
            unsafe { (self.api.finalize)(prepared.statement) };
        }
        // SAFETY: no statement is left; closing none at all does nothing.
        unsafe { (self.api.close)(self.connection) };
    }
}
