//! One connection to a database file, behind safe calls: its locks, its PRAGMAs.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::library::{Api, Sqlite3};
use super::{Sqlite, failure};
use crate::plan::error::Error;
use crate::sessions::Session;

/// Read and write, make, and no mutex: a connection never leaves its thread.
const OPEN_FLAGS: c_int = 0x2 | 0x4 | 0x8000;

/// What a counter holds: libraries up to 3.50 count in an `int`, later ones show 31 bits.
pub const COUNTER_BITS: u32 = 0x7fff_ffff;

/// A `sqlite3 *`; its statements keep it open.
pub struct Connection {
    /// The library's functions.
    pub api: Api,
    /// Waits for locks.
    pub busy: Busy,
    pub(super) handle: Sqlite3,
}

/// A result code, extended where SQLite told it, and the message.
pub type Failure = (c_int, String);

impl Connection {
    /// Opens the database, and makes it where there is none.
    pub fn open(api: Api, path: &CStr, timeout_ms: u64) -> Result<Rc<Self>, Failure> {
        let mut handle = ptr::null_mut();
        // SAFETY: the path ends in NUL; the handle is written even when opening fails.
        let code = unsafe { (api.open)(path.as_ptr(), &mut handle, OPEN_FLAGS, ptr::null()) };
        // From here on drop closes it, opened or not.
        let it = Rc::new(Self { api, busy: Busy::new(timeout_ms), handle });
        if code != 0 {
            return Err(it.failure(code));
        }
        let busy = ptr::from_ref(&it.busy).cast_mut().cast();
        // SAFETY: the connection is open; `busy` stays where it is until the connection is closed.
        unsafe {
            (it.api.extended_result_codes)(it.handle, 1);
            (it.api.busy_handler)(it.handle, handle_busy, busy);
        }
        Ok(it)
    }

    /// SQLite's last failure.
    fn failure(&self, code: c_int) -> Failure {
        // SAFETY: SQLite answers both also for a connection that failed to open, even for none; the
        // message is copied before the next call.
        unsafe {
            let extended = (self.api.extended_errcode)(self.handle);
            let message = CStr::from_ptr((self.api.errmsg)(self.handle)).to_string_lossy();
            let is_same = extended & 0xff == code & 0xff;
            (if is_same { extended } else { code }, message.into_owned())
        }
    }

    /// The error of a statement that has just failed.
    pub fn error(&self, code: c_int, sql: &str) -> Error {
        let (code, message) = self.failure(code);
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

    /// Rows that were changed since the connection was opened.
    pub fn total_changes(&self) -> c_int {
        // SAFETY: only reads the open connection.
        unsafe { (self.api.total_changes)(self.handle) }
    }

    /// Rows that the last statement changed itself, where the total is no longer what it was;
    /// `changes` alone tells of an older one.
    pub fn changed_since(&self, before: c_int) -> u64 {
        if self.total_changes() == before {
            return 0;
        }
        // SAFETY: only reads the open connection.
        u64::try_from(unsafe { (self.api.changes)(self.handle) }).unwrap_or(0)
    }

    /// A counter of its page cache since it was opened, of 31 bits; none where the library does not
    /// know it.
    pub fn read_status(&self, counter: c_int) -> Option<u32> {
        let (mut now, mut highest) = (0, 0);
        // SAFETY: both are written, and the connection is open; an unknown counter is refused.
        let code = unsafe { (self.api.db_status)(self.handle, counter, &mut now, &mut highest, 0) };
        (code == 0).then_some(now as u32 & COUNTER_BITS)
    }

    /// Has somebody said BEGIN?
    pub fn in_transaction(&self) -> bool {
        // SAFETY: only reads the open connection.
        unsafe { (self.api.get_autocommit)(self.handle) == 0 }
    }
}

impl Drop for Connection {
    /// Closing the last connection of a database in WAL mode also checkpoints it.
    fn drop(&mut self) {
        // SAFETY: each statement keeps its connection, so none is left; closing none at all does
        // nothing.
        unsafe { (self.api.close)(self.handle) };
    }
}

/// The busy handler; its argument is the connection's [`Busy`].
extern "C" fn handle_busy(busy: *mut c_void, times: c_int) -> c_int {
    // SAFETY: `open` gave SQLite the address inside its `Rc`, which outlives the connection; all
    // access is shared, on the connection's own thread.
    let busy = unsafe { &*busy.cast::<Busy>() };
    c_int::from(busy.wait(usize::try_from(times).unwrap_or(0)))
}

// Waiting for a lock: counted, with SQLite's own back-off, and limited like `busy_timeout`.

/// Milliseconds between two looks at a lock, as SQLite's own handler waits (main.c); then 100.
const DELAYS_MS: [u64; 11] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50];

