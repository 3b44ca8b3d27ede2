//! A client of `dyno pgbench`: what it counts around its transactions, in a row of a file that
//! Dyno's other process reads while it plays (`src/dyno/compat/pgbench/play.py` has the columns).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::schedule::clock::{SECOND_NS, now_ns};

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
/// What was counted is written so often, and when the client ends.
const EVERY_NS: u64 = SECOND_NS / 200;

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
    file: File,
    cells: Vec<f64>,
    row: Vec<u8>,
    written_ns: u64,
}

impl Client {
    pub fn open(options: ClientOptions) -> io::Result<Self> {
        let commands = options.commands;
        if first_of_commands(&options) + commands * PER_COMMAND > CELLS {
            let words = "more commands than --report-per-command can tell apart";
            return Err(io::Error::other(format!("{words}: {commands}")));
        }
        let file = File::options().write(true).open(&options.board)?;
        Ok(Self {
            options,
            ended: 0,
            is_over: false,
            begun_us: 0.0,
            due_us: 0.0,
            command: None,
            file,
            cells: Vec::new(),
            row: Vec::new(),
            written_ns: 0,
        })
    }

    fn cell(&mut self, at: usize) -> &mut f64 {
        if at >= self.cells.len() {
            self.cells.resize(at + 1, 0.0);
        }
        &mut self.cells[at]
    }

    /// Adds to a cell of the row.
    #[inline]
    pub fn add(&mut self, at: usize, more: f64) {
        *self.cell(at) += more;
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
        let now_ns = now_ns();
        let latency_us = (column == DONE && self.options.wants_latency).then(|| {
            let latency_us = now_ns as f64 / 1e3 - self.due_us;
            self.add(at + LATENCY_US, latency_us);
            self.add(at + LATENCY_US2, latency_us * latency_us);
            self.add(at + LAG_US, lag_us);
            let most = self.cell(at + LAG_US_MAX);
            *most = most.max(lag_us);
            let limit_us = self.options.latency_limit_us;
            self.add(at + LATE, f64::from(u8::from(limit_us > 0.0 && latency_us > limit_us)));
            latency_us
        });
        if now_ns - self.written_ns > EVERY_NS {
            self.written_ns = now_ns;
            self.write();
        }
        latency_us
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

    /// Writes what was counted.
    pub fn write(&mut self) {
        self.row.clear();
        self.row.extend(self.cells.iter().flat_map(|it| it.to_ne_bytes()));
        let from = u64::from(self.options.number) * ROW_BYTES;
        // Whoever reads it sees what is missing; there is nobody here to tell.
        let _ = self.file.write_all_at(&self.row, from);
    }
}

/// Where the columns of the first command begin.
fn first_of_commands(options: &ClientOptions) -> usize {
    SCRIPTS + options.scripts * PER_SCRIPT
}

impl Drop for Client {
    fn drop(&mut self) {
        self.write();
    }
}

/// The phase's clock.
#[inline]
pub fn now_us() -> f64 {
    now_ns() as f64 / 1e3
}
