//! A client of `dyno pgbench`: what it counts around its transactions, in a row of a file that
//! Dyno's other process reads while it plays (`src/dyno/compat/pgbench/play.py` has the columns).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::Deserialize;

use crate::schedule::clock::now_ns;

/// A row's bytes, and the cells of it.
const ROW_BYTES: u64 = 65536;
const CELLS: usize = 8192;
/// Where the scripts' columns begin; how many each has, and each command behind them.
const SCRIPTS: usize = 8;
const PER_SCRIPT: usize = 16;
const PER_COMMAND: usize = 4;
/// Columns of a script that are counted here; lua/pgbench/client.lua has the others.
const DONE: usize = 0;
const RETRIED: usize = 5;
const RETRIES: usize = 6;
const LATE: usize = 7;
const LATENCY_US: usize = 8;
const LATENCY_US2: usize = 9;
const LAG_US: usize = 10;
const LAG_US_MAX: usize = 11;
/// Columns of a command.
const PLAYED: usize = 0;
const SPENT_US: usize = 1;

/// The rows of all clients of this process.
static ROWS: Mutex<Vec<Weak<Row>>> = Mutex::new(Vec::new());

/// What a client counted: it adds, and whoever tells the progress writes it down. Were each client
/// to write its own, many of them would spend more time in the file than on the wire.
struct Row {
    /// The bits of doubles.
    cells: Box<[AtomicU64]>,
    board: PathBuf,
    from_byte: u64,
}

impl Row {
    fn get(&self, at: usize) -> f64 {
        f64::from_bits(self.cells[at].load(Ordering::Relaxed))
    }

    /// Only its client changes a cell.
    #[inline]
    fn set(&self, at: usize, number: f64) {
        self.cells[at].store(number.to_bits(), Ordering::Relaxed);
    }

    fn write(&self) {
        let numbers = (0..self.cells.len()).map(|at| self.get(at).to_ne_bytes());
        let bytes: Vec<u8> = numbers.flatten().collect();
        // Opened anew, since a thread may have a table of files of its own. Whoever reads it sees
        // what is missing; there is nobody here to tell.
        let file = File::options().write(true).open(&self.board);
        let _ = file.and_then(|it| it.write_all_at(&bytes, self.from_byte));
    }
}

/// Writes what all clients counted until now, for who is told of the progress next.
pub fn write_rows() {
    let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    rows.retain(|row| row.upgrade().inspect(|it| it.write()).is_some());
}

/// What its command line asks of a client.
#[derive(Deserialize)]
pub struct ClientOptions {
    pub number: u32,
    board: PathBuf,
    scripts: usize,
    /// Transactions that it plays; 0: without end.
    transactions: u64,
    /// It is wanted when each begins; and how long it took.
    is_timed: bool,
    wants_latency: bool,
    is_paced: bool,
    latency_limit_us: f64,
    /// Commands of all scripts; 0: they are not reported.
    commands: usize,
    debugging: bool,
}

/// A client.
pub struct Client {
    pub options: ClientOptions,
    /// Transactions that ended or were skipped.
    pub ended: u64,
    /// It plays no more.
    pub is_over: bool,
    /// When the one under way began and was due, in µs.
    pub begun_us: f64,
    pub due_us: f64,
    /// Where the columns of the command under way are, and when it began.
    command: Option<(usize, f64)>,
    row: Arc<Row>,
}

