//! The process that started us: plan and `go` from stdin, JSON lines to stdout; SIGINT.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{
    Signal, getppid, kill_current_process_group, set_parent_process_death_signal,
};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use serde::Serialize;
use serde::de::DeserializeOwned;
use signal_hook::consts::SIGINT;

use super::error::Error;
use super::event::Event;
use super::{Ask, Plan, VERSION};

/// The process that started us.
pub struct Parent {
    lines: Receiver<String>,
    interrupted: Arc<AtomicBool>,
    ends_with_stdin: Arc<AtomicBool>,
}

/// What the parent wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// `go`, with the CLOCK_MONOTONIC time of its start where several drivers start together.
    Go {
        /// When all start.
        start_ns: Option<u64>,
    },
    /// A SIGINT came.
    Stop,
    /// The end of stdin: nobody is there.
    Gone,
}

/// How often a wait looks for a SIGINT.
const SIGINT_CHECK: Duration = Duration::from_millis(50);

impl Parent {
    /// Listens on a thread of its own, so that a wait for `go` can be interrupted; `clock` is what
    /// a ping is answered by.
    pub fn listen(clock: fn() -> u64) -> Result<Self, Error> {
        let (sender, lines) = channel();
        let parent = match STREAMS.get() {
            Some(streams) => streams.from_parent.try_clone(),
            None => std::io::stdin().as_fd().try_clone_to_owned().map(File::from),
        };
        let parent = parent.map_err(|cause| Error::host("cannot read stdin").because(cause))?;
        let interrupted = sigint_flag()?;
        let ends_with_stdin = Arc::new(AtomicBool::new(false));
        let (is_to_stop, ends) = (Arc::clone(&interrupted), Arc::clone(&ends_with_stdin));
        let read = move || {
            for line in BufReader::new(parent).lines().map_while(Result::ok) {
                if let Some(number) = line.strip_prefix("ping ") {
                    answer_ping(number, clock);
                } else if line == "interrupt" {
                    is_to_stop.store(true, Ordering::Relaxed);
                } else if sender.send(line).is_err() {
                    break;
                }
            }
            if ends.load(Ordering::Relaxed) {
                let _ = kill_current_process_group(Signal::KILL);
            }
        };
        std::thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(read)
            .map_err(|cause| Error::host("cannot start a thread").because(cause))?;
        Ok(Self { lines, interrupted, ends_with_stdin })
    }

    /// From now on the end of stdin ends this process at once, whatever it is at: who started us
    /// may be on another machine, whose kernel does not tell us of its death.
    pub fn end_with_stdin(&self) {
        self.ends_with_stdin.store(true, Ordering::Relaxed);
    }

    /// The plan, checked for its version.
    pub fn plan(&self) -> Result<Plan, Error> {
        self.message("plan")
    }

    /// The questions, checked for their version.
    pub fn ask(&self) -> Result<Ask, Error> {
        self.message("ask")
    }

    /// The next questions; none where stdin is over.
    pub fn ask_again(&self) -> Result<Option<Ask>, Error> {
        self.lines.recv().ok().map(|line| parse("ask", &line)).transpose()
    }

    /// The next word, or that none came `within` the time.
    pub fn next_word(&self, within: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(within)
    }

    /// A question of another kind, checked for its version.
    pub fn question<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.message("question")
    }

    fn message<T: DeserializeOwned>(&self, what: &str) -> Result<T, Error> {
        let line = self.lines.recv().map_err(|_| Error::user(format!("no {what} on stdin")))?;
        parse(what, &line)
    }

    /// Has a SIGINT come?
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Waits for `go`.
    pub fn await_go(&self) -> Result<Instruction, Error> {
        loop {
            if self.is_interrupted() {
                return Ok(Instruction::Stop);
            }
            match self.lines.recv_timeout(SIGINT_CHECK) {
                Ok(line) => return go(line.trim()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if self.is_interrupted() => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Instruction::Gone),
            }
        }
    }
}

/// A line of JSON, checked for its version.
pub fn parse<T: DeserializeOwned>(what: &str, line: &str) -> Result<T, Error> {
    check_version(what, line)?;
    serde_json::from_str(line)
        .map_err(|cause| Error::user(format!("malformed {what}")).because(cause))
}

