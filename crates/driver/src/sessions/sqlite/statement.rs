//! One compiled statement, behind safe calls; PostgreSQL's SERIAL in SQLite's words.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::ptr;
use std::rc::Rc;

use super::connection::Connection;
use super::library::Stmt;
use crate::plan::error::Error;
use crate::sessions::{Reply, Rows, ScanCount, Value, sql};

const ROW: c_int = 100;
const DONE: c_int = 101;
const INTEGER: c_int = 1;
const NULL: c_int = 5;

/// `SQLITE_SCANSTAT_…`: times begun, rows visited, words.
const LOOPS: c_int = 0;
const VISITS: c_int = 1;
const WORDS: c_int = 4;

/// A `sqlite3_stmt *` and the connection that it lives on.
pub struct Statement {
    /// How many values it takes.
    pub parameters: usize,
    connection: Rc<Connection>,
    // Of that connection, not null, and finalized by drop alone: all calls below rest on this.
    handle: Stmt,
}

impl Statement {
    /// Compiles the first statement of a text, where it has any; the rest of the text is returned.
    pub fn compile<'a>(
        connection: &Rc<Connection>,
        sql: &'a str,
    ) -> Result<(Option<Self>, &'a str), Error> {
        let length = c_int::try_from(sql.len())
            .map_err(|_| Error::user("a statement of more than 2 GiB"))?;
        connection.busy.asked.set(false);
        let (mut statement, mut tail) = (ptr::null_mut(), ptr::null());
        let start = sql.as_ptr().cast();
        // SAFETY: pointer and length are those of the text; the tail points into it or to its end.
        let (code, rest) = unsafe {
            let prepare = connection.api.prepare;
            let code = prepare(connection.handle, start, length, &mut statement, &mut tail);
            (code, if tail.is_null() { 0 } else { tail.offset_from(start) })
        };
        if code != 0 {
            return Err(connection.error(code, sql));
        }
        let it = (!statement.is_null()).then(|| Self::new(Rc::clone(connection), statement));
        Ok((it, sql.get(rest as usize..).unwrap_or_default()))
    }

    /// Takes over what `sqlite3_prepare` has just compiled for this connection.
    fn new(connection: Rc<Connection>, handle: Stmt) -> Self {
        // SAFETY: just compiled.
        let parameters = unsafe { (connection.api.bind_parameter_count)(handle) } as usize;
        Self { parameters, connection, handle }
    }

    /// Steps it to its end with these values and reads its rows; the last values, if they are too
    /// few, are NULL. `sql` is what an error shows.
    pub fn execute(
        &mut self,
        values: &[Value],
        rows: &mut Rows,
        sql: &str,
    ) -> Result<Reply, Error> {
        let before = self.connection.total_changes();
        self.connection.busy.asked.set(false);
        rows.bytes.clear();
        rows.ends.clear();
        self.bind(values);
        let outcome = self.step_to_end(rows, sql);
        // SAFETY: a statement of ours; reset repeats the failure that step told.
        unsafe { (self.connection.api.reset)(self.handle) };
        let rows = outcome?;
        Ok(Reply::Ready { rows, changed: self.connection.changed_since(before) })
    }

    /// Executes an INSERT with these texts, as many as it has parameters; a column's own type says
    /// what each becomes.
    pub fn insert(&self, fields: &[Option<Cow<'_, [u8]>>], sql: &str) -> Result<(), Error> {
        let (api, statement) = (&self.connection.api, self.handle);
        for (index, field) in (1..).zip(fields) {
            // SAFETY: an index beyond the parameters is refused by SQLite. A text is not copied: it
            // outlives the step, and all is bound anew before the next one.
            unsafe {
                match field {
                    None => (api.bind_null)(statement, index),
                    Some(text) => {
                        let (start, length) = (text.as_ptr().cast(), text.len() as c_int);
                        (api.bind_text)(statement, index, start, length, ptr::null())
                    }
                }
            };
        }
        let code = self.step();
        // SAFETY: a statement of ours; reset repeats the failure that step told.
        unsafe { (api.reset)(statement) };
        match code {
            DONE => Ok(()),
            code => Err(self.connection.error(code, sql)),
        }
    }

    /// Binds all parameters, so that no value of an earlier call is left.
    fn bind(&self, values: &[Value]) {
        let (api, statement) = (&self.connection.api, self.handle);
        for at in 0..self.parameters {
            let index = at as c_int + 1;
            // SAFETY: the index is within the statement's parameters. A text is not copied: it is
            // borrowed until the last step, and all is bound anew before the next one.
            unsafe {
                match values.get(at).unwrap_or(&Value::Null) {
                    Value::Null => (api.bind_null)(statement, index),
                    Value::Integer(n) => (api.bind_int64)(statement, index, *n),
                    Value::Real(x) => (api.bind_double)(statement, index, *x),
                    Value::Text(text) => {
                        let (start, length) = (text.as_ptr().cast(), text.len() as c_int);
                        (api.bind_text)(statement, index, start, length, ptr::null())
                    }
                }
            };
        }
    }

    /// Counts the columns after the first step only, which compiles anew if the schema changed.
    fn step_to_end(&self, rows: &mut Rows, sql: &str) -> Result<u64, Error> {
        let mut code = self.step();
        // SAFETY: a statement of ours.
        let columns = unsafe { (self.connection.api.column_count)(self.handle) };
        self.name_columns(columns, rows);
        rows.types.clear();
        rows.types.resize(columns as usize, 0);
        let mut count = 0;
        while code == ROW {
            for column in 0..columns {
                self.read(column, rows)?;
            }
            count += 1;
            code = self.step();
        }
        match code {
            DONE => Ok(count),
            code => Err(self.connection.error(code, sql)),
        }
    }

    /// A counter of its executions since this was last asked.
    pub fn take_status(&self, counter: c_int) -> u64 {
        // SAFETY: a statement of ours; a counter that the library does not know is 0.
        let count = unsafe { (self.connection.api.stmt_status)(self.handle, counter, 1) };
        u64::from(count as u32)
    }

    /// What each scan of its plan did since it was prepared, where the library counts that.
    pub fn scans(&self) -> Vec<ScanCount> {
        let Some(ask) = self.connection.api.scan_status else { return Vec::new() };
        let mut found = Vec::new();
        for at in 0..c_int::MAX {
            let (mut loops, mut rows) = (0_i64, 0_i64);
            let mut words: *const c_char = ptr::null();
            // SAFETY: a statement of ours; each answer has the type that sqlite3.h says, and the
            // text is copied at once. A scan that is not there writes nothing.
            let step = unsafe {
                if ask(self.handle, at, LOOPS, (&raw mut loops).cast()) != 0 {
                    break;
                }
                ask(self.handle, at, VISITS, (&raw mut rows).cast());
                ask(self.handle, at, WORDS, (&raw mut words).cast());
                match words.is_null() {
                    true => String::new(),
                    false => CStr::from_ptr(words).to_string_lossy().into_owned(),
                }
            };
            found.push(ScanCount { step, loops, rows });
        }
        found
    }

    fn step(&self) -> c_int {
        // SAFETY: a statement of ours, whose texts are borrowed by `play`.
        unsafe { (self.connection.api.step)(self.handle) }
    }

    fn read(&self, column: c_int, rows: &mut Rows) -> Result<(), Error> {
        let (api, statement) = (&self.connection.api, self.handle);
        // SAFETY: the statement stands on a row and has this column. The text is valid until the
        // next call on the statement and is copied at once.
        unsafe {
            let class = (api.column_type)(statement, column);
            rows.types[column as usize] |= 1 << (class & 7);
            match class {
                NULL => rows.push(None),
                INTEGER => {
                    let number = (api.column_int64)(statement, column);
                    let _ = write!(rows.bytes, "{number}");
                    rows.push(Some(b""))
                }
                _ => {
                    let text = (api.column_text)(statement, column);
                    let length = (api.column_bytes)(statement, column) as usize;
                    match text.is_null() || length == 0 {
                        true => rows.push(Some(b"")),
                        false => rows.push(Some(std::slice::from_raw_parts(text, length))),
                    }
                }
            }
        }
    }

    /// Names the columns anew where their number changed; a prepared statement keeps its names.
    fn name_columns(&self, columns: c_int, rows: &mut Rows) {
        rows.width = columns as u32;
        if rows.columns.len() == columns as usize {
            return;
        }
        rows.columns.clear();
        for column in 0..columns {
            // SAFETY: the statement has these columns; a name lives until the next call for it.
            let name = unsafe {
                let name = (self.connection.api.column_name)(self.handle, column);
                if name.is_null() { c"" } else { CStr::from_ptr(name) }
            };
            rows.columns.push(name.to_bytes());
        }
    }
}

