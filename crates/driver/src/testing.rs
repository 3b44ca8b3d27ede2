//! What the tests of several modules need.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use crate::generate::Source;
use crate::plan;
use crate::plan::error::Error;
use crate::plan::{Plan, Session};

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
            script: plan::Script { path, options: BTreeMap::new(), argv: Vec::new() },
            commands: Vec::new(),
            cpus: Vec::new(),
            threads: 0,
            progress_s: 0.0,
            reports: false,
            turns: None,
            excerpt: None,
            client: None,
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

/// Bytes changed, left out and put in, and the end cut off.
pub fn mutate(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..bytes.len());
        match random.random_range(0..5) {
            0 => bytes[at] = random.random(),
            1 => bytes[at] = [0, 1, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff][random.random_range(0..8)],
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, random.random()),
            _ => bytes.truncate(at.max(1)),
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
    bytes
}

/// Some messages said twice, some left out, or all of them in another order.
pub fn disorder(random: &mut Random, messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut messages = messages.to_vec();
    let at = random.random_range(0..messages.len());
    match random.random_range(0..4) {
        0 => messages.insert(random.random_range(0..messages.len()), messages[at].clone()),
        1 => drop(messages.remove(at)),
        2 => messages[at..].shuffle(random),
        _ => messages.shuffle(random),
    }
    messages
}

/// A bulk load's text, given once.
pub struct OneText(pub Option<&'static str>);

impl Source for OneText {
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(self.0.take().unwrap_or_default().as_bytes());
        Ok(())
    }
}