/// Says what our clock shows, to whoever measures how far it is from theirs.
fn answer_ping(number: &str, clock: fn() -> u64) {
    let pong = number.trim().parse().map(|number| Event::Pong { number, monotonic_ns: clock() });
    // One that cannot be read has no answer, and is missed by who sent it.
    let _ = pong.map(|pong| emit(&pong));
}

/// `go`, or `go` and a time in ns.
fn go(line: &str) -> Result<Instruction, Error> {
    let rest = line.strip_prefix("go").map(str::trim);
    let start_ns = match rest {
        Some("") => Some(None),
        Some(time) => time.parse().ok().map(Some),
        None => None,
    };
    let misread = || Error::user(format!("expected `go` on stdin, not `{line}`"));
    start_ns.map(|start_ns| Instruction::Go { start_ns }).ok_or_else(misread)
}

/// The version is looked at first: a newer plan may be malformed in our eyes.
fn check_version(what: &str, line: &str) -> Result<(), Error> {
    let json: serde_json::Value = serde_json::from_str(line)
        .map_err(|cause| Error::user(format!("malformed {what}")).because(cause))?;
    match json.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version != u64::from(VERSION) => {
            let message = format!("{what} version {version}, but this driver speaks {VERSION}");
            Err(Error::user(message).hint("install dyno and dyno-driver from one wheel"))
        }
        _ => Ok(()),
    }
}

/// Prints one line of the event stream.
pub fn emit(event: &Event) -> Result<(), Error> {
    print_json(event)
}

/// Prints one JSON line and flushes it.
pub fn print_json<T: Serialize>(message: &T) -> Result<(), Error> {
    let mut line = serde_json::to_vec(message)
        .map_err(|cause| Error::driver("cannot write JSON").because(cause))?;
    line.push(b'\n');
    print_bytes(&line)
}

/// Prints bytes as they are.
pub fn print_bytes(bytes: &[u8]) -> Result<(), Error> {
    let written = match STREAMS.get() {
        Some(streams) => {
            streams.to_parent.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
        }
        None => std::io::stdout().lock().write_all(bytes),
    };
    written.map_err(|cause| Error::host("cannot write to stdout").because(cause))
}

/// Ends in failure: the `error` line, then 64 where the user can put it right, else 1.
pub fn exit_with_error(error: &Error, phase: Option<&str>) -> ExitCode {
    let failure = error.failure(phase);
    let code = if failure.blame == "user" { 64 } else { 1 };
    // A parent that no longer reads has only the exit code left.
    let _ = emit(&Event::Error(failure));
    ExitCode::from(code)
}

// What is said between us and our parent goes past stdin and stdout: a script's children inherit
// those, and what they write must not be taken for our words, nor may they read a `go`.

struct Streams {
    from_parent: File,
    to_parent: Mutex<File>,
}

static STREAMS: OnceLock<Streams> = OnceLock::new();

/// Takes stdin and stdout for the parent alone: for everybody else stdin is empty from here on, and
/// stdout is stderr.
pub fn keep_streams() -> Result<(), Error> {
    let kept = || -> std::io::Result<Streams> {
        let from_parent = fcntl_dupfd_cloexec(std::io::stdin(), LEAST_OWN)?;
        let to_parent = fcntl_dupfd_cloexec(std::io::stdout(), LEAST_OWN)?;
        dup2_stdin(File::open("/dev/null")?)?;
        dup2_stdout(std::io::stderr())?;
        Ok(Streams { from_parent: from_parent.into(), to_parent: Mutex::new(to_parent.into()) })
    };
    let streams = kept().map_err(|cause| Error::host("cannot keep our streams").because(cause))?;
    STREAMS.get_or_init(|| streams);
    Ok(())
}

/// The least number of a stream of ours: 0 to 2 are everybody's.
const LEAST_OWN: i32 = 3;

// SIGINT as a flag, and the parent's death as our own.

/// Makes the kernel kill us when the thread that started us ends: a killed parent leaves no driver.
///
/// A parent that died before the call would never be noticed, hence the second look.
pub fn die_with_parent() {
    let parent = getppid();
    let held = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    if held && getppid() != parent {
        std::process::exit(1);
    }
}

/// A flag that the first and every later SIGINT sets.
fn sigint_flag() -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGINT, Arc::clone(&flag))
        .map_err(|cause| Error::host("cannot catch SIGINT").because(cause))?;
    Ok(flag)
}