/// The storage classes of a column's values, a bit each, in one word: its type, whatever the table
/// declares.
pub fn type_name(classes: u32) -> String {
    match classes & !(1 << NULL) {
        0 => "null",
        2 => "integer",
        4 => "real",
        6 => "number",
        8 => "text",
        16 => "blob",
        _ => "mixed",
    }
    .to_owned()
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: a statement of ours, and used no more.
        unsafe { (self.connection.api.finalize)(self.handle) };
    }
}

// PostgreSQL's SERIAL in SQLite's words: only an `INTEGER PRIMARY KEY` numbers its rows there.

/// A `CREATE TABLE` whose SERIAL column gets numbers; any other statement as it is.
pub fn with_integer_key(sql: &str) -> Result<Cow<'_, str>, Error> {
    let Some((start, end)) = sql::find_serial(sql) else {
        return Ok(Cow::Borrowed(sql));
    };
    let column = sql::serial_column(sql, start);
    let rest = sql[end..].to_ascii_lowercase();
    let by = match key(&column.to_ascii_lowercase(), &rest) {
        Key::Here => "INTEGER",
        Key::Nowhere => "INTEGER PRIMARY KEY",
        Key::Elsewhere => return Err(unmappable(column)),
    };
    Ok(Cow::Owned(format!("{}{by}{}", &sql[..start], &sql[end..])))
}

