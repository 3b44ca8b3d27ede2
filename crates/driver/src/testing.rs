//! What the tests of several modules need.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::plan::{self, Plan, Session};

/// A folder that is gone when the test is over.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dyno-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes `script.lua` and makes a plan that plays it on null without a delay.
    pub fn plan(&self, script: &str) -> Plan {
        let path = self.0.join("script.lua");
        std::fs::write(&path, script).unwrap();
        Plan {
            version: plan::VERSION,
            seed: 7,
            session: Session::Null { delay_ns: 0 },
            script: plan::Script { path, options: BTreeMap::new() },
            commands: Vec::new(),
            cpus: Vec::new(),
            progress_s: 0.0,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    static SENT: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes what a session on null was sent.
pub fn note_sent(what: String) {
    SENT.with_borrow_mut(|sent| sent.push(what));
}

/// All that this thread's sessions on null were sent since the last call.
pub fn take_sent() -> Vec<String> {
    SENT.take()
}
