//! `dyno_engine.h` from our side: an engine of a user's own, loaded by path; its databases.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libloading::{Library, Symbol};

use crate::plan::error::Error;

/// `DYNO_ENGINE_ABI`.
const ABI: c_uint = 1;
/// `DYNO_ERROR_BYTES`.
const ERROR_BYTES: usize = 256;
/// `DYNO_CONFLICT`.
const CONFLICT: c_int = -2;

/// A `struct dyno_bytes`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    data: *const c_void,
    length: usize,
}

impl Bytes {
    fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), length: bytes.len() }
    }
}

/// A `struct dyno_setting`.
#[repr(C)]
struct Setting {
    name: *const c_char,
    value: *const c_char,
}

type Pointer = *mut c_void;
type Row = unsafe extern "C" fn(Pointer, Bytes, Bytes) -> c_int;
type Tell = unsafe extern "C" fn(Pointer, *const c_char, *const c_char);

/// Declares `struct dyno_engine`, whose members may be missing, and what it is once none is.
macro_rules! members {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[repr(C)]
        struct Offered {
            abi: c_uint,
            name: *const c_char,
            $($name: Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>,)*
        }

        /// The functions of one engine.
        struct Api {
            name: String,
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Offered {
            /// The name of what is not set, where there is any.
            fn complete(&self, name: String) -> Result<Api, &'static str> {
                Ok(Api { name, $($name: self.$name.ok_or(stringify!($name))?,)* })
            }
        }
    };
}

members! {
    version: fn() -> *const c_char;
    open: fn(*const c_char, *const Setting, usize, *mut Pointer, *mut c_char) -> c_int;
    close: fn(Pointer);
    begin: fn(Pointer, *mut Pointer, *mut c_char) -> c_int;
    commit: fn(Pointer, Pointer, *mut c_char) -> c_int;
    rollback: fn(Pointer, Pointer, *mut c_char) -> c_int;
    get: fn(Pointer, Pointer, Bytes, Row, Pointer, *mut c_char) -> c_int;
    put: fn(Pointer, Pointer, Bytes, Bytes, c_int, *mut c_char) -> c_int;
    remove: fn(Pointer, Pointer, Bytes, *mut c_char) -> c_int;
    scan: fn(Pointer, Pointer, Bytes, usize, Row, Pointer, *mut c_char) -> c_int;
    stats: fn(Pointer, Tell, Pointer);
}

impl Api {
    fn load(path: &Path) -> Result<Self, Error> {
        let refused = |cause: String| {
            Error::user(format!("{} is no engine for Dyno", path.display()))
                .because(cause)
                .hint("`dyno engines plugin dyno_engine.h` prints what a library has to offer")
        };
        // SAFETY: loading runs the library's initializers; it is one that the user named.
        let library = unsafe { Library::new(path) };
        let told = |error: libloading::Error| {
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        };
        let library = library.map_err(|error| refused(told(error)))?;
        // SAFETY: the header declares the object so. Only its first member is read before the
        // interface's version is known.
        let offered = unsafe {
            let offered: Symbol<'_, *const c_uint> =
                library.get("dyno_engine").map_err(|error| refused(told(error)))?;
            let found = **offered;
            if found != ABI {
                return Err(refused(format!(
                    "it was compiled with version {found} of the interface, this is {ABI}"
                )));
            }
            &*(*offered).cast::<Offered>()
        };
        let name = read_text(offered.name);
        let missing = |member| refused(format!("its dyno_engine has no `{member}`"));
        let api = match name.is_empty() {
            true => Err(missing("name")),
            false => offered.complete(name).map_err(missing),
        };
        // never unloaded: an engine may leave threads behind
        std::mem::forget(library);
        api
    }
}