impl Client {
    pub fn open(options: ClientOptions) -> io::Result<Self> {
        let commands = options.commands;
        let cells = first_of_commands(&options) + commands * PER_COMMAND;
        if cells > CELLS {
            let words = "more commands than --report-per-command can tell apart";
            return Err(io::Error::other(format!("{words}: {commands}")));
        }
        File::options().write(true).open(&options.board)?;
        let row = Arc::new(Row {
            cells: std::iter::repeat_with(AtomicU64::default).take(cells).collect(),
            board: options.board.clone(),
            from_byte: u64::from(options.number) * ROW_BYTES,
        });
        ROWS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&row));
        Ok(Self {
            options,
            ended: 0,
            is_over: false,
            begun_us: 0.0,
            due_us: 0.0,
            command: None,
            row,
        })
    }

    /// Adds to a cell of the row.
    #[inline]
    pub fn add(&mut self, at: usize, more: f64) {
        self.row.set(at, self.row.get(at) + more);
    }

    /// A transaction begins; `due_ns` where it is paced. False: it plays no more.
    #[inline]
    pub fn begin(&mut self, due_ns: u64) -> bool {
        let ClientOptions { transactions, is_timed, is_paced, .. } = self.options;
        if self.is_over || transactions > 0 && self.ended >= transactions {
            return false;
        }
        self.begun_us = if is_timed { now_us() } else { 0.0 };
        self.due_us = if is_paced { due_ns as f64 / 1e3 } else { self.begun_us };
        true
    }

    /// It begins only now; what it is paced by is when it was due.
    pub fn begin_now(&mut self) {
        self.begun_us = now_us();
        if !self.options.is_paced {
            self.due_us = self.begun_us;
        }
    }

    /// It ended so after some tries; how long it took, where that is known.
    #[inline]
    pub fn end(&mut self, script: usize, column: usize, tries: u64) -> Option<f64> {
        let at = SCRIPTS + script * PER_SCRIPT;
        let lag_us = self.begun_us - self.due_us;
        self.add(at + column, 1.0);
        if tries > 1 {
            self.add(at + RETRIED, 1.0);
            self.add(at + RETRIES, (tries - 1) as f64);
        }
        self.ended += 1;
        (column == DONE && self.options.wants_latency).then(|| {
            let latency_us = now_us() - self.due_us;
            self.add(at + LATENCY_US, latency_us);
            self.add(at + LATENCY_US2, latency_us * latency_us);
            self.add(at + LAG_US, lag_us);
            self.row.set(at + LAG_US_MAX, self.row.get(at + LAG_US_MAX).max(lag_us));
            let limit_us = self.options.latency_limit_us;
            self.add(at + LATE, f64::from(u8::from(limit_us > 0.0 && latency_us > limit_us)));
            latency_us
        })
    }

    /// A command begins, by its place among all, and that before it has ended.
    #[inline]
    pub fn begin_command(&mut self, place: usize, name: &str) {
        if self.options.debugging && name != "SQL" {
            eprintln!("pgbench: client {} executing \\{name}", self.options.number);
        }
        if self.options.commands > 0 {
            self.end_command();
            self.command = Some((first_of_commands(&self.options) + place * PER_COMMAND, now_us()));
        }
    }

    /// The command under way has ended.
    #[inline]
    pub fn end_command(&mut self) {
        if let Some((at, began_us)) = self.command.take() {
            self.add(at + PLAYED, 1.0);
            self.add(at + SPENT_US, now_us() - began_us);
        }
    }

    /// No command is under way.
    pub fn forget_command(&mut self) {
        self.command = None;
    }

    /// Counts in a column of the command that failed, where commands are reported.
    pub fn add_to_command(&mut self, column: usize) {
        if let Some((at, _)) = self.command.take() {
            self.add(at + column, 1.0);
        }
    }

    /// Tells what is sent where that is wanted.
    #[inline]
    pub fn tell_sending(&self, sql: impl FnOnce() -> Vec<u8>) {
        if self.options.debugging {
            let (number, sql) = (self.options.number, sql());
            eprintln!("pgbench: client {number} sending {}", String::from_utf8_lossy(&sql));
            eprintln!("pgbench: client {number} receiving");
        }
    }
}

/// Where the columns of the first command begin.
fn first_of_commands(options: &ClientOptions) -> usize {
    SCRIPTS + options.scripts * PER_SCRIPT
}

impl Drop for Client {
    fn drop(&mut self) {
        self.row.write();
    }
}

/// The phase's clock.
#[inline]
pub fn now_us() -> f64 {
    now_ns() as f64 / 1e3
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn clients_counts_are_in_the_file_at_each_progress_and_when_they_end() {
        let folder = Folder::new();
        let board = folder.path().join("board");
        File::create(&board).unwrap();
        let options = |number| ClientOptions {
            number,
            board: board.clone(),
            scripts: 1,
            transactions: 0,
            is_timed: false,
            wants_latency: false,
            is_paced: false,
            latency_limit_us: 0.0,
            commands: 0,
            debugging: false,
        };
        let done = |number: usize| {
            let bytes = std::fs::read(&board).unwrap();
            let at = number * ROW_BYTES as usize + (SCRIPTS + DONE) * 8;
            f64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
        };
        let mut clients = [0, 1].map(|number| Client::open(options(number)).unwrap());
        for _ in 0..3 {
            clients[1].end(0, DONE, 1);
        }
        write_rows();
        assert_eq!((done(0), done(1)), (0.0, 3.0));
        clients[0].end(0, DONE, 1);
        drop(clients);
        assert_eq!((done(0), done(1)), (1.0, 3.0));
    }
}
