//! What goes in and out, as data.

use serde::{Deserialize, Serialize};

/// Whom to sample, and how often.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The processes; those that they forked and will fork are sampled, too. None of them may be
    /// another's descendant.
    pub pids: Vec<u32>,
    /// CPU time between two samples, in ns.
    pub period_ns: u64,
    /// Whether callers are kept, as far as frame pointers lead.
    #[serde(default)]
    pub stacks: bool,
    /// All CPUs, or threads by themselves; absent: all CPUs where that is permitted.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// How long a slice is, in ns; absent: the samples are not told apart by time.
    #[serde(default)]
    pub slice_ns: Option<u64>,
}

/// What was permitted: all CPUs at once, or each thread of the processes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Every CPU, and the samples of others dropped: a thread's switches cost nothing.
    Cpus,
    /// Each thread, on each CPU: what `perf_event_paranoid` 2 permits to everybody.
    Threads,
}

/// What is sampled from now on.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Started {
    /// What is counted: `cpu-clock`.
    pub event: &'static str,
    /// All CPUs, or threads by themselves.
    pub scope: Scope,
    /// Whether the kernel's own time is seen.
    pub kernel: bool,
}

/// The samples of a process and its family, by function.
#[derive(Debug, Serialize)]
pub struct Profile {
    /// How they were taken.
    #[serde(flatten)]
    pub started: Started,
    /// Samples of the processes in all; `functions` hold each of them once.
    pub samples: u64,
    /// Records that the kernel dropped, since a ring was full.
    pub lost: u64,
    /// CPU time that a sample stands for, in ns.
    pub period_ns: u64,
    /// Most samples first.
    pub functions: Vec<Function>,
    /// Callers, outermost first, by their place in `functions`; empty where none were asked for.
    pub stacks: Vec<Stack>,
    /// The same samples by time, in their order; empty where no slices were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slice>,
}

/// A stretch of the time that was sampled.
#[derive(Debug, Serialize)]
pub struct Slice {
    /// How long it was, in ns.
    pub elapsed_ns: u64,
    /// Places in [`Profile::functions`], and how many samples met each of them.
    pub functions: Vec<(usize, u64)>,
}

/// A function, or a place of which nothing more is known than the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Function {
    /// Its name, demangled; empty where the file has no symbol there.
    pub name: String,
    /// The program or library, `[kernel]`, `[vdso]`, or empty: code made at run time.
    pub module: String,
    /// Where it begins in that file (a sample's own place, where it has no name), in bytes.
    pub offset: u64,
    /// The source file with its folder, where the program has debug information; else empty.
    pub source: String,
    /// Samples whose innermost frame it was.
    pub samples: u64,
}

/// A chain of callers that was met `samples` times.
#[derive(Debug, Serialize)]
pub struct Stack {
    /// Places in [`Profile::functions`], outermost first.
    pub frames: Vec<usize>,
    /// How often.
    pub samples: u64,
}
