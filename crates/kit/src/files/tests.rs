//! What no index's function exceeds, and what a refusing system leaves behind.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::process::Command;
use std::time::{Duration, Instant};

use super::functions::{Insert2, Load};
use super::query::{parse_condition, parse_query, query_steps};
use super::results::{Form, answer};
use super::writer::{self, Writer};
use super::*;
use crate::bounds::Output;
use crate::function::{Aggregate, Answer, Arguments, Function, Value};

thread_local! {
    /// The folders that were made to outlast a loss of power.
    pub static SYNCED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

/// A folder of indexes of a test's own, gone with it.
struct Folder(Root);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("dyno-fb-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(Root { path, is_ours: false })
    }

    fn index(&self, columns: &str) -> PathBuf {
        let folder = self.0.path.join("t");
        writer::create(&self.0, &folder, columns.as_bytes()).unwrap();
        folder
    }
}

impl std::ops::Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.path);
    }
}

fn told(folder: &Path, query: &str) -> Result<String, Fault> {
    let index = Index::open(folder)?;
    let query = parse_query(query.as_bytes(), &index.manifest)?;
    let mut out = Output::default();
    answer(&index, &query, Form::Json, &mut out)?;
    Ok(String::from_utf8(out.bytes().to_vec()).unwrap())
}

fn add(folder: &Path, rows: impl Iterator<Item = Vec<String>>) -> Result<u64, Fault> {
    let mut writer = Writer::open(folder.to_owned())?;
    for row in rows {
        writer.add(&row.iter().map(|it| Some(it.as_bytes())).collect::<Vec<_>>())?;
    }
    writer.commit()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_index_is_on_the_disk_when_it_is_made_and_gone_from_it_when_it_is_dropped() {
    let folder = Folder::new("synced");
    let root = Root { path: folder.0.path.join("all"), is_ours: true };
    let index = root.path.join("t");
    writer::create(&root, &index, b"a:int").unwrap();
    let synced = SYNCED.take();
    for each in [&folder.0.path, &root.path, &index] {
        assert!(synced.contains(each), "{each:?} of {synced:?}");
    }
    writer::remove(&root, &index).unwrap();
    assert_eq!(SYNCED.take(), [index, root.path.clone(), folder.0.path.clone()]);
    assert!(!root.path.exists());
}

/// `DYNO_FULL_DISK` of a child's environment names the folder that it writes to.
const CHILD: &str = "DYNO_FULL_DISK";

#[test]
fn a_full_disk_is_an_error_that_leaves_the_index_as_it_was() {
    if let Some(told) = std::env::var_os(CHILD) {
        return write_to_a_full_disk(&Root { path: told.into(), is_ours: false });
    }
    let folder = Folder::new("full");
    let index = folder.index("a:int, b:text");
    add(&index, (0..60_000).map(|it| vec![it.to_string(), "x".to_owned()])).unwrap();
    let before = names(&index);
    // a file that grows beyond so many blocks is refused as on a full disk
    for blocks in ["0", "8"] {
        let test = "files::tests::a_full_disk_is_an_error_that_leaves_the_index_as_it_was";
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" --exact {test}");
        let done = Command::new("sh")
            .arg("-c")
            .arg(limited)
            .arg(std::env::current_exe().unwrap())
            .env(CHILD, &folder.0.path)
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success() && words.contains("1 passed"), "{words}");
        assert_eq!(names(&index), before);
        assert_eq!(names(&folder.0.path), ["t"]);
        assert_eq!(told(&index, "COUNT(*), MAX(a)"), Ok("[[60000,59999]]".to_owned()));
    }
    // and when there is room again, all goes on
    assert_eq!(add(&index, [vec!["7".to_owned(), "y".to_owned()]].into_iter()), Ok(1));
    writer::remove(&folder.0, &index).unwrap();
}

