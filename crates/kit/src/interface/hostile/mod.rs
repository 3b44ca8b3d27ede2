//! Every function called as no server should, with inputs that grow: each case from its number.
//!
//! Arguments and arrays lie in allocations of just their size, so that AddressSanitizer sees a step
//! beside them, and a build with checks sees sums that overflow:
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address DYNO_KIT_CASES=1000000 \
//!     cargo test --target x86_64-unknown-linux-gnu -p dyno-kit hostile -- --nocapture
//! ```
//!
//! `DYNO_KIT_CASES` says how many, `DYNO_KIT_FIRST` where they begin.

#![allow(clippy::unwrap_used)]

mod values;

use std::cell::Cell;
use std::ffi::c_uint;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use self::values::{COLUMNS, Hostile, INDEX, LINES, Rng, value};
use super::*;
use crate::bounds::RESULT_BYTES_MAX;
use crate::bounds::tests::KILLED;
use crate::exports;

type Begin = unsafe fn(*mut Init, *mut Args, *mut c_char) -> bool;
type Text =
    unsafe fn(*mut Init, *mut Args, *mut c_ulong, *mut c_char, *mut c_char) -> *const c_char;
type Number = unsafe fn(*mut Init, *mut Args, *mut c_char, *mut c_char) -> i64;
type Clear = unsafe fn(*mut Init);
type Add = unsafe fn(*mut Init, *mut Args, *mut c_char);

/// What a server calls of a function.
#[derive(Clone, Copy)]
pub struct Entry {
    name: &'static str,
    least: usize,
    most: usize,
    begin: Begin,
    row: Row,
    group: Option<(Clear, Add)>,
}

#[derive(Clone, Copy)]
enum Row {
    Text(Text),
    Number(Number),
}

impl Entry {
    fn new<F: Function>(name: &'static str, row: Row) -> Self {
        let (least, most) = (F::TAKES.least, F::TAKES.kinds.len());
        Self { name, least, most, begin: begin::<F>, row, group: None }
    }

    /// One that returns STRING.
    pub fn string<F: Function>(name: &'static str) -> Self {
        Self::new::<F>(name, Row::Text(bytes::<F>))
    }

    /// One that returns INTEGER.
    pub fn integer<F: Function>(name: &'static str) -> Self {
        Self::new::<F>(name, Row::Number(integer::<F>))
    }

    /// An aggregate that returns STRING.
    pub fn string_of_group<F: Aggregate>(name: &'static str) -> Self {
        Self { group: Some((clear::<F>, add::<F>)), ..Self::string::<F>(name) }
    }

    /// An aggregate that returns INTEGER.
    pub fn integer_of_group<F: Aggregate>(name: &'static str) -> Self {
        Self { group: Some((clear::<F>, add::<F>)), ..Self::integer::<F>(name) }
    }

    /// Are its results text, as a server reads it?
    fn answers_text(&self) -> bool {
        !self.name.starts_with("rb_") && !["uuid_to_bin", "json_tokens"].contains(&self.name)
    }
}

/// A row's arguments as a server hands them in, each in an allocation of its own.
struct Memory {
    kinds: Box<[c_int]>,
    pointers: Box<[*const c_char]>,
    lengths: Box<[c_ulong]>,
    _values: Vec<Box<[u8]>>,
}

impl Memory {
    fn new(kinds: &[c_int], row: &[Hostile]) -> Self {
        let mut values: Vec<Box<[u8]>> = Vec::new();
        let (mut pointers, mut lengths) = (Vec::new(), Vec::new());
        for (kind, value) in kinds.iter().zip(row) {
            let is_text = *kind == STRING;
            let (bytes, claimed) = match value {
                Hostile::Null => {
                    pointers.push(ptr::null());
                    lengths.push(if is_text { 9 } else { 0 });
                    continue;
                }
                Hostile::Integer(number) if is_text => (number.to_string().into_bytes(), None),
                Hostile::Integer(number) => (number.to_ne_bytes().into(), None),
                Hostile::Bytes(it) if is_text => (it.clone(), None),
                Hostile::Claimed(it, length) if is_text => (it.clone(), Some(*length)),
                Hostile::Bytes(it) | Hostile::Claimed(it, _) => {
                    ((it.len() as i64).to_ne_bytes().into(), None)
                }
            };
            lengths.push(claimed.unwrap_or(bytes.len() as c_ulong));
            values.push(bytes.into_boxed_slice());
            pointers.push(values.last().map_or(ptr::null(), |it| it.as_ptr().cast()));
        }
        let kinds = kinds.into();
        Self { kinds, pointers: pointers.into(), lengths: lengths.into(), _values: values }
    }

