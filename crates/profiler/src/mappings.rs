//! Which file lies where in a process: `/proc/PID/maps`.

use std::fs;

/// One mapping.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    path: String,
    executable: bool,
}

/// What lies at an address.
#[derive(Debug, PartialEq, Eq)]
pub struct MappedPlace<'a> {
    /// The file; empty where memory has none: code that was made at run time.
    pub path: &'a str,
    /// The place in it, in bytes.
    pub offset: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

impl MappedPlace<'_> {
    /// Is it the C library, glibc's or musl's?
    pub fn is_c_library(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-musl")
    }
}

/// The mappings of a process, by address.
#[derive(Debug)]
pub struct Mappings(Vec<Mapping>);

impl Mappings {
    /// Those of `pid` now; none where it has ended or may not be read.
    pub fn read(pid: u32) -> Self {
        let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        let mut all: Vec<Mapping> = text.lines().filter_map(parse_line).collect();
        all.sort_by_key(|mapping| mapping.start);
        Self(all)
    }

    /// What lies at `address`.
    pub fn find(&self, address: u64) -> Option<MappedPlace<'_>> {
        let next = self.0.partition_point(|mapping| mapping.start <= address);
        let mapping = self.0.get(next.checked_sub(1)?)?;
        (address < mapping.end).then(|| MappedPlace {
            path: &mapping.path,
            offset: address - mapping.start + mapping.offset,
            executable: mapping.executable,
        })
    }
}

fn parse_line(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = words.next()?;
    let _device = words.next()?;
    let _inode = words.next()?;
    let path = words.next().unwrap_or("").trim();
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        offset: u64::from_str_radix(offset, 16).ok()?,
        path: path.to_owned(),
        executable: permissions.contains('x'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
5000-6000 r--p 00000000 fe:01 12                         /opt/with blank/mysqld
6000-9000 r-xp 00001000 fe:01 12                         /opt/with blank/mysqld
9000-a000 rwxp 00000000 00:00 0
b000-c000 r-xp 00000000 fe:01 13                         /opt/mysqld (deleted)
";

    #[test]
    fn an_address_is_a_place_in_the_file_that_is_mapped_there() {
        let maps = Mappings::parse(MAPS);
        let find = |address| maps.find(address).map(|it| (it.path, it.offset, it.executable));
        assert_eq!(find(0x6010), Some(("/opt/with blank/mysqld", 0x1010, true)));
        assert_eq!(find(0x5010), Some(("/opt/with blank/mysqld", 0x10, false)));
        assert_eq!(find(0x9001), Some(("", 1, true)));
        assert_eq!(find(0xa000), None);
        // another file may lie at that path by now: it keeps the mark
        assert_eq!(find(0xb001), Some(("/opt/mysqld (deleted)", 1, true)));
        assert_eq!(find(0x4fff), None);
    }
}
