//! A program that a script starts: it gets no stdin, and what it prints goes to stderr or is kept.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

/// A program that a script has started, and where it writes if that is read.
pub struct ChildProgram {
    child: Child,
    output: Option<File>,
}

impl ChildProgram {
    /// Starts a command in a shell; what it prints goes to stderr, or is kept to be read.
    pub fn start(command: &[u8], is_read: bool) -> std::io::Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(OsStr::from_bytes(command)).process_group(0).stdin(Stdio::null());
        let mut output = None;
        if is_read {
            let file = File::from(memfd_create("output", MemfdFlags::CLOEXEC)?);
            shell.stdout(file.try_clone()?);
            output = Some(file);
        }
        Ok(Self { child: shell.spawn()?, output })
    }

    /// How it ended; none where it has not.
    pub fn has_ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Ends it, and all that it has started.
    pub fn kill(mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }

    /// The beginning of what it printed, if that is read.
    pub fn said(self) -> std::io::Result<Vec<u8>> {
        let mut said = Vec::new();
        if let Some(mut output) = self.output {
            output.rewind()?;
            output.take(MOST_READ).read_to_end(&mut said)?;
        }
        Ok(said)
    }
}

/// Of what a program prints, so many bytes are read.
const MOST_READ: u64 = 64 << 10;