    fn args(&mut self) -> Args {
        let count = self.kinds.len();
        let array = |it: *mut c_int| if count == 0 { ptr::null_mut() } else { it };
        Args {
            count: count as c_uint,
            kinds: array(self.kinds.as_mut_ptr()),
            values: self.pointers.as_ptr(),
            lengths: self.lengths.as_ptr(),
            maybe_null: ptr::null_mut(),
            attributes: ptr::null(),
            attribute_lengths: ptr::null(),
            extension: ptr::null_mut(),
        }
    }
}

/// What became of a call: refused, faulted, answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Refused,
    Faulted,
    Answered,
}

thread_local! {
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

/// One answer, looked at as a server looks at it.
fn answer_of(entry: &Entry, init: &mut Init, args: &mut Args) -> Told {
    let (mut length, mut is_null, mut error) = (0, 0, 0);
    let text = match entry.row {
        Row::Number(number) => {
            // SAFETY: all pointers are those of living things.
            unsafe { number(init, args, &mut is_null, &mut error) };
            None
        }
        Row::Text(text) => {
            // SAFETY: as above.
            Some(unsafe { text(init, args, &mut length, &mut is_null, &mut error) })
        }
    };
    if error != 0 {
        return Told::Faulted;
    }
    if let (Some(text), 0) = (text, is_null) {
        assert!(!text.is_null() && length as usize <= RESULT_BYTES_MAX, "{length} at {text:?}");
        assert!(length <= init.max_length, "{length} bytes of {}", init.max_length);
        // SAFETY: the answer lies there until the next call.
        let answer = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length as usize) };
        // reads all of it
        let sum = answer.iter().fold(0_u8, |sum, it| sum.wrapping_add(*it));
        assert!(!entry.answers_text() || std::str::from_utf8(answer).is_ok(), "no UTF-8: {sum}");
    }
    Told::Answered
}

fn row_of(entry: &Entry, rng: &mut Rng, init: &mut Init, memory: &mut Memory) -> Told {
    let mut args = memory.args();
    if let Some((clear, add)) = entry.group {
        if rng.chance(90) {
            // SAFETY: all pointers are those of living things.
            unsafe { clear(init) };
        }
        for _ in 0..rng.pick(&[0, 1, 1, 2, 3, 20]) {
            // SAFETY: as above.
            unsafe { add(init, &mut args, &mut 0) };
        }
    }
    KILLED.set(rng.chance(2));
    let told = answer_of(entry, init, &mut args);
    let again = rng.chance(10).then(|| answer_of(entry, init, &mut args));
    KILLED.set(false);
    again.unwrap_or(told)
}

/// A call from its beginning to its end, and beyond.
fn play(entry: &Entry, rng: &mut Rng) -> Told {
    let wanted = entry.least + rng.below(entry.most.min(6).max(entry.least) - entry.least + 1);
    let count = if rng.chance(10) { rng.below(40) } else { wanted };
    let kinds: Vec<c_int> =
        (0..count).map(|_| if rng.chance(75) { STRING } else { rng.below(5) as c_int }).collect();
    let fresh =
        |rng: &mut Rng| -> Vec<_> { (0..count).map(|at| value(rng, entry.name, at)).collect() };
    let mut row = fresh(rng);
    let constants = if rng.chance(50) { row.clone() } else { vec![Hostile::Null; count] };
    let mut memory = Memory::new(&kinds, &constants);
    let mut message = Box::new([1 as c_char; MESSAGE_BYTES]);
    let (state, extension) = (ptr::null_mut(), ptr::null_mut());
    let mut init =
        Init { maybe_null: 0, decimals: 0, max_length: 0, state, const_item: 1, extension };
    // SAFETY: all pointers are those of living things.
    if unsafe { (entry.begin)(&mut init, &mut memory.args(), message.as_mut_ptr()) } {
        let end = message.iter().position(|it| *it == 0);
        assert!(end.is_some_and(|it| it > 0), "a refusal without words");
        // SAFETY: some servers do so.
        unsafe { end_of(&mut init) };
        return Told::Refused;
    }
    let kinds = if rng.chance(5) { kinds.into_boxed_slice() } else { memory.kinds.clone() };
    let mut told = Told::Answered;
    for _ in 0..1 + rng.below(3) {
        let mut memory = Memory::new(&kinds, &row);
        told = row_of(entry, rng, &mut init, &mut memory);
        if rng.chance(50) {
            row = fresh(rng);
        }
    }
    let kept = init.state;
    // SAFETY: its init was good; then the cases of a copied call (MDEV-24507).
    unsafe {
        end_of(&mut init);
        init.state = kept;
        if rng.chance(10) {
            end_of(&mut init);
        }
    }
    let after = row_of(entry, rng, &mut init, &mut Memory::new(&kinds, &row));
    assert_eq!(after, Told::Faulted, "an answer after the end");
    told
}