/// What a connection's busy handler knows. Shared with SQLite, hence the cells.
pub struct Busy {
    timeout: Duration,
    since: Cell<Instant>,
    /// Times that the engine said busy and was asked again, to be taken.
    pub count: Cell<u64>,
    /// What it slept meanwhile, to be taken.
    pub slept: Cell<Duration>,
    /// The handler was asked during the current statement.
    pub asked: Cell<bool>,
}

impl Busy {
    /// Gives up after so long.
    pub fn new(timeout_ms: u64) -> Self {
        Self {
            timeout: Duration::from_millis(timeout_ms),
            since: Cell::new(Instant::now()),
            count: Cell::new(0),
            slept: Cell::new(Duration::ZERO),
            asked: Cell::new(false),
        }
    }

    /// Sleeps before the next look; false: the time is up.
    pub fn wait(&self, times: usize) -> bool {
        self.asked.set(true);
        if times == 0 {
            self.since.set(Instant::now());
        }
        let delay = Duration::from_millis(DELAYS_MS.get(times).copied().unwrap_or(100));
        let rest = self.timeout.saturating_sub(self.since.get().elapsed());
        if rest.is_zero() {
            return false;
        }
        self.count.set(self.count.get() + 1);
        let began = Instant::now();
        std::thread::sleep(delay.min(rest));
        self.slept.set(self.slept.get() + began.elapsed());
        true
    }
}

// PRAGMAs of a plan, set when a connection opens.

/// What SQLite waits for a lock by default here, as most bindings set it.
const BUSY_TIMEOUT_MS: u64 = 5000;

/// Sets all but the time-out for locks, which [`timeout_ms`] reads.
pub fn set_all(session: &mut Sqlite, pragmas: &[(String, String)]) -> Result<(), Error> {
    for (name, value) in pragmas.iter().filter(|(name, _)| !is_busy_timeout(name)) {
        set(session, &statement(name, value)?)?;
    }
    Ok(())
}

/// Asks again also where SQLite does not: for a change of the journal mode it gives up at once
/// when another connection has the file open (pragma.html#pragma_journal_mode).
fn set(session: &mut Sqlite, pragma: &str) -> Result<(), Error> {
    let mut times = 0;
    loop {
        match session.query(pragma) {
            Err(error) if is_busy(&error) && session.connection.busy.wait(times) => times += 1,
            other => return other.map(drop),
        }
    }
}

fn is_busy(error: &Error) -> bool {
    error.number() & 0xff == failure::BUSY
}

fn is_busy_timeout(name: &str) -> bool {
    name.eq_ignore_ascii_case("busy_timeout")
}

/// The PRAGMA would put SQLite's own handler in the place of ours, which counts.
pub fn timeout_ms(pragmas: &[(String, String)]) -> Result<u64, Error> {
    match pragmas.iter().rfind(|(name, _)| is_busy_timeout(name)) {
        None => Ok(BUSY_TIMEOUT_MS),
        Some((_, text)) => text.trim().parse().map_err(|_| {
            Error::user(format!("busy_timeout is not a number of milliseconds: {text}"))
        }),
    }
}

fn statement(name: &str, value: &str) -> Result<String, Error> {
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        return Err(Error::user(format!("not the name of a PRAGMA: {name}")));
    }
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c));
    Ok(match is_plain {
        true => format!("PRAGMA {name} = {value}"),
        false => format!("PRAGMA {name} = '{}'", value.replace('\'', "''")),
    })
}
