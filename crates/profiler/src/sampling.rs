//! Samples of the kernel's `cpu-clock`: opened, taken over from its rings, and counted.
//!
//! Where all CPUs may be sampled (root, `CAP_PERFMON`, or `perf_event_paranoid` 0), they are, and
//! samples of other processes are dropped at the end: a switch of threads costs nothing then.
//! Else each thread is sampled on each CPU, with all that it starts.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};

use crate::files::ProcessFiles;
use crate::mappings::Mappings;
use crate::processes::{list_cpus, list_family, list_threads};
use crate::profile::{Request, Scope, Started};

/// A ring of a CPU, of one whose samples hold stacks, and of a thread on a CPU: some 8,000, 8,000
/// and 500 samples.
const RING_BYTES: usize = 1 << 18;
const STACKS_RING_BYTES: usize = 1 << 21;
const THREAD_RING_BYTES: usize = 1 << 14;

/// How often new threads are looked for while events are opened, each time for those that
/// the last round did not know.
const ROUNDS: usize = 8;

/// Addresses of the kernel lie above this on every 64-bit machine of ours.
pub const KERNEL_STARTS: u64 = 1 << 63;

/// The kernel marks where a chain changes between user and kernel by addresses above this.
const CONTEXT_MARKS: u64 = u64::MAX - 4095;

/// Marks the address on top of a stack, which is a leaf's return address if the leaf keeps no
/// frame: addresses of processes end below it.
pub const TOP_OF_STACK: u64 = 1 << 62;

/// How much of a stack is copied with a sample: its top, where x86-64 has the return address.
const TOP_BYTES: u32 = 8;

/// Innermost address first; without callers a single one.
type Chain = Box<[u64]>;

/// The event that is counted.
const EVENT: &str = "cpu-clock";

/// A ring that the kernel writes, and whose samples it holds, by their place in `roots`: anybody's
/// where all CPUs are sampled.
struct Ring {
    sampler: Sampler,
    root: Option<usize>,
}

/// How often each chain was met in a process.
type Counts = HashMap<(u32, Chain), u64>;

/// What was taken over in a stretch of time.
struct Stretch {
    begun: Instant,
    elapsed: Duration,
    counts: Counts,
}

/// A slice of [`Samples`]: innermost addresses only.
pub struct SampledSlice {
    /// How long it was.
    pub elapsed_ns: u64,
    /// How often each address was met in a process.
    pub counts: Vec<(u32, u64, u64)>,
}

/// Sampling that goes on.
pub struct Sampling {
    rings: Vec<Ring>,
    started: Started,
    roots: Vec<u32>,
    period_ns: u64,
    /// The root of each process that was met, by its place in `roots`.
    owners: HashMap<u32, usize>,
    /// Child and parent.
    forks: Vec<(u32, u32)>,
    /// One, or as many as slices have begun: never none.
    stretches: Vec<Stretch>,
    slice: Option<Duration>,
    lost: u64,
    /// Of each root, at the start.
    mappings: Vec<(u32, Arc<Mappings>)>,
    files: Vec<Arc<ProcessFiles>>,
}

/// What was met of a process and its family, by process and chain of addresses.
pub struct Samples {
    /// The process that the others descend from.
    pub root: u32,
    /// How they were taken.
    pub started: Started,
    /// How often each chain was met in a process.
    pub counts: Vec<(u32, Chain, u64)>,
    /// Records that the kernel dropped, of whatever process.
    pub lost: u64,
    /// CPU time that each stands for, in ns.
    pub period_ns: u64,
    /// What lay where in each process that was met, at the end, then in the root at the start: an
    /// embedded engine's library may be gone by the end.
    pub mappings: Vec<(u32, Arc<Mappings>)>,
    /// The root's files.
    pub files: Arc<ProcessFiles>,
    /// The same samples by time; empty where no slices were asked for.
    pub slices: Vec<SampledSlice>,
}

impl Sampling {
    /// Opens the events, as many as are permitted, and lets them run.
    ///
    /// # Errors
    /// The kernel permits none, or a process has ended.
    pub fn begin(request: &Request) -> Result<Self, String> {
        if let Some(gone) = request.pids.iter().find(|&&pid| list_threads(pid).is_empty()) {
            return Err(format!("process {gone} has ended"));
        }
        let cpus = list_cpus()?;
        let tries = [(Scope::Cpus, true), (Scope::Threads, true), (Scope::Threads, false)];
        let wanted = |scope| request.scope.is_none_or(|wanted| wanted == scope);
        for (scope, kernel) in tries.into_iter().filter(|&(scope, _)| wanted(scope)) {
            let opened = match scope {
                Scope::Cpus => open_cpus(request, &cpus),
                Scope::Threads => open_threads(request, &cpus, kernel),
            };
            match opened {
                Ok(rings) => {
                    return Self::enable(request, rings, Started { event: EVENT, scope, kernel });
                }
                Err(wrong) if wrong.kind() == ErrorKind::PermissionDenied => {}
                Err(wrong) if is_unknown(&wrong) => {
                    return Err(format!("this kernel has no perf events ({wrong})"));
                }
                Err(wrong) => return Err(format!("the kernel samples nothing: {wrong}")),
            }
        }
        Err(describe_refusal(&read_paranoid()))
    }

