//! Samples of the kernel's `cpu-clock`: opened, taken over from its rings, and counted.
//!
//! Where all CPUs may be sampled (root, `CAP_PERFMON`, or `perf_event_paranoid` 0), they are, and
//! samples of other processes are dropped at the end: a switch of threads costs nothing then.
//! Else each thread is sampled on each CPU, with all that it starts.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;

use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};

use crate::functions::name_functions;
use crate::processes::{join_descendants, list_cpus, list_family, list_threads};
use crate::profile::{Profile, Request, Scope, Started};

/// A ring of a CPU, and of a thread on a CPU: some 8,000 and 500 samples.
const RING_BYTES: usize = 1 << 18;
const THREAD_RING_BYTES: usize = 1 << 14;

/// How often new threads are looked for while events are opened, each time for those that
/// the last round did not know.
const ROUNDS: usize = 8;

/// Addresses of the kernel lie above this on every 64-bit machine of ours.
pub const KERNEL_STARTS: u64 = 1 << 63;

/// The kernel marks where a chain changes between user and kernel by addresses above this.
const CONTEXT_MARKS: u64 = u64::MAX - 4095;

/// Innermost address first; without callers a single one.
type Chain = Box<[u64]>;

/// Sampling that goes on.
pub struct Sampling {
    rings: Vec<Sampler>,
    scope: Scope,
    kernel: bool,
    root: u32,
    period_ns: u64,
    family: HashSet<u32>,
    forks: Vec<(u32, u32)>,
    counts: HashMap<(u32, Chain), u64>,
    lost: u64,
}

/// What was met, by process and chain of addresses.
pub struct Samples {
    /// How often each chain was met in a process.
    pub counts: Vec<(u32, Chain, u64)>,
    /// Records that the kernel dropped.
    pub lost: u64,
    /// CPU time that each stands for, in ns.
    pub period_ns: u64,
}

impl Sampling {
    /// Opens the events, as many as are permitted, and lets them run.
    ///
    /// # Errors
    /// The kernel permits none, or the process has ended.
    pub fn begin(request: &Request) -> Result<Self, String> {
        if list_threads(request.pid).is_empty() {
            return Err(format!("process {} has ended", request.pid));
        }
        let cpus = list_cpus()?;
        let tries = [(Scope::Cpus, true), (Scope::Threads, true), (Scope::Threads, false)];
        for (scope, kernel) in tries {
            let opened = match scope {
                Scope::Cpus => open_cpus(request, &cpus),
                Scope::Threads => open_threads(request, &cpus, kernel),
            };
            match opened {
                Ok(rings) => return Self::enable(request, rings, scope, kernel),
                Err(wrong) if wrong.kind() == ErrorKind::PermissionDenied => {}
                Err(wrong) => return Err(format!("the kernel samples nothing: {wrong}")),
            }
        }
        Err("the kernel permits no sampling of this process: it is another user's, \
             perf_event_paranoid is above 2, or a container forbids perf_event_open"
            .to_owned())
    }

    fn enable(
        request: &Request,
        mut rings: Vec<Sampler>,
        scope: Scope,
        kernel: bool,
    ) -> Result<Self, String> {
        let family = list_family(request.pid);
        for ring in &mut rings {
            ring.enable().map_err(|wrong| format!("sampling cannot begin: {wrong}"))?;
        }
        Ok(Self {
            rings,
            scope,
            kernel,
            root: request.pid,
            period_ns: request.period_ns,
            family,
            forks: Vec::new(),
            counts: HashMap::new(),
            lost: 0,
        })
    }

    /// What is sampled.
    pub fn started(&self) -> Started {
        Started { scope: self.scope, kernel: self.kernel }
    }

    /// Takes over what the kernel has written.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn drain(&mut self) -> Result<(), String> {
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                let parsed = record
                    .parse_record()
                    .map_err(|wrong| format!("a sample cannot be read: {wrong}"))?;
                match parsed {
                    Record::Sample(sample) => {
                        let (Some(pid), Some(ip)) = (sample.pid(), sample.ip()) else {
                            continue;
                        };
                        let chain = sample.callchain().map_or_else(|| [ip].into(), keep_places);
                        *self.counts.entry((pid, chain)).or_default() += 1;
                    }
                    Record::Fork(fork) => self.forks.push((fork.pid, fork.ppid)),
                    Record::Lost(lost) => self.lost += lost.lost,
                    Record::LostSamples(lost) => self.lost += lost.lost,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Stops it, and names the functions of the processes' samples; others' are dropped. The
    /// processes must still stand.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn end(mut self) -> Result<Profile, String> {
        for ring in &mut self.rings {
            ring.disable().map_err(|wrong| format!("sampling cannot be stopped: {wrong}"))?;
        }
        self.drain()?;
        let root = self.root;
        Ok(name_functions(&self.into_samples(), root))
    }

    fn into_samples(mut self) -> Samples {
        self.family.extend(list_family(self.root));
        let known = self.family.iter().map(|&pid| (pid, self.root));
        let family = join_descendants(self.root, known.chain(self.forks));
        let ours = self.counts.into_iter();
        let counts = ours
            .filter(|((pid, _), _)| self.scope == Scope::Threads || family.contains(pid))
            .map(|((pid, chain), count)| (pid, chain, count));
        Samples { counts: counts.collect(), lost: self.lost, period_ns: self.period_ns }
    }
}

/// The places of a chain, without the kernel's marks in it.
fn keep_places(chain: &[u64]) -> Chain {
    let places = chain.iter().copied();
    places.filter(|&place| place < CONTEXT_MARKS).collect()
}

fn open_cpus(request: &Request, cpus: &[usize]) -> std::io::Result<Vec<Sampler>> {
    let open = |&cpu: &usize| {
        let mut event = describe_event(request, true);
        event.any_pid().one_cpu(cpu).exclude_idle(true).task(true);
        event.build()?.sampled(RING_BYTES)
    };
    cpus.iter().map(open).collect()
}

/// An event for each thread on each CPU. A thread that starts meanwhile inherits its parent's,
/// or is met in the next round.
fn open_threads(request: &Request, cpus: &[usize], kernel: bool) -> std::io::Result<Vec<Sampler>> {
    let mut rings = Vec::new();
    let mut known = HashSet::new();
    for _ in 0..ROUNDS {
        let threads = list_family(request.pid).into_iter().flat_map(list_threads);
        let new: Vec<u32> = threads.filter(|&thread| known.insert(thread)).collect();
        if new.is_empty() {
            break;
        }
        for thread in new {
            for &cpu in cpus {
                let mut event = describe_event(request, kernel);
                event.observe_pid(thread.cast_signed()).one_cpu(cpu).inherit(true);
                match event.build().and_then(|open| open.sampled(THREAD_RING_BYTES)) {
                    Ok(ring) => rings.push(ring),
                    Err(gone) if gone.raw_os_error() == Some(NO_SUCH_PROCESS) => break,
                    Err(wrong) => return Err(wrong),
                }
            }
        }
    }
    Ok(rings)
}

/// `ESRCH`: the thread has ended.
const NO_SUCH_PROCESS: i32 = 3;

fn describe_event(request: &Request, kernel: bool) -> Builder<'static> {
    let mut event = Builder::new(Software::CPU_CLOCK);
    event.sample_period(request.period_ns).sample(SampleFlag::IP | SampleFlag::TID).enabled(false);
    if request.stacks {
        event.sample(SampleFlag::CALLCHAIN);
    }
    if kernel {
        event.include_kernel();
    }
    event
}