/// # Safety
/// As for `end`.
unsafe fn end_of(init: &mut Init) {
    // SAFETY: the caller vouches for it.
    unsafe { end(init) }
}

/// Makes the index that cases of `fb_*` find, now and then with a file changed or cut off.
fn make_index(root: &Path, entries: &[Entry], rng: &mut Rng) {
    fs::remove_dir_all(root).unwrap();
    fs::create_dir(root).unwrap();
    for (name, text) in [("fb_create", COLUMNS), ("fb_load", LINES)] {
        let entry = entries.iter().find(|it| it.name == name).unwrap();
        let row = [INDEX, text].map(|it| Hostile::Bytes(it.into()));
        let mut memory = Memory::new(&[STRING; 2], &row);
        let (state, extension) = (ptr::null_mut(), ptr::null_mut());
        let mut init =
            Init { maybe_null: 0, decimals: 0, max_length: 0, state, const_item: 0, extension };
        let mut message = [0; MESSAGE_BYTES];
        // SAFETY: all pointers are those of living things.
        unsafe { assert!(!(entry.begin)(&mut init, &mut memory.args(), message.as_mut_ptr())) };
        assert_eq!(answer_of(entry, &mut init, &mut memory.args()), Told::Answered);
        // SAFETY: its init was good.
        unsafe { end_of(&mut init) };
    }
    if rng.chance(20) {
        let mut files: Vec<_> =
            fs::read_dir(root.join(INDEX)).unwrap().map(|it| it.unwrap().path()).collect();
        files.sort();
        let file = &files[rng.below(files.len())];
        let mut content = fs::read(file).unwrap();
        let at = rng.below(content.len());
        match rng.chance(30) {
            true => content.truncate(at),
            false => content.iter_mut().skip(at).take(1).for_each(|it| *it ^= 1 << rng.below(8)),
        }
        fs::write(file, content).unwrap();
    }
}

const TEST: &str = "interface::hostile::no_call_harms_the_server_whatever_it_is_given";
const CASES: &str = "DYNO_KIT_CASES";
const FIRST: &str = "DYNO_KIT_FIRST";
const ROOT: &str = "DYNO_KIT_FILES";

fn told_number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |it| it.parse().unwrap())
}

/// In the child, which alone has a folder of indexes.
fn play_all(root: &Path) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICKED.set(true);
        usual(info);
    }));
    let entries = exports::entries();
    let (first, cases) = (told_number(FIRST, 0), told_number(CASES, 4_000));
    let mut counts = vec![[0_u64; 3]; entries.len()];
    let (mut longest, began) = ((0.0, 0), Instant::now());
    for case in first..first + cases {
        let mut rng = Rng(case.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let at = case as usize % entries.len();
        fs::write(root.join("../case"), format!("{case} {}", entries[at].name)).unwrap();
        if entries[at].name.starts_with("fb_") {
            make_index(root, &entries, &mut rng);
        }
        let before = Instant::now();
        counts[at][play(&entries[at], &mut rng) as usize] += 1;
        assert!(!PANICKED.get(), "a panic");
        if before.elapsed().as_secs_f64() > longest.0 {
            longest = (before.elapsed().as_secs_f64(), case);
        }
    }
    let sum = |told: Told| counts.iter().map(|it| it[told as usize]).sum::<u64>();
    let [refused, faulted, answered] = [Told::Refused, Told::Faulted, Told::Answered].map(sum);
    let told = format!(
        "{cases} cases in {:.1} s: {refused} refused, {faulted} faulted, {answered} answered; the \
         longest took {:.2} s (case {})",
        began.elapsed().as_secs_f64(),
        longest.0,
        longest.1,
    );
    writeln!(std::io::stdout(), "{told}").unwrap();
    let silent = entries.iter().zip(&counts).filter(|(_, it)| it[Told::Answered as usize] == 0);
    let silent: Vec<_> = silent.map(|(entry, _)| entry.name).collect();
    // of a hundred cases a function answers some
    assert!(silent.is_empty() || cases < 4_000, "never answered: {silent:?}");
}

#[test]
fn no_call_harms_the_server_whatever_it_is_given() {
    if let Some(root) = std::env::var_os(ROOT) {
        return play_all(Path::new(&root));
    }
    // in memory where there is such a folder: indexes wait for the disk at every write
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let place = place.join(format!("dyno-kit-hostile-{}", std::process::id()));
    fs::create_dir_all(place.join("indexes")).unwrap();
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(ROOT, place.join("indexes"))
        .output()
        .unwrap();
    let case = fs::read_to_string(place.join("case")).unwrap();
    fs::remove_dir_all(&place).unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    writeln!(std::io::stdout(), "{told}").unwrap();
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "case {case}: {}\n{told}\n{words}", done.status);
    assert!(told.contains("answered"), "{told}");
}