    fn enable(request: &Request, mut rings: Vec<Ring>, started: Started) -> Result<Self, String> {
        let mut sampling = Self {
            rings: Vec::new(),
            started,
            roots: request.pids.clone(),
            period_ns: request.period_ns,
            owners: HashMap::new(),
            forks: Vec::new(),
            stretches: Vec::new(),
            slice: request.slice_ns.map(Duration::from_nanos),
            lost: 0,
            mappings: request.pids.iter().map(|&pid| read_mappings(pid)).collect(),
            files: request.pids.iter().map(|&pid| Arc::new(ProcessFiles::open(pid))).collect(),
        };
        sampling.meet_families();
        for ring in &mut rings {
            ring.sampler.enable().map_err(|wrong| format!("sampling cannot begin: {wrong}"))?;
        }
        sampling.rings = rings;
        sampling.stretches.push(Stretch::begin());
        Ok(sampling)
    }

    /// When what the kernel wrote should be taken over at the latest: within `usual`, and at the
    /// end of a slice.
    pub fn due(&self, usual: Duration) -> Duration {
        let begun = self.stretches.last().map(|stretch| stretch.begun);
        let left = begun.zip(self.slice).map(|(at, slice)| slice.saturating_sub(at.elapsed()));
        left.map_or(usual, |left| left.min(usual))
    }

    /// What is sampled.
    pub fn started(&self) -> Started {
        self.started
    }

    /// Notes whose descendants are there now.
    fn meet_families(&mut self) {
        for (place, &root) in self.roots.iter().enumerate() {
            for pid in list_family(root) {
                self.owners.insert(pid, place);
            }
        }
    }

    /// Takes over what the kernel has written.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn drain(&mut self) -> Result<(), String> {
        let Some(stretch) = self.stretches.last_mut() else { return Ok(()) };
        for ring in &mut self.rings {
            while let Some(record) = ring.sampler.next_record() {
                let parsed = record
                    .parse_record()
                    .map_err(|wrong| format!("a sample cannot be read: {wrong}"))?;
                match parsed {
                    Record::Sample(sample) => {
                        let (Some(pid), Some(ip)) = (sample.pid(), sample.ip()) else {
                            continue;
                        };
                        if let Some(root) = ring.root {
                            self.owners.entry(pid).or_insert(root);
                        }
                        let top = sample.stack_user().and_then(|it| it.first_chunk());
                        let top = top.map(|&bytes| u64::from_ne_bytes(bytes));
                        let top = top.filter(|&top| is_called_by(&self.mappings, ip, top));
                        let keep = |chain: &[u64]| keep_places(chain, top);
                        let chain = sample.callchain().map_or_else(|| [ip].into(), keep);
                        *stretch.counts.entry((pid, chain)).or_default() += 1;
                    }
                    Record::Fork(fork) => self.forks.push((fork.pid, fork.ppid)),
                    Record::Lost(lost) => self.lost += lost.lost,
                    Record::LostSamples(lost) => self.lost += lost.lost,
                    _ => {}
                }
            }
        }
        stretch.elapsed = stretch.begun.elapsed();
        if self.slice.is_some_and(|slice| stretch.elapsed >= slice) {
            self.stretches.push(Stretch::begin());
        }
        Ok(())
    }

    /// What was met until now; it goes on.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn look(&mut self) -> Result<Vec<Samples>, String> {
        self.drain()?;
        self.meet_families();
        Ok(self.collect_samples())
    }

    /// Stops it: what was met of each of the processes; what others did is dropped.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn end(mut self) -> Result<Vec<Samples>, String> {
        for ring in &mut self.rings {
            ring.sampler
                .disable()
                .map_err(|wrong| format!("sampling cannot be stopped: {wrong}"))?;
        }
        self.look()
    }

    fn collect_samples(&mut self) -> Vec<Samples> {
        inherit_owners(&mut self.owners, &self.forks);
        let all = merge_counts(&self.stretches);
        let met: HashSet<u32> = all.keys().map(|&(pid, _)| *pid).collect();
        let ours = met.into_iter().filter(|pid| self.owners.contains_key(pid));
        let mut mappings: Vec<_> = ours.chain(self.roots.clone()).map(read_mappings).collect();
        mappings.extend(self.mappings.iter().cloned());
        let make = |(place, &root): (usize, &u32)| Samples {
            root,
            started: self.started,
            counts: Vec::new(),
            lost: self.lost,
            period_ns: self.period_ns,
            mappings: mappings.clone(),
            files: Arc::clone(&self.files[place]),
            slices: self.collect_slices(place),
        };
        let mut found: Vec<Samples> = self.roots.iter().enumerate().map(make).collect();
        for ((pid, chain), count) in all {
            if let Some(&place) = self.owners.get(pid) {
                found[place].counts.push((*pid, chain.clone(), count));
            }
        }
        found
    }

    /// What was met of a root by slices, an empty one at the end left out.
    fn collect_slices(&self, place: usize) -> Vec<SampledSlice> {
        let taken =
            self.stretches.iter().filter(|it| self.slice.is_some() && !it.elapsed.is_zero());
        let make = |stretch: &Stretch| {
            let mut counts: HashMap<(u32, u64), u64> = HashMap::new();
            for ((pid, chain), count) in &stretch.counts {
                if let (Some(&ip), true) = (chain.first(), self.owners.get(pid) == Some(&place)) {
                    *counts.entry((*pid, ip)).or_default() += count;
                }
            }
            SampledSlice {
                elapsed_ns: u64::try_from(stretch.elapsed.as_nanos()).unwrap_or(u64::MAX),
                counts: counts.into_iter().map(|((pid, ip), count)| (pid, ip, count)).collect(),
            }
        };
        taken.map(make).collect()
    }
}

