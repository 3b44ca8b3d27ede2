//! Where the parts of a bitmap's bytes lie (github.com/RoaringBitmap/RoaringFormatSpec), so that of
//! two values only that part is compared by which a number is in both or in neither.

use std::ops::Range;

const WITHOUT_RUNS: u32 = 12_346;
const WITH_RUNS: u32 = 12_347;
/// With fewer containers and runs among them their offsets are left out.
const OFFSETS_FROM: usize = 4;
/// A container of more numbers is a set of bits.
const LIST_MAX: usize = 4_096;
const BITS_BYTES: usize = 8_192;

/// Of one bitmap's bytes.
#[derive(Debug, Default)]
pub struct Layout {
    /// What says which containers there are, of what kind and how many numbers.
    head: usize,
    /// Each container by the upper half of its numbers, in order.
    containers: Vec<(u16, Range<usize>)>,
    /// Where containers of runs begin: with how many runs they have, which gives their size.
    runs: Vec<usize>,
}

impl Layout {
    /// Of bytes that are a bitmap; `None` where they lie otherwise than is known here.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let cookie = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        let has_runs = cookie & 0xffff == WITH_RUNS;
        let (count, flags_at) = if has_runs {
            ((cookie >> 16) as usize + 1, 4)
        } else if cookie == WITHOUT_RUNS {
            (u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize, 8)
        } else {
            return None;
        };
        let described_at = flags_at + if has_runs { count.div_ceil(8) } else { 0 };
        let has_offsets = !has_runs || count >= OFFSETS_FROM;
        let head = described_at + count * if has_offsets { 8 } else { 4 };
        let mut found = Self { head, ..Self::default() };
        let mut at = head;
        for index in 0..count {
            let described = described_at + 4 * index;
            let (key, numbers) = (short(bytes, described)?, short(bytes, described + 2)?);
            let is_runs = has_runs && bytes.get(flags_at + index / 8)? >> (index % 8) & 1 == 1;
            let size = if is_runs {
                found.runs.push(at);
                2 + 4 * usize::from(short(bytes, at)?)
            } else if usize::from(numbers) < LIST_MAX {
                2 * (usize::from(numbers) + 1)
            } else {
                BITS_BYTES
            };
            found.containers.push((key, at..at + size));
            at += size;
        }
        (at == bytes.len()).then_some(found)
    }

    /// Whether a number is in both of two values or in neither, as far as their bytes tell at once;
    /// the first is the one that this is of.
    pub fn agree(&self, one: &[u8], other: &[u8], number: u32) -> bool {
        let same = |range: Range<usize>| one.get(range.clone()) == other.get(range);
        if one.len() != other.len() || !same(0..self.head) {
            return false;
        }
        let upper = (number >> 16) as u16;
        let Ok(index) = self.containers.binary_search_by_key(&upper, |(key, _)| *key) else {
            return true;
        };
        let range = self.containers[index].1.clone();
        let before = self.runs.iter().take_while(|it| **it < range.start);
        // where those before are of the same size, this one lies where it lay
        before.copied().all(|it| same(it..it + 2)) && same(range)
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use roaring::RoaringBitmap;

    use super::super::{read, write};
    use super::*;

    fn value(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut bitmap: RoaringBitmap = numbers.into_iter().collect();
        write(&mut bitmap, &mut out).unwrap();
        out
    }

    /// Values with the same head and length whose containers differ, among others.
    fn values() -> Vec<Vec<u8>> {
        let runs = |starts: &[u32]| -> Vec<u32> {
            let length = 60 / starts.len() as u32;
            starts.iter().flat_map(|it| *it..*it + length).collect()
        };
        let (two, three) = ([0, 900], [0, 500, 900]);
        let far = |numbers: Vec<u32>, container: u32| -> Vec<u32> {
            numbers.into_iter().map(|it| it + (container << 16)).collect()
        };
        let mut found = vec![value([]), value([7]), value([8]), value([7 + (1 << 16)])];
        for (first, second) in [(&two[..], &three[..]), (&three[..], &two[..])] {
            for last in [5_u32, 6] {
                let all = [runs(first), far(runs(second), 1), far(vec![last, 90], 2)].concat();
                found.push(value(all.clone()));
                found.push(value(
                    [all, far((0..5_000).map(|it| it * 3 + last).collect(), 9)].concat(),
                ));
                found.push(value((0..20_000).map(|it| it * 5 + last)));
            }
        }
        found
    }

    #[test]
    fn every_value_is_known() {
        for bytes in values() {
            let layout = Layout::of(&bytes).unwrap();
            let keys: Vec<u16> = layout.containers.iter().map(|(key, _)| *key).collect();
            let mut wanted: Vec<u16> =
                read(&bytes).unwrap().iter().map(|it| (it >> 16) as u16).collect();
            wanted.dedup();
            assert_eq!(keys, wanted);
        }
        assert!(Layout::of(b"no bitmap").is_none());
    }

    #[test]
    fn values_that_agree_hold_the_same() {
        let (values, mut agreed, mut differed) = (values(), 0, 0);
        let numbers: Vec<u32> = (0..1_000)
            .chain((0..1_000).flat_map(|it| [1, 2, 3, 9].map(|key| it + (key << 16))))
            .collect();
        for one in &values {
            let layout = Layout::of(one).unwrap();
            for other in &values {
                let (mine, its) = (read(one).unwrap(), read(other).unwrap());
                for number in &numbers {
                    if layout.agree(one, other, *number) {
                        assert_eq!(mine.contains(*number), its.contains(*number), "{number}");
                        agreed += usize::from(one != other);
                    } else {
                        assert_ne!(one, other);
                        differed += usize::from(one.len() == other.len());
                    }
                }
            }
        }
        assert!(agreed > 1_000 && differed > 1_000, "{agreed} {differed}");
    }
}