enum Key {
    Here,
    Nowhere,
    Elsewhere,
}

/// Where the table's primary key stands, seen from its SERIAL column.
fn key(column: &str, rest: &str) -> Key {
    let words = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    let own = words.split(',').next().unwrap_or_default();
    let compact = words.replace(' ', "");
    if own.contains("primary key") || compact.contains(&format!("primarykey({column})")) {
        Key::Here
    } else if compact.contains("primarykey") {
        Key::Elsewhere
    } else {
        Key::Nowhere
    }
}

fn unmappable(column: &str) -> Error {
    Error::user(format!("SERIAL column {column} is not the table's primary key"))
        .because("this engine numbers the rows of an INTEGER PRIMARY KEY only")
        .hint("make it the primary key, or send ids of your own")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::with_integer_key;

    #[test]
    fn serial_becomes_the_key_that_numbers_rows() {
        let table =
            |id| format!("CREATE TABLE t(\n  id {id},\n  k INTEGER,\n  PRIMARY KEY (id)\n)");
        assert_eq!(with_integer_key(&table("SERIAL")).unwrap(), table("INTEGER"));
        assert_eq!(with_integer_key(&table("bigserial")).unwrap(), table("INTEGER"));
        let inline =
            with_integer_key("create temp table t (id serial primary key, k int)").unwrap();
        assert_eq!(inline, "create temp table t (id INTEGER primary key, k int)");
        let bare = with_integer_key("CREATE TABLE t (id SERIAL NOT NULL, k int)").unwrap();
        assert_eq!(bare, "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, k int)");
    }

    #[test]
    fn a_serial_that_would_stay_null_is_refused() {
        let error =
            with_integer_key("CREATE TABLE t (id SERIAL, k int, PRIMARY KEY (k, id))").unwrap_err();
        assert!(error.to_string().contains("SERIAL column id is not"), "{error}");
    }

    #[test]
    fn other_statements_stay_as_they_are() {
        for sql in ["INSERT INTO t VALUES ('serial')", "CREATE TABLE serials (a int)", "ö", ""] {
            assert_eq!(with_integer_key(sql).unwrap(), sql);
        }
    }
}