impl Stretch {
    fn begin() -> Self {
        Self { begun: Instant::now(), elapsed: Duration::ZERO, counts: Counts::new() }
    }
}

/// All stretches as one.
fn merge_counts(stretches: &[Stretch]) -> HashMap<(&u32, &Chain), u64> {
    let mut all = HashMap::new();
    for ((pid, chain), count) in stretches.iter().flat_map(|stretch| &stretch.counts) {
        *all.entry((pid, chain)).or_default() += count;
    }
    all
}

fn read_mappings(pid: u32) -> (u32, Arc<Mappings>) {
    (pid, Arc::new(Mappings::read(pid)))
}

/// A child that has come and gone is its parent's; forks are in no order, as each CPU has a ring.
fn inherit_owners(owners: &mut HashMap<u32, usize>, forks: &[(u32, u32)]) {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for &(child, parent) in forks {
        children.entry(parent).or_default().push(child);
    }
    let mut open: Vec<u32> = owners.keys().copied().collect();
    while let Some(parent) = open.pop() {
        let Some(&owner) = owners.get(&parent) else { continue };
        for &child in children.get(&parent).into_iter().flatten() {
            if owners.insert(child, owner).is_none() {
                open.push(child);
            }
        }
    }
}

/// Does the kernel not know the call (`ENOSYS`), or no such event (`ENOENT`, `EOPNOTSUPP`)?
fn is_unknown(wrong: &std::io::Error) -> bool {
    matches!(wrong.raw_os_error(), Some(2 | 38 | 95))
}

fn read_paranoid() -> String {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default()
}

/// Why nothing may be sampled, by what `perf_event_paranoid` says: above 2 it is the reason, else a
/// container's filter of system calls, or that the process is another user's.
fn describe_refusal(paranoid: &str) -> String {
    match paranoid.trim().parse::<i32>() {
        Ok(level) if level > 2 => format!(
            "perf_event_paranoid is {level}, which leaves sampling to root \
             (sudo sysctl kernel.perf_event_paranoid=2)"
        ),
        Ok(_) => "perf_event_open is refused: a container's seccomp profile forbids it, or the \
                  process is another user's"
            .to_owned(),
        Err(_) => "this kernel has no perf events".to_owned(),
    }
}

/// The places of a chain, without the kernel's marks in it; behind the innermost one the `top` of
/// the stack, where the chain has not got it.
fn keep_places(chain: &[u64], top: Option<u64>) -> Chain {
    let mut places: Vec<u64> = chain.iter().copied().filter(|&it| it < CONTEXT_MARKS).collect();
    if let Some(top) = top.filter(|top| !places.is_empty() && places.get(1) != Some(top)) {
        places.insert(1, TOP_OF_STACK | top);
    }
    places.into()
}

