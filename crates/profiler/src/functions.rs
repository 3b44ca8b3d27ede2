//! Addresses to functions, by the files that were mapped there: the processes may have ended.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};

use crate::files::ProcessFiles;
use crate::profile::{Function, Profile, Slice, Stack};
use crate::sampling::{KERNEL_STARTS, Samples, TOP_OF_STACK};

/// The module of the kernel's functions.
const KERNEL: &str = "[kernel]";
/// Where distributions put debug files.
const DEBUG_FOLDER: &str = "/usr/lib/debug";

/// A place in a file, in bytes.
type Place = (String, u64);

/// Names functions, and remembers what it has read: one that is kept names the same build again in
/// milliseconds.
pub struct FunctionNames {
    names: Symbolizer,
    sources: Symbolizer,
    known: HashMap<Place, Function>,
    known_sources: HashMap<Place, String>,
    /// Held as long as the symbols, which are remembered by the descriptors' names.
    held: Vec<Arc<ProcessFiles>>,
}

impl FunctionNames {
    /// Looks for separate debug files in the system's folder and, by build id, in `debug_folders`.
    pub fn new(debug_folders: &[PathBuf]) -> Self {
        let folders = || debug_folders.iter().cloned().chain([PathBuf::from(DEBUG_FOLDER)]);
        let builder =
            || Symbolizer::builder().enable_inlined_fns(false).set_debug_dirs(Some(folders()));
        Self {
            names: builder().enable_code_info(false).build(),
            sources: builder().enable_code_info(true).build(),
            known: HashMap::new(),
            known_sources: HashMap::new(),
            held: Vec::new(),
        }
    }

    /// Names every address that was met.
    pub fn name(&mut self, samples: &Samples) -> Profile {
        let mut found = Naming::default();
        self.held.push(Arc::clone(&samples.files));
        self.learn(samples);
        for (pid, chain, _) in &samples.counts {
            for &ip in chain {
                let place = find_place(samples, *pid, ip);
                found.add((*pid, ip), &self.known[&place]);
            }
        }
        let mut stacks: HashMap<Vec<usize>, u64> = HashMap::new();
        let mut all = 0;
        for (pid, chain, count) in &samples.counts {
            let mut frames: Vec<usize> =
                chain.iter().map(|&ip| found.places[&(*pid, ip)]).collect();
            let has_top = chain.get(1).is_some_and(|ip| (TOP_OF_STACK..KERNEL_STARTS).contains(ip));
            if has_top && !keeps_no_frame(&found.functions[frames[0]].name) {
                frames.remove(1);
            }
            if let Some(&innermost) = frames.first() {
                found.functions[innermost].samples += count;
                all += count;
            }
            if frames.len() > 1 {
                *stacks.entry(frames.into_iter().rev().collect()).or_default() += count;
            }
        }
        let slices = samples.slices.iter().map(|slice| {
            let mut functions: HashMap<usize, u64> = HashMap::new();
            for (pid, ip, count) in &slice.counts {
                *functions.entry(found.places[&(*pid, *ip)]).or_default() += count;
            }
            let mut functions: Vec<(usize, u64)> = functions.into_iter().collect();
            functions.sort_unstable();
            Slice { elapsed_ns: slice.elapsed_ns, functions }
        });
        let slices = slices.collect();
        let stacks = stacks.into_iter();
        Profile {
            started: samples.started,
            samples: all,
            lost: samples.lost,
            period_ns: samples.period_ns,
            stacks: stacks.map(|(frames, samples)| Stack { frames, samples }).collect(),
            functions: found.functions,
            slices,
        }
    }

    /// Names the places that are not known yet, file by file.
    fn learn(&mut self, samples: &Samples) {
        let mut unknown: HashMap<String, Vec<u64>> = HashMap::new();
        for (pid, chain, _) in &samples.counts {
            for &ip in chain {
                let place = find_place(samples, *pid, ip);
                if !self.known.contains_key(&place) {
                    unknown.entry(place.0).or_default().push(place.1);
                }
            }
        }
        for (file, mut offsets) in unknown {
            offsets.sort_unstable();
            offsets.dedup();
            self.learn_file(&file, &offsets, &samples.files);
        }
    }

