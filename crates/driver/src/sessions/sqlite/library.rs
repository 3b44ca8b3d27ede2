//! SQLite's C API, looked up in a library that is opened by path.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use libloading::Library;

use crate::plan::error::Error;

/// A `sqlite3 *`.
pub type Sqlite3 = *mut c_void;
/// A `sqlite3_stmt *`.
pub type Stmt = *mut c_void;
/// What SQLite calls when a lock is held: argument, times called for this lock; 0 gives up.
pub type BusyHandler = extern "C" fn(*mut c_void, c_int) -> c_int;

/// `sqlite3_stmt_scanstatus`: statement, scan, what is asked, and where its answer goes.
pub type ScanStatus = unsafe extern "C" fn(Stmt, c_int, c_int, *mut c_void) -> c_int;

/// Declares the table of functions and its loading, so that name and type stand once.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty = $symbol:literal;)*) => {
        /// Functions of one SQLite library; its names without `sqlite3_`.
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Of libraries that are compiled with SQLITE_ENABLE_STMT_SCANSTATUS.
            pub scan_status: Option<ScanStatus>,
            // Last: dropped when no function above can be called any more.
            _library: Library,
        }

        impl Api {
            fn look_up(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of sqlite3.h, unchanged since 3.7; the functions live
                // as long as the library, which is kept beside them.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!("sqlite3_", $symbol))?,)*
                        scan_status: library.get("sqlite3_stmt_scanstatus").ok().map(|it| *it),
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    threadsafe: fn() -> c_int = "threadsafe";
    open: fn(*const c_char, *mut Sqlite3, c_int, *const c_char) -> c_int = "open_v2";
    close: fn(Sqlite3) -> c_int = "close";
    extended_result_codes: fn(Sqlite3, c_int) -> c_int = "extended_result_codes";
    busy_handler: fn(Sqlite3, BusyHandler, *mut c_void) -> c_int = "busy_handler";
    get_autocommit: fn(Sqlite3) -> c_int = "get_autocommit";
    total_changes: fn(Sqlite3) -> c_int = "total_changes";
    changes: fn(Sqlite3) -> c_int = "changes";
    extended_errcode: fn(Sqlite3) -> c_int = "extended_errcode";
    errmsg: fn(Sqlite3) -> *const c_char = "errmsg";
    prepare: fn(Sqlite3, *const c_char, c_int, *mut Stmt, *mut *const c_char) -> c_int
        = "prepare_v2";
    step: fn(Stmt) -> c_int = "step";
    reset: fn(Stmt) -> c_int = "reset";
    finalize: fn(Stmt) -> c_int = "finalize";
    bind_parameter_count: fn(Stmt) -> c_int = "bind_parameter_count";
    bind_null: fn(Stmt, c_int) -> c_int = "bind_null";
    bind_int64: fn(Stmt, c_int, i64) -> c_int = "bind_int64";
    bind_double: fn(Stmt, c_int, f64) -> c_int = "bind_double";
    bind_text: fn(Stmt, c_int, *const c_char, c_int, *const c_void) -> c_int = "bind_text";
    column_count: fn(Stmt) -> c_int = "column_count";
    column_name: fn(Stmt, c_int) -> *const c_char = "column_name";
    column_type: fn(Stmt, c_int) -> c_int = "column_type";
    column_int64: fn(Stmt, c_int) -> i64 = "column_int64";
    column_text: fn(Stmt, c_int) -> *const u8 = "column_text";
    column_bytes: fn(Stmt, c_int) -> c_int = "column_bytes";
    db_status: fn(Sqlite3, c_int, *mut c_int, *mut c_int, c_int) -> c_int = "db_status";
    stmt_status: fn(Stmt, c_int, c_int) -> c_int = "stmt_status";
}

impl Api {
    /// Opens a library. One that cannot be loaded, or lacks a function, is no SQLite library.
    pub fn load(path: &Path) -> Result<Self, Error> {
        // SAFETY: loading runs the library's initializers; SQLite has none, and another library is
        // one that the user named.
        let library = unsafe { Library::new(path) };
        let api = library.and_then(Self::look_up).map_err(|error| {
            Error::user(format!("{} is not a SQLite library", path.display()))
                .because(reason(&error))
                .hint("give the path of a libsqlite3.so built for this machine")
        })?;
        // SAFETY: the function takes nothing and only reads a constant.
        if unsafe { (api.threadsafe)() } == 0 {
            let error = Error::user(format!("{} is built without threads", path.display()));
            return Err(error.hint("build it with SQLITE_THREADSAFE=1 or 2"));
        }
        Ok(api)
    }
}

/// The loader's own words where it has any.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