/// Is the C library executed at `ip`, and code at `top` of the stack, as any of the processes has
/// them? Those that one forked have its mappings.
fn is_called_by(mappings: &[(u32, Arc<Mappings>)], ip: u64, top: u64) -> bool {
    let is_code = |maps: &Mappings, at| maps.find(at).is_some_and(|found| found.executable);
    let is_library = |maps: &Mappings| maps.find(ip).is_some_and(|found| found.is_c_library());
    mappings.iter().any(|(_, maps)| is_library(maps) && is_code(maps, top))
}

fn open_cpus(request: &Request, cpus: &[usize]) -> std::io::Result<Vec<Ring>> {
    let bytes = if request.stacks { STACKS_RING_BYTES } else { RING_BYTES };
    let open = |&cpu: &usize| {
        let mut event = describe_event(request, true);
        event.any_pid().one_cpu(cpu).exclude_idle(true).task(true);
        Ok(Ring { sampler: event.build()?.sampled(bytes)?, root: None })
    };
    cpus.iter().map(open).collect()
}

/// An event for each thread on each CPU. A thread that starts meanwhile inherits its parent's,
/// or is met in the next round.
fn open_threads(request: &Request, cpus: &[usize], kernel: bool) -> std::io::Result<Vec<Ring>> {
    let mut rings = Vec::new();
    for (place, &root) in request.pids.iter().enumerate() {
        let mut known = HashSet::new();
        for _ in 0..ROUNDS {
            let threads = list_family(root).into_iter().flat_map(list_threads);
            let new: Vec<u32> = threads.filter(|&thread| known.insert(thread)).collect();
            if new.is_empty() {
                break;
            }
            for thread in new {
                for sampler in open_thread(request, cpus, kernel, thread)? {
                    rings.push(Ring { sampler, root: Some(place) });
                }
            }
        }
    }
    Ok(rings)
}

/// Fewer events, or none, where the thread has ended.
fn open_thread(
    request: &Request,
    cpus: &[usize],
    kernel: bool,
    thread: u32,
) -> std::io::Result<Vec<Sampler>> {
    let mut opened = Vec::new();
    for &cpu in cpus {
        let mut event = describe_event(request, kernel);
        event.observe_pid(thread.cast_signed()).one_cpu(cpu).inherit(true);
        match event.build().and_then(|open| open.sampled(THREAD_RING_BYTES)) {
            Ok(ring) => opened.push(ring),
            Err(gone) if gone.raw_os_error() == Some(NO_SUCH_PROCESS) => break,
            Err(wrong) => return Err(wrong),
        }
    }
    Ok(opened)
}

/// `ESRCH`: the thread has ended.
const NO_SUCH_PROCESS: i32 = 3;

fn describe_event(request: &Request, kernel: bool) -> Builder<'static> {
    let mut event = Builder::new(Software::CPU_CLOCK);
    event.sample_period(request.period_ns).sample(SampleFlag::IP | SampleFlag::TID).enabled(false);
    if request.stacks {
        event.sample(SampleFlag::CALLCHAIN);
        if cfg!(target_arch = "x86_64") {
            // a weight follows the stack, since perf-event-data 0.1.8 takes an empty one, a kernel
            // thread's, for the end of a record that ends with it
            let flags = SampleFlag::STACK_USER | SampleFlag::WEIGHT;
            event.sample(flags).sample_stack_user(TOP_BYTES);
        }
    }
    if kernel {
        event.include_kernel();
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grandchild_belongs_to_its_root_in_whatever_order_the_forks_are_read() {
        let mut owners = HashMap::from([(1, 0), (9, 1)]);
        inherit_owners(&mut owners, &[(3, 2), (2, 1), (8, 9), (5, 4)]);
        assert_eq!(owners, HashMap::from([(1, 0), (2, 0), (3, 0), (9, 1), (8, 1)]));
    }

    #[test]
    fn the_top_of_a_stack_stands_behind_the_innermost_place_where_the_chain_has_not_got_it() {
        let marks = [CONTEXT_MARKS, 7, 9];
        assert_eq!(*keep_places(&marks, None), [7, 9]);
        assert_eq!(*keep_places(&marks, Some(8)), [7, TOP_OF_STACK | 8, 9]);
        assert_eq!(*keep_places(&marks, Some(9)), [7, 9]);
        assert_eq!(*keep_places(&[7], Some(9)), [7, TOP_OF_STACK | 9]);
        assert_eq!(*keep_places(&[], Some(9)), [0; 0]);
    }

    #[test]
    fn a_refusal_names_its_cause() {
        assert!(describe_refusal("3\n").contains("perf_event_paranoid is 3"));
        assert!(describe_refusal("2\n").contains("seccomp"));
        assert!(describe_refusal("").contains("no perf events"));
    }
}
