//! Starts the driver on a script and reads its events.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::said::Said;

const DRIVER: &str = env!("CARGO_BIN_EXE_dyno-driver");

/// A driver under way, spoken to line by line.
pub struct Driver {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

/// Plays a plan to its end, saying `go` whenever it is asked for.
pub fn play(plan: &Value) -> Said {
    let mut driver = Driver::start(plan);
    (0..16).for_each(|_| driver.go());
    driver.rest()
}

/// Runs a one-shot command with a text on stdin.
pub fn once(command: &str, stdin: &str) -> Said {
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

    /// Does the event stream end within this time? Whatever is still said is dropped.
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

    /// All that is still said, and the exit code.
    pub fn rest(mut self) -> Said {
        self.stdin = None;
        let parse = |line: Result<String, _>| serde_json::from_str(&line.unwrap()).unwrap();
        let events = self.lines.take().unwrap().map(parse).collect();
        Said { code: self.child.wait().unwrap().code().unwrap_or(-1), events }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
