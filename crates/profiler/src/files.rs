//! The files of a process as it sees them: in a container its paths mean other files than ours, and
//! a program that was replaced or removed is still the one that runs.

use std::fs::{File, read_link};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// What is held of a process while its functions may be named: it may have ended by then.
#[derive(Debug, Default)]
pub struct ProcessFiles {
    /// Its root, where that is another than ours.
    root: Option<File>,
    /// Its program, under the name that its mappings have.
    program: Option<(String, File)>,
}

impl ProcessFiles {
    /// Those of `pid`; where we may not see them its paths are taken for ours.
    pub fn open(pid: u32) -> Self {
        let namespace = |of: &str| read_link(format!("/proc/{of}/ns/mnt")).ok();
        let is_apart = namespace(&pid.to_string()) != namespace("self");
        let root = File::open(format!("/proc/{pid}/root")).ok();
        let root = root.filter(|its| is_apart || is_another_root(its));
        let link = format!("/proc/{pid}/exe");
        let name = read_link(&link).ok().map(|path| path.to_string_lossy().into_owned());
        let program = name.zip(File::open(&link).ok());
        Self { root, program }
    }

    /// Where the file that the process calls `path` can be opened by us.
    pub fn locate(&self, path: &str) -> String {
        match (&self.program, &self.root) {
            (Some((name, file)), _) if name == path => name_descriptor(file),
            (_, Some(root)) => format!("{}{path}", name_descriptor(root)),
            _ => path.to_owned(),
        }
    }
}

fn name_descriptor(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn is_another_root(root: &File) -> bool {
    let places = root.metadata().ok().zip(std::fs::metadata("/").ok());
    places.is_some_and(|(its, own)| (its.dev(), its.ino()) != (own.dev(), own.ino()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_one_that_runs_and_other_paths_are_ours_where_the_root_is() {
        let files = ProcessFiles::open(std::process::id());
        let program = std::env::current_exe().unwrap();
        let open = |path: &str| std::fs::metadata(files.locate(path)).unwrap().ino();
        assert_ne!(files.locate(program.to_str().unwrap()), program.to_str().unwrap());
        assert_eq!(open(program.to_str().unwrap()), std::fs::metadata(&program).unwrap().ino());
        assert_eq!(files.locate("/lib/libc.so.6"), "/lib/libc.so.6");
        assert_eq!(ProcessFiles::open(0).locate("/bin/mysqld"), "/bin/mysqld");
    }

    #[test]
    fn a_path_of_another_root_is_below_it() {
        let folder = std::env::temp_dir();
        let files = ProcessFiles { root: Some(File::open(&folder).unwrap()), program: None };
        let place = files.locate("/usr/sbin/mysqld");
        assert!(place.starts_with("/proc/self/fd/") && place.ends_with("/usr/sbin/mysqld"));
        assert!(is_another_root(&File::open(folder.join("..").join("proc")).unwrap()));
    }
}
