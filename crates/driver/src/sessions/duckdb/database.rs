//! Databases: DuckDB lets one process in at a time, and there every connection shares one instance.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::library::{Api, Handle};
use crate::plan::error::Error;

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
        let it = Self { api, handle: connected(api, path, settings)?, path: path.to_owned() };
        match it.handle.is_null() {
            false => Ok(it),
            true => Err(Error::engine(format!("cannot connect to {}", path.display()))),
        }
    }
}

/// A new connection, counted with its database; null where that is open but lets nobody in.
fn connected(api: &Api, path: &Path, settings: &[(String, String)]) -> Result<Handle, Error> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    if !open.contains_key(path) {
        let database = Database { handle: opened(api, path, settings)?, connections: 0 };
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

fn opened(api: &Api, path: &Path, settings: &[(String, String)]) -> Result<Handle, Error> {
    let file = text(path.as_os_str().as_encoded_bytes())?;
    let (mut config, mut database, mut told) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
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
        let state = (api.open_ext)(file.as_ptr(), &mut database, config, &mut told);
        (api.destroy_config)(&mut config);
        state
    };
    match state {
        0 => Ok(database),
        _ => Err(not_opened(api, path, told)),
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

fn not_opened(api: &Api, path: &Path, told: *mut c_char) -> Error {
    let mut cause = String::from("it does not say why");
    if !told.is_null() {
        // SAFETY: DuckDB wrote a text that ends in NUL and is ours to free.
        unsafe {
            cause = CStr::from_ptr(told).to_string_lossy().into_owned();
            (api.free)(told.cast());
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