/// A text of C's; empty where there is none.
fn read_text(text: *const c_char) -> String {
    match text.is_null() {
        true => String::new(),
        // SAFETY: the header says that texts end in NUL.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    }
}

fn to_c(text: &[u8]) -> Result<CString, Error> {
    CString::new(text).map_err(|error| Error::user("a setting holds a NUL").because(error))
}

/// Room for an engine's words.
struct Words([c_char; ERROR_BYTES]);

impl Words {
    fn new() -> Self {
        Self([0; ERROR_BYTES])
    }

    /// What an answer means: 0 or more, or why not.
    #[inline]
    fn check(&self, answer: c_int) -> Result<c_int, Error> {
        if answer >= 0 { Ok(answer) } else { Err(self.error(answer)) }
    }

    #[cold]
    fn error(&self, answer: c_int) -> Error {
        let bytes = self.0.map(|it| it as u8);
        let words = bytes.split(|it| *it == 0).next().unwrap_or_default();
        let cause = match words.is_empty() {
            true => "it does not say why".into(),
            false => String::from_utf8_lossy(words),
        };
        let error = Error::engine("the engine refused a request").because(cause);
        match answer {
            CONFLICT => error.code("CONFLICT").sql(answer, "40001").restartable(),
            _ => error.code("FAILED").sql(answer, "HY000"),
        }
    }
}

// ---- databases: each is open once in a process -------------------------------------------------

/// An open database.
pub struct Database {
    api: Api,
    handle: Pointer,
    /// What it had counted when that was last asked for.
    counted: Mutex<BTreeMap<String, u64>>,
}

// SAFETY: the header says that any thread may use a database, and all else is ours.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

type Databases = HashMap<PathBuf, Arc<Database>>;

/// Those that are open; locked while one opens or closes.
static OPEN: Mutex<Option<Databases>> = Mutex::new(None);

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Database {
    fn open(library: &Path, folder: &Path, settings: &[(String, String)]) -> Result<Self, Error> {
        let api = Api::load(library)?;
        let path = to_c(folder.as_os_str().as_encoded_bytes())?;
        let mut texts = Vec::with_capacity(settings.len());
        for (name, value) in settings {
            texts.push((to_c(name.as_bytes())?, to_c(value.as_bytes())?));
        }
        let given: Vec<_> = texts
            .iter()
            .map(|(name, value)| Setting { name: name.as_ptr(), value: value.as_ptr() })
            .collect();
        let (mut handle, mut words) = (ptr::null_mut(), Words::new());
        // SAFETY: all texts end in NUL and live until the call is over.
        let answer = unsafe {
            let error = words.0.as_mut_ptr();
            (api.open)(path.as_ptr(), given.as_ptr(), given.len(), &mut handle, error)
        };
        if let Err(error) = words.check(answer) {
            let refused = Error::user(format!("{} cannot open a database", api.name));
            return Err(refused.because(error.engine_words()));
        }
        let it = Self { api, handle, counted: Mutex::default() };
        it.count_since();
        Ok(it)
    }

    /// What the engine says of itself, its name and version first.
    pub fn stats(&self) -> Vec<(String, String)> {
        unsafe extern "C" fn take(to: Pointer, name: *const c_char, value: *const c_char) {
            // SAFETY: `to` is the list below, for the time of the call.
            let found = unsafe { &mut *to.cast::<Vec<(String, String)>>() };
            found.push((read_text(name), read_text(value)));
        }
        // SAFETY: the function takes nothing.
        let version = read_text(unsafe { (self.api.version)() });
        let mut found =
            vec![("name".to_owned(), self.api.name.clone()), ("version".to_owned(), version)];
        // SAFETY: the database is open, and the list outlives the call.
        unsafe { (self.api.stats)(self.handle, take, (&raw mut found).cast()) };
        found
    }

    /// What it counted since this was last asked, by name.
    pub fn count_since(&self) -> Vec<(String, u64)> {
        let mut counted = lock(&self.counted);
        let now = self.stats().into_iter().filter_map(|(name, told)| {
            let count = told.parse::<u64>().ok()?;
            let before = counted.insert(name.clone(), count).unwrap_or(0);
            Some((name, count.saturating_sub(before)))
        });
        now.collect()
    }
}

// ---- one connection ----------------------------------------------------------------------------

/// When a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Its key is not there yet (`DYNO_INSERT`).
    Absent = 1,
    /// It is there (`DYNO_UPDATE`).
    Present = 2,
}

/// A use of a database by one thread, with its transaction.
pub struct Store {
    /// The database.
    pub database: Arc<Database>,
    folder: PathBuf,
    /// Null: none is open.
    transaction: Pointer,
    is_open: bool,
}

impl Store {
    /// Opens the database that lies in `folder`, where this process has not done that yet.
    pub fn open(
        library: &Path,
        folder: &Path,
        settings: &[(String, String)],
    ) -> Result<Self, Error> {
        let mut open = lock(&OPEN);
        let open = open.get_or_insert_default();
        let database = match open.get(folder) {
            Some(database) => database.clone(),
            None => Arc::new(Database::open(library, folder, settings)?),
        };
        open.insert(folder.to_owned(), database.clone());
        Ok(Self {
            database,
            folder: folder.to_owned(),
            transaction: ptr::null_mut(),
            is_open: false,
        })
    }

    /// Is a transaction open?
    pub fn in_transaction(&self) -> bool {
        self.is_open
    }

