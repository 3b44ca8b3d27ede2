//! Who belongs to a process: all that it forked, and their threads, as `/proc` says now.

use std::collections::{HashMap, HashSet};
use std::fs;

/// `root` and its descendants.
pub fn list_family(root: u32) -> HashSet<u32> {
    let parents: Vec<(u32, u32)> = list_numbers("/proc")
        .filter_map(|pid| read_parent(pid).map(|parent| (pid, parent)))
        .collect();
    join_descendants(root, parents.into_iter())
}

/// `root` and all that descend from it by pairs of child and parent.
fn join_descendants(root: u32, pairs: impl Iterator<Item = (u32, u32)>) -> HashSet<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (child, parent) in pairs {
        children.entry(parent).or_default().push(child);
    }
    let mut family = HashSet::from([root]);
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for &child in children.get(&parent).into_iter().flatten() {
            if family.insert(child) {
                open.push(child);
            }
        }
    }
    family
}

/// The threads of a process; none where it has ended.
pub fn list_threads(pid: u32) -> Vec<u32> {
    list_numbers(&format!("/proc/{pid}/task")).collect()
}

/// The CPUs that can run something, as `/sys` lists them (`0-3,6`).
pub fn list_cpus() -> Result<Vec<usize>, String> {
    let path = "/sys/devices/system/cpu/online";
    let text = fs::read_to_string(path).map_err(|wrong| format!("{path}: {wrong}"))?;
    parse_ranges(text.trim()).ok_or_else(|| format!("{path} says {:?}", text.trim()))
}

fn parse_ranges(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(cpus)
}

fn list_numbers(folder: &str) -> impl Iterator<Item = u32> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fourth word of `stat`; the second, its name in brackets, may hold blanks and brackets.
fn read_parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cpus_are_read_whole() {
        assert_eq!(parse_ranges("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse_ranges("all"), None);
    }

    #[test]
    fn grandchildren_belong_to_the_family_and_others_do_not() {
        let family = join_descendants(1, [(2, 1), (3, 2), (5, 4)].into_iter());
        assert_eq!(family, HashSet::from([1, 2, 3]));
    }
}