fn write_to_a_full_disk(root: &Root) {
    let index = root.path.join("t");
    let full = |done: Result<u64, Fault>| {
        let Fault(words) = done.unwrap_err();
        assert!(words.starts_with("the index cannot be written: "), "{words}");
    };
    full(add(&index, (0..60_000).map(|it| vec![it.to_string(), format!("text {it}")])));
    let opened = Index::open(&index).unwrap();
    let odd: Vec<String> = (0..60_000).step_by(3).map(|it| it.to_string()).collect();
    let gone = format!("a IN ({})", odd.join(","));
    let gone = parse_condition(gone.as_bytes(), &opened.manifest).unwrap();
    let columns = &opened.manifest.columns;
    let rows = evaluate::rows_of(&gone, &opened.segments[0], columns, &mut query_steps()).unwrap();
    let mut writer = Writer::open(index).unwrap();
    full(writer.delete(vec![rows]));
    drop(writer);
    let other = root.path.join("other");
    if let Err(Fault(words)) = writer::create(root, &other, b"a:int") {
        assert!(words.starts_with("the index cannot be written: "), "{words}");
        assert!(!other.exists());
    } else {
        writer::remove(root, &other).unwrap();
    }
}

#[test]
fn a_statement_that_writes_twice_to_an_index_does_not_wait_for_itself() {
    let folder = Folder::new("twice");
    let index = folder.index("a:int");
    let mut first = Writer::open(index.clone()).unwrap();
    first.add(&[Some(b"0")]).unwrap();
    let began = Instant::now();
    let Fault(words) = Writer::open(index.clone()).err().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(words, "the statement writes to the index already, in another call");
    // nor is anything added by a statement that failed so
    assert!(first.commit().is_err());
    assert_eq!(told(&index, "COUNT(*)"), Ok("[[0]]".to_owned()));
    assert_eq!(add(&index, [vec!["1".to_owned()]].into_iter()), Ok(1));
    // another thread is waited for
    let held = Writer::open(index.clone()).unwrap();
    let other = std::thread::spawn({
        let index = index.clone();
        move || add(&index, [vec!["2".to_owned()]].into_iter())
    });
    std::thread::sleep(Duration::from_millis(50));
    drop(held);
    assert_eq!(other.join().unwrap(), Ok(1));
}

/// Only the thread of this test may have the process's working directory for its own, so a name is
/// looked up in a folder that the child's environment gives it.
#[test]
fn a_group_that_is_asked_twice_is_written_once_and_told_twice() {
    let Some(told_root) = std::env::var_os(ROOT) else {
        let folder = Folder::new("asked");
        folder.index("a:int");
        let test = "files::tests::a_group_that_is_asked_twice_is_written_once_and_told_twice";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let done = child.args(["--exact", test]).env(ROOT, &folder.0.path).output().unwrap();
        return assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    };
    let index = PathBuf::from(told_root).join("t");
    let (mut group, _) = Insert2::prepare(Arguments(&[])).unwrap();
    let row = [Value::Bytes(b"t"), Value::Bytes(b"5")];
    group.clear();
    group.add(Arguments(&row)).unwrap();
    for _ in 0..2 {
        assert_eq!(group.answer(Arguments(&[])), Ok(Answer::Integer(1)));
    }
    assert!(group.add(Arguments(&row)).is_err());
    assert_eq!(told(&index, "COUNT(*)"), Ok("[[1]]".to_owned()));
    group.clear();
    assert_eq!(group.answer(Arguments(&[])), Ok(Answer::Integer(0)));
    // a row that fails takes the whole group with it, also what comes behind
    group.clear();
    group.add(Arguments(&row)).unwrap();
    assert!(group.add(Arguments(&[Value::Bytes(b"t"), Value::Bytes(b"x")])).is_err());
    assert!(group.add(Arguments(&row)).is_err());
    assert!(group.answer(Arguments(&[])).is_err());
    assert_eq!(told(&index, "COUNT(*)"), Ok("[[1]]".to_owned()));
}

