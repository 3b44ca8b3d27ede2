//! Writing: whoever holds an index's lock adds segments, and names them all in one new manifest.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId, sleep};
use std::time::{Duration, Instant};

use roaring::RoaringBitmap;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::columns::{Column, parse_columns};
use super::manifest::{self, Entry, Manifest, deleted_file, segment_file};
use super::segment::{Builder, NULL, Segment, deleted_bytes};
use super::write_file;
use super::{MANIFEST, MANIFEST_NEW, Root, read_manifest, refused, sync_folder, sync_parent};
use crate::bounds::{Steps, check_killed};
use crate::function::Fault;

/// How long a writer waits for another one, unless its statement is killed.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// Segments of fewer rows are small; so many of them are made one.
const SMALL_ROWS: u32 = 1 << 16;
const SMALL_COUNT: usize = 32;
/// More segments an index does not have: each is a file that readers open.
pub const SEGMENTS_MAX: usize = 256;

/// The lock of an index's folder, held while this lives.
struct Lock {
    folder: FileId,
    _file: File,
}

/// A device and a file of it.
type FileId = (u64, u64);

/// Which thread holds a lock: it would wait for itself where a statement writes twice to one index.
struct Holder {
    thread: ThreadId,
    /// Whether it asked for the lock once more: the statement failed then, and adds nothing.
    asked_twice: bool,
}

static HOLDERS: Mutex<BTreeMap<FileId, Holder>> = Mutex::new(BTreeMap::new());
const TWICE: &str = "the statement writes to the index already, in another call";

fn holders() -> MutexGuard<'static, BTreeMap<FileId, Holder>> {
    HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this thread holds the lock; it is noted that it asks.
fn is_held_here(folder: FileId) -> bool {
    let mut holders = holders();
    let ours = holders.get_mut(&folder).filter(|it| it.thread == thread::current().id());
    ours.map(|it| it.asked_twice = true).is_some()
}

impl Drop for Lock {
    fn drop(&mut self) {
        // before the file is closed, and the lock free for the next one
        holders().remove(&self.folder);
    }
}

impl Lock {
    fn of(folder: &Path) -> Result<Self, Fault> {
        let until = Instant::now() + LOCK_WAIT;
        loop {
            let file = File::open(folder).map_err(|error| missing(folder, &error))?;
            let found = |it: std::io::Result<fs::Metadata>| it.map(|it| (it.dev(), it.ino()));
            let opened = found(file.metadata()).map_err(|it| refused("the index's folder", &it))?;
            if is_held_here(opened) {
                return Err(TWICE.into());
            }
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // it may have been dropped, and made anew, since it was opened
                Ok(()) if found(fs::metadata(folder)).is_ok_and(|it| it == opened) => {
                    let thread = thread::current().id();
                    holders().insert(opened, Holder { thread, asked_twice: false });
                    return Ok(Self { folder: opened, _file: file });
                }
                Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => (),
                Err(error) => return Err(refused("the index's lock", &error.into())),
            }
            if Instant::now() > until {
                return Err("another session has been writing to the index for 10 s".into());
            }
            check_killed()?;
            sleep(LOCK_PAUSE);
        }
    }
}

fn missing(folder: &Path, error: &std::io::Error) -> Fault {
    if error.kind() == ErrorKind::NotFound {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        return format!("there is no index '{name}'").into();
    }
    refused("the index's folder", error)
}

/// Makes an index without rows; where that fails, nothing of it is left.
pub fn create(root: &Root, folder: &Path, columns: &[u8]) -> Result<(), Fault> {
    let columns = parse_columns(columns)?;
    let made = make_folders(root, folder).and_then(|()| fill(root, folder, columns));
    if made.is_err() {
        root.remove_if_empty()?;
    }
    made
}

fn make_folders(root: &Root, folder: &Path) -> Result<(), Fault> {
    let mut maker = fs::DirBuilder::new();
    maker.mode(0o700);
    for each in [Some(&*root.path).filter(|_| root.is_ours), Some(folder)].into_iter().flatten() {
        match maker.create(each) {
            Ok(()) => sync_parent(each)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => (),
            Err(error) => return Err(refused("the index's folder cannot be made", &error)),
        }
    }
    Ok(())
}

fn fill(root: &Root, folder: &Path, columns: Vec<Column>) -> Result<(), Fault> {
    let _lock = Lock::of(folder)?;
    // a folder without a manifest is of a create that was cut off
    if folder.join(MANIFEST).exists() {
        return Err("there is an index of that name".into());
    }
    let manifest = Manifest { columns, next: 1, segments: Vec::new() };
    let filled = replace_manifest(folder, &manifest).and_then(|()| sync_folder(&root.path));
    if filled.is_err() {
        // as far as the system lets it go; what stays is no index, and the next create takes it
        let _ = fs::remove_file(folder.join(MANIFEST));
        sweep(folder, None);
        let _ = fs::remove_dir(folder);
    }
    filled
}