    /// Begins a transaction; there must be none.
    pub fn begin(&mut self) -> Result<(), Error> {
        let (it, mut words) = (&self.database, Words::new());
        // SAFETY: the database is open; the transaction is written where this goes well.
        let answer =
            unsafe { (it.api.begin)(it.handle, &mut self.transaction, words.0.as_mut_ptr()) };
        words.check(answer)?;
        self.is_open = true;
        Ok(())
    }

    /// Ends the open transaction: its changes are kept, or they are not.
    pub fn end(&mut self, keeps: bool) -> Result<(), Error> {
        let (it, mut words) = (&self.database, Words::new());
        let end = if keeps { it.api.commit } else { it.api.rollback };
        self.is_open = false;
        let transaction = std::mem::replace(&mut self.transaction, ptr::null_mut());
        // SAFETY: the transaction was begun by this thread, and is forgotten here.
        let answer = unsafe { end(it.handle, transaction, words.0.as_mut_ptr()) };
        words.check(answer).map(drop)
    }

    /// Hands a key's value to `found`; is it there?
    #[inline]
    pub fn get<F: FnMut(&[u8])>(&self, key: &[u8], mut found: F) -> Result<bool, Error> {
        let (it, mut words) = (&self.database, Words::new());
        let mut row = |_: &[u8], value: &[u8]| {
            found(value);
            true
        };
        let (take, to) = receiver(&mut row);
        // SAFETY: the key, and what takes its row, outlive the call.
        let answer = unsafe {
            let error = words.0.as_mut_ptr();
            (it.api.get)(it.handle, self.transaction, Bytes::of(key), take, to, error)
        };
        Ok(words.check(answer)? > 0)
    }

    /// Writes a row; was it written?
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8], when: When) -> Result<bool, Error> {
        let (it, mut words) = (&self.database, Words::new());
        let (key, value, when) = (Bytes::of(key), Bytes::of(value), when as c_int);
        // SAFETY: key and value outlive the call.
        let answer = unsafe {
            let error = words.0.as_mut_ptr();
            (it.api.put)(it.handle, self.transaction, key, value, when, error)
        };
        Ok(words.check(answer)? > 0)
    }

    /// Deletes a row; was it there?
    #[inline]
    pub fn remove(&self, key: &[u8]) -> Result<bool, Error> {
        let (it, mut words) = (&self.database, Words::new());
        // SAFETY: the key outlives the call.
        let answer = unsafe {
            let error = words.0.as_mut_ptr();
            (it.api.remove)(it.handle, self.transaction, Bytes::of(key), error)
        };
        Ok(words.check(answer)? > 0)
    }

    /// Hands rows from a key on, in their order, to `row` until that wants no more.
    #[inline]
    pub fn scan<F>(&self, first: &[u8], limit: usize, mut row: F) -> Result<(), Error>
    where
        F: FnMut(&[u8], &[u8]) -> bool,
    {
        let (it, mut words) = (&self.database, Words::new());
        let (take, to) = receiver(&mut row);
        // SAFETY: the key, and what takes the rows, outlive the call.
        let answer = unsafe {
            let error = words.0.as_mut_ptr();
            (it.api.scan)(it.handle, self.transaction, Bytes::of(first), limit, take, to, error)
        };
        words.check(answer).map(drop)
    }
}

/// A closure that takes rows, as C is given it; it answers whether it wants more.
fn receiver<F: FnMut(&[u8], &[u8]) -> bool>(row: &mut F) -> (Row, Pointer) {
    unsafe extern "C" fn take<F>(to: Pointer, key: Bytes, value: Bytes) -> c_int
    where
        F: FnMut(&[u8], &[u8]) -> bool,
    {
        // SAFETY: `to` is the closure, borrowed for the call in which it is handed on; the engine's
        // bytes are valid until this returns.
        let (row, key, value) = unsafe { (&mut *to.cast::<F>(), slice(key), slice(value)) };
        c_int::from(!row(key, value))
    }
    (take::<F>, ptr::from_mut(row).cast())
}

/// # Safety
/// The bytes are valid for as long as they are used.
unsafe fn slice<'a>(bytes: Bytes) -> &'a [u8] {
    match bytes.length {
        0 => &[],
        // SAFETY: the caller's promise.
        length => unsafe { std::slice::from_raw_parts(bytes.data.cast(), length) },
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.is_open {
            // What it says is of no use to anybody any more.
            let _ = self.end(false);
        }
        let mut open = lock(&OPEN);
        let open = open.get_or_insert_default();
        // this one's and the list's
        if Arc::strong_count(&self.database) == 2 {
            open.remove(&self.folder);
            // SAFETY: nobody else has it, and nobody can open it anew before the lock is free.
            unsafe { (self.database.api.close)(self.database.handle) };
        }
    }
}
