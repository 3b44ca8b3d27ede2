//! DuckDB's C API, looked up in a library that is opened by path; its databases, one per file.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libloading::Library;

use crate::plan::error::Error;

/// A `duckdb_database`, `duckdb_connection`, `duckdb_prepared_statement`, `duckdb_config`,
/// `duckdb_data_chunk` or `duckdb_vector`: each is a pointer to something hidden.
pub type Handle = *mut c_void;

/// A `duckdb_result`; its fields are deprecated, its size is not. Some functions take it by value.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Answer {
    fields: [u64; 5],
    internal: usize,
}

/// Declares the table of functions and its loading, so that name and type stand once.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of one DuckDB library; its names without `duckdb_`.
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            fn look_up(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of duckdb.h, the same from 1.1 to 1.5; the library is
                // never unloaded, so the functions live for ever.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!("duckdb_", stringify!($name)))?,)*
                    })
                }
            }
        }
    };
}

functions! {
    create_config: fn(*mut Handle) -> c_int;
    set_config: fn(Handle, *const c_char, *const c_char) -> c_int;
    destroy_config: fn(*mut Handle);
    open_ext: fn(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> c_int;
    close: fn(*mut Handle);
    connect: fn(Handle, *mut Handle) -> c_int;
    disconnect: fn(*mut Handle);
    free: fn(*mut c_void);
    query: fn(Handle, *const c_char, *mut Answer) -> c_int;
    prepare: fn(Handle, *const c_char, *mut Handle) -> c_int;
    prepare_error: fn(Handle) -> *const c_char;
    destroy_prepare: fn(*mut Handle);
    nparams: fn(Handle) -> u64;
    param_type: fn(Handle, u64) -> c_int;
    bind_null: fn(Handle, u64) -> c_int;
    bind_int32: fn(Handle, u64, i32) -> c_int;
    bind_int64: fn(Handle, u64, i64) -> c_int;
    bind_double: fn(Handle, u64, f64) -> c_int;
    bind_varchar_length: fn(Handle, u64, *const c_char, u64) -> c_int;
    execute_prepared: fn(Handle, *mut Answer) -> c_int;
    destroy_result: fn(*mut Answer);
    result_error: fn(*mut Answer) -> *const c_char;
    result_return_type: fn(Answer) -> c_int;
    rows_changed: fn(*mut Answer) -> u64;
    row_count: fn(*mut Answer) -> u64;
    column_count: fn(*mut Answer) -> u64;
    column_name: fn(*mut Answer, u64) -> *const c_char;
    column_type: fn(*mut Answer, u64) -> c_int;
    value_is_null: fn(*mut Answer, u64, u64) -> bool;
    value_varchar: fn(*mut Answer, u64, u64) -> *mut c_char;
    fetch_chunk: fn(Answer) -> Handle;
    destroy_data_chunk: fn(*mut Handle);
    data_chunk_get_size: fn(Handle) -> u64;
    data_chunk_get_vector: fn(Handle, u64) -> Handle;
    vector_get_data: fn(Handle) -> *const c_void;
    vector_get_validity: fn(Handle) -> *const u64;
    appender_create: fn(Handle, *const c_char, *const c_char, *mut Handle) -> c_int;
    appender_column_count: fn(Handle) -> u64;
    appender_error: fn(Handle) -> *const c_char;
    appender_end_row: fn(Handle) -> c_int;
    appender_close: fn(Handle) -> c_int;
    appender_destroy: fn(*mut Handle) -> c_int;
    append_null: fn(Handle) -> c_int;
    append_varchar_length: fn(Handle, *const c_char, u64) -> c_int;
}

/// Libraries by path. None is ever unloaded: DuckDB leaves threads' own data behind.
static LOADED: Mutex<Option<HashMap<PathBuf, &'static Api>>> = Mutex::new(None);

impl Api {
    /// Opens a library, once; one that cannot be loaded, or lacks a function, is no DuckDB library.
    pub fn load(path: &Path) -> Result<&'static Self, Error> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = loaded.get_or_insert_default();
        if let Some(api) = loaded.get(path) {
            return Ok(api);
        }
        let api: &'static Self = Box::leak(Box::new(Self::open(path)?));
        loaded.insert(path.to_owned(), api);
        Ok(api)
    }

    fn open(path: &Path) -> Result<Self, Error> {
        // SAFETY: loading runs the library's initializers; DuckDB's need nothing of us, and another
        // library is one that the user named.
        let library = unsafe { Library::new(path) };
        let looked_up = library.and_then(|library| {
            let api = Self::look_up(&library);
            std::mem::forget(library);
            api
        });
        looked_up.map_err(|error| {
            let cause = std::error::Error::source(&error)
                .map_or_else(|| error.to_string(), ToString::to_string);
            Error::user(format!("{} is not a DuckDB library", path.display()))
                .because(cause)
                .hint("give the path of a libduckdb.so from 1.1 on, built for this machine")
        })
    }
}