/// Removes an index: its files, and what is empty then.
pub fn remove(root: &Root, folder: &Path) -> Result<(), Fault> {
    let _lock = Lock::of(folder)?;
    read_manifest(folder)?;
    let done = fs::remove_file(folder.join(MANIFEST));
    done.map_err(|error| refused("the index cannot be removed", &error))?;
    // no manifest may come again without its segments
    sync_folder(folder)?;
    sweep(folder, None);
    fs::remove_dir(folder).map_err(|error| refused("the index's folder stays", &error))?;
    sync_parent(folder)?;
    // it stays while there are other indexes
    root.remove_if_empty()
}

fn replace_manifest(folder: &Path, manifest: &Manifest) -> Result<(), Fault> {
    write_file(&folder.join(MANIFEST_NEW), &manifest.bytes())?;
    let renamed = fs::rename(folder.join(MANIFEST_NEW), folder.join(MANIFEST));
    renamed.map_err(|error| refused("the manifest cannot be replaced", &error))?;
    sync_folder(folder)
}

/// Removes files with names of ours that the manifest does not name; one that cannot be removed is
/// left to the next writer.
fn sweep(folder: &Path, manifest: Option<&Manifest>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_named = manifest.is_some_and(|it| it.names(&name));
        if name == MANIFEST_NEW || manifest::is_ours(&name) && !is_named {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Rows on their way into an index; gone again unless `commit` comes.
pub struct Writer {
    folder: PathBuf,
    manifest: Manifest,
    builder: Builder,
    rows: u64,
    lock: Lock,
}

impl Writer {
    /// Waits for the index's lock.
    pub fn open(folder: PathBuf) -> Result<Self, Fault> {
        let lock = Lock::of(&folder)?;
        let manifest = read_manifest(&folder)?;
        sweep(&folder, Some(&manifest));
        let builder = Builder::new(manifest.columns.len());
        Ok(Self { folder, manifest, builder, rows: 0, lock })
    }

    /// A row of texts, `None` for NULL; on a fault nothing of it is there.
    pub fn add(&mut self, row: &[Option<&[u8]>]) -> Result<(), Fault> {
        let columns = &self.manifest.columns;
        if row.len() != columns.len() {
            let told = format!("the index has {} columns, not {}", columns.len(), row.len());
            return Err(told.into());
        }
        let (mut keys, mut ends) = (Vec::new(), Vec::with_capacity(row.len()));
        for (column, text) in columns.iter().zip(row) {
            if let Some(text) = text {
                column.encode(text, &mut keys)?;
            }
            ends.push(keys.len());
        }
        let mut begin = 0;
        self.builder.add(row.iter().zip(&ends).map(|(text, end)| {
            let key = &keys[std::mem::replace(&mut begin, *end)..*end];
            text.map(|_| key)
        }))?;
        self.rows += 1;
        if self.builder.is_full() { self.flush() } else { Ok(()) }
    }

    /// What was gathered becomes a segment, which no manifest on the disk names yet.
    fn flush(&mut self) -> Result<(), Fault> {
        if self.builder.rows() == 0 {
            return Ok(());
        }
        if self.manifest.segments.len() >= SEGMENTS_MAX {
            return Err(format!("an index has at most {SEGMENTS_MAX} segments").into());
        }
        let fixed: Vec<bool> =
            self.manifest.columns.iter().map(|it| it.width().is_some()).collect();
        let empty = Builder::new(fixed.len());
        let full = std::mem::replace(&mut self.builder, empty);
        let rows = full.rows() as u32;
        let (bytes, crc) = full.finish(&fixed)?;
        let number = self.manifest.take_number()?;
        write_file(&self.folder.join(segment_file(number)), &bytes)?;
        self.manifest.segments.push(Entry { number, rows, crc, deleted: 0 });
        Ok(())
    }

    /// Rows that are deleted, by segment of the manifest: how many became so.
    pub fn delete(&mut self, gone: Vec<RoaringBitmap>) -> Result<u64, Fault> {
        let mut count = 0;
        let entries = std::mem::take(&mut self.manifest.segments);
        for (mut entry, rows) in entries.into_iter().zip(gone) {
            if !rows.is_empty() {
                let mut all = self.segment(&entry)?.deleted;
                count += (&rows - &all).len();
                all |= rows;
                if all.len() == u64::from(entry.rows) {
                    continue;
                }
                entry.deleted = self.manifest.take_number()?;
                let path = self.folder.join(deleted_file(entry.deleted));
                write_file(&path, &deleted_bytes(&all)?)?;
            }
            self.manifest.segments.push(entry);
        }
        Ok(count)
    }

    fn segment(&self, entry: &Entry) -> Result<Segment, Fault> {
        let opened = Segment::open(&self.folder, entry, self.manifest.columns.len());
        opened.map_err(|error| refused("a segment", &error))?
    }

    /// Small segments become one when they are many; deleted rows go.
    fn merge(&mut self) -> Result<(), Fault> {
        let is_small = |it: &Entry| it.rows < SMALL_ROWS;
        if self.manifest.segments.iter().filter(|it| is_small(it)).count() < SMALL_COUNT {
            return Ok(());
        }
        let all = std::mem::take(&mut self.manifest.segments);
        let (small, large) = all.into_iter().partition(is_small);
        self.manifest.segments = large;
        let mut steps = Steps::of_input();
        for entry in &small as &Vec<Entry> {
            let segment = self.segment(entry)?;
            let columns = self.manifest.columns.iter().enumerate().map(|(index, column)| {
                Ok((segment.values(index, column.width())?, segment.places(index)?))
            });
            let columns = columns.collect::<Result<Vec<_>, Fault>>()?;
            for row in (0..entry.rows).filter(|it| !segment.deleted.contains(*it)) {
                steps.take(1)?;
                self.builder.add(columns.iter().map(|(values, places)| {
                    let place = places.of(row);
                    (place != NULL).then(|| values.key(place as usize))
                }))?;
                if self.builder.is_full() {
                    self.flush()?;
                }
            }
        }
        self.flush()
    }

    /// All of it becomes the index's, or none: how many rows were added.
    pub fn commit(mut self) -> Result<u64, Fault> {
        if holders().get(&self.lock.folder).is_some_and(|it| it.asked_twice) {
            return Err(TWICE.into());
        }
        self.flush()?;
        self.merge()?;
        // the files' names are on the disk before a manifest says them
        sync_folder(&self.folder)?;
        replace_manifest(&self.folder, &self.manifest)?;
        Ok(self.rows)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Ok(manifest) = read_manifest(&self.folder) {
            sweep(&self.folder, Some(&manifest));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::bounds::Output;
    use crate::files::query::{parse_condition, parse_query, query_steps};
    use crate::files::results::{Form, answer};
    use crate::files::{Index, evaluate};

    /// A folder of a test's own with an index `a:int, b:text`.
    fn an_index(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dyno-fb-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let columns = parse_columns(b"a:int, b:text").unwrap();
        let manifest = Manifest { columns, next: 1, segments: Vec::new() };
        replace_manifest(&folder, &manifest).unwrap();
        folder
    }

    fn add(writer: &mut Writer, numbers: std::ops::Range<u32>) {
        for number in numbers {
            writer.add(&[Some(number.to_string().as_bytes()), None]).unwrap();
        }
    }

    fn told(folder: &Path, query: &str) -> String {
        let index = Index::open(folder).unwrap();
        let query = parse_query(query.as_bytes(), &index.manifest).unwrap();
        let mut out = Output::default();
        answer(&index, &query, Form::Json, &mut out).unwrap();
        String::from_utf8(out.bytes().to_vec()).unwrap()
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn many_additions_become_one_segment_and_deleted_rows_go() {
        let folder = an_index("merged");
        for number in 0..SMALL_COUNT as u32 {
            let mut writer = Writer::open(folder.clone()).unwrap();
            add(&mut writer, number * 100..number * 100 + 100);
            if number == 5 {
                let index = Index::open(&folder).unwrap();
                let gone = parse_condition(b"a >= 50 AND a < 150", &index.manifest).unwrap();
                let columns = &index.manifest.columns;
                let mut steps = query_steps();
                let rows = index
                    .segments
                    .iter()
                    .map(|it| evaluate::rows_of(&gone, it, columns, &mut steps));
                assert_eq!(writer.delete(rows.collect::<Result<_, _>>().unwrap()), Ok(100));
            }
            assert_eq!(writer.commit(), Ok(100));
        }
        assert_eq!(told(&folder, "COUNT(*), MIN(a), MAX(a)"), "[[3100,0,3199]]");
        assert_eq!(told(&folder, "a WHERE a BETWEEN 48 AND 151"), "[[48],[49],[150],[151]]");
        assert_eq!(told(&folder, "COUNT(*) WHERE -1 <= a < 1.5"), "[[2]]");
        assert_eq!(told(&folder, "COUNT(*) WHERE 3197.5 < a"), "[[2]]");
        assert_eq!(read_manifest(&folder).unwrap().segments[0].rows, 3100);
        assert_eq!(files(&folder), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_not_committed_leaves_nothing() {
        let folder = an_index("dropped");
        let mut writer = Writer::open(folder.clone()).unwrap();
        add(&mut writer, 0..10);
        writer.flush().unwrap();
        assert!(writer.add(&[Some(b"x"), None]).is_err());
        assert_eq!(files(&folder), 2);
        drop(writer);
        assert_eq!((files(&folder), told(&folder, "COUNT(*)")), (1, "[[0]]".to_owned()));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn more_rows_than_a_segment_holds_are_told_in_their_order() {
        let folder = an_index("large");
        let mut writer = Writer::open(folder.clone()).unwrap();
        let rows = crate::files::segment::ROWS_MAX as u32 + 7;
        add(&mut writer, 0..rows);
        assert_eq!(writer.commit(), Ok(u64::from(rows)));
        assert_eq!(read_manifest(&folder).unwrap().segments.len(), 2);
        let last = rows - 1;
        assert_eq!(
            told(&folder, &format!("a WHERE a >= {} LIMIT 1, 1", last - 8)),
            format!("[[{}]]", last - 7)
        );
        assert_eq!(told(&folder, "COUNT(*), COUNT(b)"), format!("[[{rows},0]]"));
        fs::remove_dir_all(folder).unwrap();
    }
}
