//! `fb_*`: indexes over columns in files of the server's, each a folder of immutable segments.
//!
//! All lie below one folder: `dyno_fb` in the server's data directory, which is where a server of
//! this family works, or what `DYNO_KIT_FILES` of its environment names. An index is called by a
//! name, never by a path. What an index is made of is its manifest's to say, and a manifest is
//! replaced whole: whoever is killed leaves the old one or the new one. Files that no manifest
//! names are removed by the next writer. Writers lock the index's folder (`flock`), whatever server
//! they are of; readers lock nothing, and begin anew where a file has gone since they read the
//! manifest.

mod columns;
mod evaluate;
mod functions;
mod manifest;
mod query;
mod results;
mod segment;
#[cfg(test)]
mod tests;
mod tokens;
mod writer;

pub use functions::{Create, Delete, Drop, InList, Insert, Insert2, List, Load, Query};

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use manifest::Manifest;
use segment::Segment;

use crate::function::Fault;

/// What the page of bounds names.
#[cfg(test)]
pub fn bounds_of_files() -> Vec<usize> {
    let of_query = [query::DEPTH_MAX, query::CONDITIONS_MAX, query::ITEMS_MAX, tokens::TOKENS_MAX];
    let steps = usize::try_from(query::STEPS_MAX).unwrap_or(0);
    let of_rows = [columns::COLUMNS_MAX, columns::TEXT_BYTES_MAX, segment::ROWS_MAX];
    [&of_query[..], &of_rows, &[steps, writer::SEGMENTS_MAX]].concat()
}

/// Of a name: of an index, of a column.
const NAME_BYTES_MAX: usize = 64;
/// How often a reader begins anew where writers remove what it was about to open.
const READS_MAX: usize = 20;
/// The manifest's file, and what it is called while it is written.
const MANIFEST: &str = "manifest";
const MANIFEST_NEW: &str = "manifest.new";

/// The fault of something that the system refuses.
fn refused(what: &str, error: &io::Error) -> Fault {
    format!("{what}: {error}").into()
}

/// A name of letters, figures and `_`.
fn check_name<'a>(bytes: &'a [u8], of: &str) -> Result<&'a str, Fault> {
    let is_name = !bytes.is_empty()
        && bytes.len() <= NAME_BYTES_MAX
        && bytes.iter().all(|it| it.is_ascii_alphanumeric() || *it == b'_');
    match std::str::from_utf8(bytes) {
        Ok(name) if is_name => Ok(name),
        _ => Err(format!("{of} has 1 to {NAME_BYTES_MAX} letters, figures and _").into()),
    }
}

/// The server's environment names the folder of all indexes by it, if anything does.
const ROOT: &str = "DYNO_KIT_FILES";

/// The folder of all indexes.
struct Root {
    path: PathBuf,
    /// Whether it is ours to make and to remove: not where the environment names it.
    is_ours: bool,
}

impl Root {
    /// This server's.
    fn of_server() -> Result<Self, Fault> {
        if let Some(told) = std::env::var_os(ROOT) {
            let path = PathBuf::from(told);
            if !path.is_absolute() {
                return Err("DYNO_KIT_FILES of the server's environment is no absolute path".into());
            }
            return Ok(Self { path, is_ours: false });
        }
        let home = std::env::current_dir().map_err(|it| refused("the data directory", &it))?;
        Ok(Self { path: home.join("dyno_fb"), is_ours: true })
    }

    /// Removes it where it is ours and holds no index, for good.
    fn remove_if_empty(&self) -> Result<(), Fault> {
        if self.is_ours && fs::remove_dir(&self.path).is_ok() {
            return sync_parent(&self.path);
        }
        Ok(())
    }
}

/// The folder of an index, there or not.
fn folder_of(name: &[u8]) -> Result<PathBuf, Fault> {
    Ok(Root::of_server()?.path.join(check_name(name, "the name of an index")?))
}

/// Makes a folder outlast a loss of power, or its absence.
fn sync_parent(folder: &Path) -> Result<(), Fault> {
    folder.parent().map_or(Ok(()), sync_folder)
}

/// Makes what a folder names outlast a loss of power.
fn sync_folder(folder: &Path) -> Result<(), Fault> {
    let done = File::open(folder).and_then(|it| it.sync_all());
    #[cfg(test)]
    tests::SYNCED.with_borrow_mut(|it| it.push(folder.to_owned()));
    done.map_err(|it| refused("the index's folder", &it))
}

/// Writes a file that is on the disk when this returns.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let done = File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    done.map_err(|it| refused("the index cannot be written", &it))
}

/// The manifest in a folder; a fault where there is no index.
fn read_manifest(folder: &Path) -> Result<Manifest, Fault> {
    match fs::read(folder.join(MANIFEST)) {
        Ok(bytes) => Manifest::parse(&bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            Err(format!("there is no index '{name}'").into())
        }
        Err(error) => Err(refused("the manifest", &error)),
    }
}

/// An index as of one manifest, its segments open: what writers do to it later is not seen.
struct Index {
    manifest: Manifest,
    segments: Vec<Segment>,
}

impl Index {
    fn open(folder: &Path) -> Result<Self, Fault> {
        for _ in 0..READS_MAX {
            let manifest = read_manifest(folder)?;
            if let Some(segments) = open_segments(folder, &manifest)? {
                return Ok(Self { manifest, segments });
            }
        }
        Err("the index changes faster than it can be read, or lacks a file".into())
    }
}

/// The segments that a manifest names; `None` where one has gone since it was read.
fn open_segments(folder: &Path, manifest: &Manifest) -> Result<Option<Vec<Segment>>, Fault> {
    let mut found = Vec::with_capacity(manifest.segments.len());
    for entry in &manifest.segments {
        match Segment::open(folder, entry, manifest.columns.len()) {
            Ok(segment) => found.push(segment?),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused("a segment", &error)),
        }
    }
    Ok(Some(found))
}