#[test]
fn groups_count_the_values_that_they_keep() {
    let folder = Folder::new("groups");
    let index = folder.index("a:int, b:text");
    let long = "x".repeat(60_000);
    add(&index, (0..4_600).map(|it| vec![it.to_string(), long.clone()])).unwrap();
    // 4,600 groups with a text of 60,000 bytes each
    for query in ["a, MIN(b)", "a, MAX(b)", "a, COUNT(DISTINCT b)", "a, b, COUNT(*)"] {
        let Fault(words) = told(&index, query).unwrap_err();
        assert_eq!(words, "the groups take more than 256 MiB", "{query}");
    }
    assert_eq!(told(&index, "COUNT(b)"), Ok("[[4600]]".to_owned()));
}

#[test]
fn the_deepest_query_fits_a_small_stack() {
    let folder = Folder::new("deep");
    let index = folder.index("a:int");
    add(&index, (0..9).map(|it| vec![it.to_string()])).unwrap();
    let nested = |depth: usize, open: &str| {
        format!("COUNT(*) WHERE {}a = 3{}", open.repeat(depth), ")".repeat(depth))
    };
    let small = std::thread::Builder::new().stack_size(128 << 10);
    let asked = small.spawn(move || {
        for open in ["(", "NOT (a = 1 OR ", "(a = 3 AND a > 2 XOR "] {
            let opens = if open.starts_with("NOT") { 16 } else { 32 };
            told(&index, &nested(opens, open)).unwrap();
            assert!(told(&index, &nested(opens + 1, open)).is_err(), "{open}");
        }
        told(&index, &format!("COUNT(*) WHERE {} a = 3", "NOT ".repeat(32))).unwrap();
        told(&index, &format!("COUNT(*) WHERE {} a = 3", "NOT ".repeat(100_000))).unwrap_err()
    });
    assert_eq!(asked.unwrap().join().unwrap().0, "the query is nested deeper than 32");
}

#[test]
fn too_many_columns_fields_and_words_are_refused_where_they_begin_to_be_too_many() {
    let columns: String = (0..200_000).map(|it| format!("a{it}:int,")).collect();
    let began = Instant::now();
    assert_eq!(
        columns::parse_columns(columns.as_bytes()).unwrap_err().0,
        "an index has at most 32 columns"
    );
    // each was compared with all before it
    assert!(began.elapsed() < Duration::from_secs(5));
    let manifest = Manifest {
        columns: columns::parse_columns(b"a:int").unwrap(),
        next: 1,
        segments: Vec::new(),
    };
    let query = format!("a{}", ",".repeat((1 << 21) + 7));
    let fault = parse_query(query.as_bytes(), &manifest).err().unwrap();
    assert_eq!(fault.0, "the query has more than 2097152 words and signs");
    assert_eq!(Load::ARGUMENT_BYTES_MAX, 1 << 30);
}

#[test]
fn a_line_of_too_many_or_too_long_fields_is_refused() {
    use super::functions::fields_of;
    let long = "x".repeat(columns::TEXT_BYTES_MAX + 1);
    assert!(fields_of(",".repeat(31).as_bytes(), b',').is_ok());
    for line in [",".repeat(32), long.clone(), format!("\"{long}\"")] {
        assert!(fields_of(line.as_bytes(), b',').is_err());
    }
}

#[test]
fn a_segment_that_says_it_has_more_rows_than_any_is_damaged() {
    let folder = Folder::new("rows");
    let index = folder.index("a:int");
    add(&index, (0..3).map(|it| vec![it.to_string()])).unwrap();
    let mut manifest = read_manifest(&index).unwrap();
    manifest.segments[0].rows = segment::ROWS_MAX as u32 + 1;
    fs::write(index.join(MANIFEST), manifest.bytes()).unwrap();
    let fault = told(&index, "COUNT(*)").unwrap_err();
    assert!(fault.0.contains("is damaged"), "{fault:?}");
}