// Databases: DuckDB lets one process in at a time, and there every connection shares one instance.

/// An open database, closed with the last connection to it.
struct Database {
    handle: Handle,
    connections: usize,
}

// SAFETY: any thread may use a duckdb_database (DuckDB's documentation, "Concurrency"), and all
// that is held here is a pointer to one.
unsafe impl Send for Database {}

/// All open databases. The lock is held while one opens or closes, since its file is locked then.
static OPEN: Mutex<Option<HashMap<PathBuf, Database>>> = Mutex::new(None);

/// One connection; it keeps its database open.
pub struct Connection {
    /// The library's functions.
    pub api: &'static Api,
    /// The connection, for those functions.
    pub handle: Handle,
    path: PathBuf,
}

impl Connection {
    /// Connects to the database at `path`, and opens that first where nobody has it open.
    pub fn open(
        api: &'static Api,
        path: &Path,
        settings: &[(String, String)],
    ) -> Result<Self, Error> {
        let it = Self { api, handle: connect(api, path, settings)?, path: path.to_owned() };
        match it.handle.is_null() {
            false => Ok(it),
            true => Err(Error::engine(format!("cannot connect to {}", path.display()))),
        }
    }
}

/// A new connection, counted with its database; null where that is open but lets nobody in.
fn connect(api: &Api, path: &Path, settings: &[(String, String)]) -> Result<Handle, Error> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    if !open.contains_key(path) {
        let database = Database { handle: open_database(api, path, settings)?, connections: 0 };
        open.insert(path.to_owned(), database);
    }
    let mut handle = ptr::null_mut();
    if let Some(database) = open.get_mut(path) {
        database.connections += 1;
        // SAFETY: the database is open; the connection stays null where this fails.
        unsafe { (api.connect)(database.handle, &mut handle) };
    }
    Ok(handle)
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: nobody uses the connection after this; none at all is left alone.
        unsafe { (self.api.disconnect)(&mut self.handle) };
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        let Some(database) = open.get_mut(&self.path) else { return };
        database.connections -= 1;
        if database.connections == 0 {
            // SAFETY: no connection is left, and the handle is forgotten with the entry.
            unsafe { (self.api.close)(&mut database.handle) };
            open.remove(&self.path);
        }
    }
}

fn open_database(api: &Api, path: &Path, settings: &[(String, String)]) -> Result<Handle, Error> {
    let file = text(path.as_os_str().as_encoded_bytes())?;
    let (mut config, mut database, mut message) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the configuration is written by this call.
    unsafe { (api.create_config)(&mut config) };
    let mut outcome = Ok(());
    for (name, value) in settings {
        outcome = outcome.and_then(|()| set(api, config, name, value));
    }
    if let Err(error) = outcome {
        // SAFETY: made above, and used no more.
        unsafe { (api.destroy_config)(&mut config) };
        return Err(error);
    }
    // SAFETY: the path ends in NUL; the configuration is copied, and freed after its use.
    let state = unsafe {
        let state = (api.open_ext)(file.as_ptr(), &mut database, config, &mut message);
        (api.destroy_config)(&mut config);
        state
    };
    match state {
        0 => Ok(database),
        _ => Err(not_open_database(api, path, message)),
    }
}

fn set(api: &Api, config: Handle, name: &str, value: &str) -> Result<(), Error> {
    let (key, wanted) = (text(name.as_bytes())?, text(value.as_bytes())?);
    // SAFETY: both texts end in NUL and are copied.
    match unsafe { (api.set_config)(config, key.as_ptr(), wanted.as_ptr()) } {
        0 => Ok(()),
        _ => Err(Error::user(format!("the engine has no setting {name}={value}"))),
    }
}

fn not_open_database(api: &Api, path: &Path, message: *mut c_char) -> Error {
    let mut cause = String::from("it does not say why");
    if !message.is_null() {
        // SAFETY: DuckDB wrote a text that ends in NUL and is ours to free.
        unsafe {
            cause = CStr::from_ptr(message).to_string_lossy().into_owned();
            (api.free)(message.cast());
        }
    }
    Error::host(format!("cannot open the database {}", path.display()))
        .because(cause.lines().next().unwrap_or_default())
        .hint("may its folder be written, and is no other process using it?")
}

/// Text for C.
pub fn text(bytes: &[u8]) -> Result<CString, Error> {
    CString::new(bytes).map_err(|cause| Error::user("a text holds a NUL").because(cause))
}
