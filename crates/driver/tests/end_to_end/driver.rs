//! Starts the driver on a script and reads its events.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const DRIVER: &str = env!("CARGO_BIN_EXE_dyno-driver");

/// A driver under way, spoken to line by line.
pub struct Driver {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

/// Plays a plan to its end, saying `go` whenever it is asked for.
pub fn play(plan: &Value) -> Output {
    let mut driver = Driver::start(plan);
    (0..16).for_each(|_| driver.go());
    driver.rest()
}

/// Runs a one-shot command with a text on stdin.
pub fn once(command: &str, stdin: &str) -> Output {
    let mut driver = Driver::spawn(command);
    driver.send(stdin);
    driver.rest()
}

impl Driver {
    pub fn start(plan: &Value) -> Self {
        let mut driver = Self::spawn("run");
        driver.send(&plan.to_string());
        driver
    }

    /// The same, with a shell between us and the driver.
    pub fn start_under_a_shell(plan: &Value) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", r#""$0" run; exit"#, DRIVER]);
        let mut driver = Self::from(shell);
        driver.send(&plan.to_string());
        driver
    }

    fn spawn(command: &str) -> Self {
        let mut driver = Command::new(DRIVER);
        driver.arg(command);
        Self::from(driver)
    }

    /// An echo that listens at a place, and its port.
    pub fn start_echo(place: &str) -> (Self, u64) {
        let mut command = Command::new(DRIVER);
        command.args(["echo", place]);
        let mut echo = Self::from(command);
        let said = echo.lines.as_mut().unwrap().next().unwrap().unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        (echo, count(&said, "port"))
    }

    fn from(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let lines = child.stdout.take().map(|stdout| BufReader::new(stdout).lines());
        Self { child, stdin, lines }
    }

    fn send(&mut self, line: &str) {
        // A driver that has already given up closes its end; its own words say why.
        let _ = writeln!(self.stdin.as_mut().unwrap(), "{line}");
    }

    pub fn go(&mut self) {
        self.send("go");
    }

    /// Lets an interleaved phase start at a time.
    pub fn go_at(&mut self, start_ns: u64) {
        self.send(&format!("go {start_ns}"));
    }

    /// Closes stdin: the caller is gone.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    pub fn interrupt(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).unwrap();
    }

    /// Kills what we started (under a shell: the shell alone); the driver's stdin stays open.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Does the event stream end within this time? Whatever it still prints is dropped.
    pub fn falls_silent(mut self, within: Duration) -> bool {
        let (sender, ended) = channel();
        let lines = self.lines.take().unwrap();
        std::thread::spawn(move || {
            lines.for_each(drop);
            sender.send(())
        });
        ended.recv_timeout(within).is_ok()
    }

    /// The next event; panics with it if it is of another kind.
    pub fn expect(&mut self, kind: &str) -> Value {
        let event: Value =
            serde_json::from_str(&self.lines.as_mut().unwrap().next().unwrap().unwrap()).unwrap();
        assert_eq!(event["event"], kind, "{event}");
        event
    }

    /// All that it still prints, and the exit code.
    pub fn rest(mut self) -> Output {
        self.stdin = None;
        let parse = |line: Result<String, _>| serde_json::from_str(&line.unwrap()).unwrap();
        let events = self.lines.take().unwrap().map(parse).collect();
        Output { code: self.child.wait().unwrap().code().unwrap_or(-1), events }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// What a driver printed.

/// All that a driver printed.
pub struct Output {
    pub code: i32,
    pub events: Vec<Value>,
}

impl Output {
    pub fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(|event| event["event"].as_str().unwrap_or("")).collect()
    }

    /// The same without the lines of progress, which come as time passes.
    pub fn turns(&self) -> Vec<&str> {
        self.kinds().into_iter().filter(|kind| *kind != "progress").collect()
    }

    /// The `done` event of a phase.
    pub fn done(&self, phase: &str) -> &Value {
        let is_it = |event: &&Value| event["event"] == "done" && event["phase"] == phase;
        self.events.iter().find(is_it).unwrap_or_else(|| panic!("{:?}", self.events))
    }

    /// A stream's tally, after a look at its identity.
    pub fn tally(&self, phase: &str, stream: usize) -> &Value {
        let tally = &self.done(phase)["streams"][stream];
        let sum = count(tally, "done") + count(tally, "failed") + count(tally, "skipped");
        assert_eq!(count(tally, "intended"), sum, "{tally}");
        let told = count(tally, "done") + count(tally, "cut");
        assert_eq!(count(&tally["latency"], "count"), told);
        let series = |column: &str| -> u64 {
            tally["series"][column].as_array().unwrap().iter().filter_map(Value::as_u64).sum()
        };
        assert_eq!(series("done"), count(tally, "done"));
        assert_eq!(series("failed"), count(tally, "failed"));
        tally
    }
}

/// A number of an object.
pub fn count(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or_else(|| panic!("no {name} in {object}"))
}

// Plans for a null engine, and the scripts that they play.

/// A plan for a null engine that answers after a delay.
pub fn plan(script: &str, delay_ns: u64) -> Value {
    json!({
        "version": 1,
        "seed": 1,
        "session": {"kind": "null", "delay_ns": delay_ns},
        "script": {"path": file(script), "options": {}, "argv": []},
        "commands": ["run"],
        "cpus": [],
        "progress_s": 0.0,
        "reports": false,
    })
}

fn file(script: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("script-{}-{number}.lua", std::process::id());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, script).unwrap();
    path
}

/// A script of one phase whose streams send one query an event.
pub fn phase(phase: &str) -> String {
    format!("{EVENT}\ndyno.phases = function() return {{ {phase} }} end\n")
}

/// A global function `event` that sends one query over a connection of its own.
pub const EVENT: &str = r#"
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
"#;
