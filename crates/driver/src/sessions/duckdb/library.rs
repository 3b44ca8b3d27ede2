//! DuckDB's C API, looked up in a library that is opened by path.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};
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