    fn learn_file(&mut self, file: &str, offsets: &[u64], files: &ProcessFiles) {
        let own = files.locate(file);
        let names = match file {
            KERNEL => {
                let kernel = Source::Kernel(Kernel::default());
                symbolize(&self.names, &kernel, Input::AbsAddr(offsets))
            }
            _ if file.starts_with('/') => {
                symbolize(&self.names, &describe_file(&own, false), Input::FileOffset(offsets))
            }
            _ => offsets.iter().map(|_| None).collect(),
        };
        let mut named: Vec<Function> = offsets
            .iter()
            .zip(&names)
            .map(|(&offset, name)| name_place(file, offset, name.as_ref()))
            .collect();
        drop(names);
        // what a stripped library keeps to itself (the C library's memmove for this processor, say)
        // is in its debug file, if there is one
        let mut unnamed: Vec<usize> = (0..named.len()).collect();
        unnamed.retain(|&at| named[at].name.is_empty());
        if file.starts_with('/') && !unnamed.is_empty() {
            let places: Vec<u64> = unnamed.iter().map(|&at| offsets[at]).collect();
            let places = Input::FileOffset(&places[..]);
            let names = symbolize(&self.sources, &describe_file(&own, true), places);
            for (&at, name) in unnamed.iter().zip(&names) {
                named[at] = name_place(file, offsets[at], name.as_ref());
            }
        }
        for (&offset, mut function) in offsets.iter().zip(named) {
            if file.starts_with('/') {
                function.source = self.find_source(&own, function.offset);
            }
            self.known.insert((file.to_owned(), offset), function);
        }
    }

    /// The source file of the function that begins there; empty where nothing says it.
    fn find_source(&mut self, file: &str, begin: u64) -> String {
        let place = (file.to_owned(), begin);
        if let Some(known) = self.known_sources.get(&place) {
            return known.clone();
        }
        let begin = [begin];
        let found = symbolize(&self.sources, &describe_file(file, true), Input::FileOffset(&begin));
        let code = found.first().and_then(Option::as_ref).and_then(|sym| sym.code_info.as_ref());
        let source = code.map(|code| code.to_path().to_string_lossy().into_owned());
        drop(found);
        let source = source.unwrap_or_default();
        self.known_sources.insert(place, source.clone());
        source
    }
}

/// The functions of one profile, each once, and where each address stands among them.
#[derive(Default)]
struct Naming {
    functions: Vec<Function>,
    indices: HashMap<Function, usize>,
    places: HashMap<(u32, u64), usize>,
}

impl Naming {
    fn add(&mut self, address: (u32, u64), function: &Function) {
        if self.places.contains_key(&address) {
            return;
        }
        let index = match self.indices.get(function) {
            Some(&index) => index,
            None => {
                self.functions.push(function.clone());
                self.indices.insert(function.clone(), self.functions.len() - 1);
                self.functions.len() - 1
            }
        };
        self.places.insert(address, index);
    }
}

/// Is it a function of the C library's that is written in assembler and pushes nothing? Others may
/// have anything on top of their stack.
fn keeps_no_frame(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    ["mem", "str", "wmem", "wcs"].iter().any(|family| name.starts_with(family))
        && ["_avx", "_evex", "_sse", "_erms"].iter().any(|variant| name.contains(variant))
}

/// Which file lies at an address of a process, and the place in it. The kernel's is the address.
fn find_place(samples: &Samples, pid: u32, ip: u64) -> Place {
    if ip >= KERNEL_STARTS {
        return (KERNEL.to_owned(), ip);
    }
    let ip = ip & !TOP_OF_STACK;
    let mut mappings = samples.mappings.iter().filter(|(of, _)| *of == pid);
    let mut roots = samples.mappings.iter().filter(|(of, _)| *of == samples.root);
    let found = mappings.find_map(|(_, maps)| maps.find(ip));
    let found = found.or_else(|| roots.find_map(|(_, maps)| maps.find(ip)));
    found.map_or_else(|| (String::new(), ip), |place| (place.path.to_owned(), place.offset))
}

/// A file's symbols, or its debug information, too.
fn describe_file(path: &str, debug_syms: bool) -> Source<'static> {
    let mut file = Elf::new(path);
    file.debug_syms = debug_syms;
    Source::Elf(file)
}

fn symbolize<'a>(
    by: &'a Symbolizer,
    source: &Source<'_>,
    places: Input<&[u64]>,
) -> Vec<Option<Sym<'a>>> {
    let count = places.into_inner().len();
    match by.symbolize(source, places) {
        Ok(all) => all.into_iter().map(Symbolized::into_sym).collect(),
        Err(_) => (0..count).map(|_| None).collect(),
    }
}

/// The function at a place. The kernel's has no offset, which would tell where the kernel lies.
fn name_place(file: &str, offset: u64, name: Option<&Sym<'_>>) -> Function {
    let inside = name.map_or(0, |sym| sym.offset as u64);
    Function {
        name: name.map(|sym| sym.name.to_string()).unwrap_or_default(),
        module: file.to_owned(),
        offset: if file == KERNEL { 0 } else { offset.saturating_sub(inside) },
        ..Function::default()
    }
}
