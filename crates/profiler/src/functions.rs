//! Addresses to functions, while the processes still stand.

use std::collections::HashMap;

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};

use crate::mappings::Mappings;
use crate::profile::{Function, Profile, Stack};
use crate::sampling::{KERNEL_STARTS, Samples};

/// The module of the kernel's functions.
const KERNEL: &str = "[kernel]";

/// Names every address that was met. A process that has ended is read as `root`, which it
/// was forked from.
pub fn name_functions(samples: &Samples, root: u32) -> Profile {
    let mut naming = Naming::new(root);
    let mut stacks: HashMap<Vec<usize>, u64> = HashMap::new();
    let mut all = 0;
    for (pid, places) in gather_places(samples) {
        naming.name(pid, &places);
    }
    for (pid, chain, count) in &samples.counts {
        let frames: Vec<usize> = chain.iter().map(|&ip| naming.find(*pid, ip)).collect();
        if let Some(&innermost) = frames.first() {
            naming.functions[innermost].samples += count;
            all += count;
        }
        if frames.len() > 1 {
            *stacks.entry(frames.into_iter().rev().collect()).or_default() += count;
        }
    }
    let stacks = stacks.into_iter();
    Profile {
        samples: all,
        lost: samples.lost,
        period_ns: samples.period_ns,
        stacks: stacks.map(|(frames, samples)| Stack { frames, samples }).collect(),
        functions: naming.functions,
    }
}

fn gather_places(samples: &Samples) -> HashMap<u32, Vec<u64>> {
    let mut places: HashMap<u32, Vec<u64>> = HashMap::new();
    for (pid, chain, _) in &samples.counts {
        places.entry(*pid).or_default().extend(chain.iter());
    }
    for each in places.values_mut() {
        each.sort_unstable();
        each.dedup();
    }
    places
}

struct Naming {
    root: u32,
    names: Symbolizer,
    sources: Symbolizer,
    functions: Vec<Function>,
    known: HashMap<Function, usize>,
    places: HashMap<(u32, u64), usize>,
}

impl Naming {
    fn new(root: u32) -> Self {
        let builder = || Symbolizer::builder().enable_inlined_fns(false);
        Self {
            root,
            names: builder().enable_code_info(false).build(),
            sources: builder().enable_code_info(true).build(),
            functions: Vec::new(),
            known: HashMap::new(),
            places: HashMap::new(),
        }
    }

    fn find(&self, pid: u32, ip: u64) -> usize {
        self.places.get(&(pid, ip)).copied().unwrap_or_default()
    }

    /// Names `places` of a process, in ascending order.
    fn name(&mut self, pid: u32, places: &[u64]) {
        let user = places.partition_point(|&place| place < KERNEL_STARTS);
        let (user, kernel) = places.split_at(user);
        self.name_user(pid, user);
        let names = symbolize(&self.names, &Source::Kernel(Kernel::default()), kernel);
        let named: Vec<Function> = names.iter().map(Option::as_ref).map(name_kernel).collect();
        for (&ip, function) in kernel.iter().zip(named) {
            let index = self.keep(function.clone(), function);
            self.places.insert((pid, ip), index);
        }
    }

    fn name_user(&mut self, pid: u32, places: &[u64]) {
        let mut reader = pid;
        let mut maps = Mappings::read(pid);
        if maps.is_empty() {
            reader = self.root;
            maps = Mappings::read(self.root);
        }
        let names = symbolize(&self.names, &describe_process(reader, false), places);
        let named: Vec<(u64, u64, Function)> = places
            .iter()
            .zip(&names)
            .map(|(&ip, name)| name_place(&maps, ip, name.as_ref()))
            .collect();
        drop(names);
        for (ip, start, mut function) in named {
            let index = match self.known.get(&function) {
                Some(&index) => index,
                None => {
                    let key = function.clone();
                    function.source = self.find_source(reader, start);
                    self.keep(key, function)
                }
            };
            self.places.insert((pid, ip), index);
        }
    }

    /// The source file of the function that begins at `start`; empty where nothing says it.
    fn find_source(&self, pid: u32, start: u64) -> String {
        let found = symbolize(&self.sources, &describe_process(pid, true), &[start]);
        let code = found.first().and_then(Option::as_ref).and_then(|sym| sym.code_info.as_ref());
        code.map(|code| code.to_path().to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Where `function` stands in the answer; `key` is itself, its source file left out.
    fn keep(&mut self, key: Function, function: Function) -> usize {
        *self.known.entry(key).or_insert_with(|| {
            self.functions.push(function);
            self.functions.len() - 1
        })
    }
}

/// Names by the file's symbols alone, or with its debug information, too. Paths are used as the
/// process sees them: `/proc/PID/map_files` would need root.
fn describe_process(pid: u32, debug_syms: bool) -> Source<'static> {
    let mut process = Process::new(pid.into());
    process.debug_syms = debug_syms;
    process.map_files = false;
    process.perf_map = false;
    Source::Process(process)
}

fn symbolize<'a>(by: &'a Symbolizer, source: &Source<'_>, places: &[u64]) -> Vec<Option<Sym<'a>>> {
    match by.symbolize(source, Input::AbsAddr(places)) {
        Ok(all) => all.into_iter().map(Symbolized::into_sym).collect(),
        Err(_) => places.iter().map(|_| None).collect(),
    }
}

/// The place, where its function begins in memory, and the function.
fn name_place(maps: &Mappings, ip: u64, name: Option<&Sym<'_>>) -> (u64, u64, Function) {
    let (module, offset) = maps.find(ip).unwrap_or(("", ip));
    let inside = name.map_or(0, |sym| sym.offset as u64);
    let function = Function {
        name: name.map(|sym| sym.name.to_string()).unwrap_or_default(),
        module: module.to_owned(),
        offset: offset.saturating_sub(inside),
        ..Function::default()
    };
    (ip, ip.saturating_sub(inside), function)
}

/// Without its address, which would tell where the kernel lies.
fn name_kernel(name: Option<&Sym<'_>>) -> Function {
    Function {
        name: name.map(|sym| sym.name.to_string()).unwrap_or_default(),
        module: KERNEL.to_owned(),
        ..Function::default()
    }
}
