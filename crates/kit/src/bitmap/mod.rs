//! Sets of whole numbers from 0 to 4294967295 as values: Roaring bitmaps, in the format that all
//! implementations share (github.com/RoaringBitmap/RoaringFormatSpec).
//!
//! What comes out has its runs compressed. What comes in is checked: bytes that are no bitmap are a
//! fault, and never read as one.

mod aggregates;
mod combine;
mod layout;
mod look;
mod members;

pub use aggregates::{And, BuildAgg, Or, Xor};
pub use combine::{AndNot, Both, Build, Either, One};
pub use look::{Cardinality, Contains, Max, Min};
pub use members::{ToJson, ToList};

use roaring::RoaringBitmap;

use crate::bounds::{RESULT_BYTES_MAX, check_killed, check_memory, check_size, reserve};
use crate::function::{Fault, Shape};

/// What every function that answers a bitmap declares.
const SHAPE: Shape = Shape::Bytes(RESULT_BYTES_MAX);

/// A container takes no more in memory, what leads to it included.
const CONTAINER_BYTES_MAX: usize = 8_192 + 64;
/// More containers no bitmap has; each has 4 bytes and more in a value.
const CONTAINERS_MAX: usize = 1 << 16;
/// So many additions make fewer containers larger than is asked for before them.
const BLOCK: usize = 4_096;

/// Whether there is memory for another `BLOCK` of numbers, wherever they lie.
fn check_block() -> Result<(), Fault> {
    check_killed()?;
    // and twice for the list of containers, which grows by being copied
    check_memory(BLOCK * CONTAINER_BYTES_MAX + 3 * 64 * CONTAINERS_MAX)
}

/// Whether there is memory to make `left` what it is with `right`.
fn check_union(left: &RoaringBitmap, right: &RoaringBitmap) -> Result<(), Fault> {
    let count = |it: &RoaringBitmap| it.statistics().n_containers as usize;
    check_memory((count(left) + count(right)).min(CONTAINERS_MAX) * CONTAINER_BYTES_MAX)
}

/// The bitmap that a value holds.
fn read(bytes: &[u8]) -> Result<RoaringBitmap, Fault> {
    // containers of runs are read into twice their size, and each has a place in a list
    check_memory(2 * bytes.len() + 64 * (bytes.len() / 4).min(CONTAINERS_MAX))?;
    let mut rest = bytes;
    let bitmap = RoaringBitmap::deserialize_from(&mut rest)
        .map_err(|error| format!("this is not a bitmap: {error}"))?;
    if !rest.is_empty() {
        return Err(format!("this is not a bitmap: {} bytes too many", rest.len()).into());
    }
    bitmap.internal_validate().map_err(|error| format!("this is not a bitmap: {error}"))?;
    Ok(bitmap)
}

/// The bitmap as a value, in `out`.
fn write<'a>(bitmap: &mut RoaringBitmap, out: &'a mut Vec<u8>) -> Result<&'a [u8], Fault> {
    bitmap.optimize();
    let size = bitmap.serialized_size();
    check_size(size)?;
    out.clear();
    reserve(out, size)?;
    bitmap.serialize_into(&mut *out).map_err(|error| error.to_string())?;
    Ok(out)
}

/// A number that a bitmap can hold.
fn member(number: i64) -> Result<u32, Fault> {
    u32::try_from(number)
        .map_err(|_| format!("a bitmap holds numbers from 0 to 4294967295, not {number}").into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::function::{Answer, Arguments, Function, Value};

    fn value(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut numbers.into_iter().collect(), &mut out).unwrap();
        out
    }

    #[test]
    fn what_is_written_is_read_again() {
        for numbers in [vec![], vec![0], vec![u32::MAX, 7], (0..200_000).collect::<Vec<_>>()] {
            let bitmap = read(&value(numbers.clone())).unwrap();
            assert_eq!(bitmap, numbers.into_iter().collect());
        }
        assert!(value(0..1_000_000).len() < 300, "runs are not compressed");
    }

    #[test]
    fn damaged_bytes_are_a_fault_or_a_bitmap_and_never_a_panic() {
        let good = [value([1, 5, 9]), value(0..70_000), value((0..40_000).map(|it| it * 3))];
        let mut random = 88_172_645_463_325_252_u64;
        let mut draw = move |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below as u64) as usize
        };
        for round in 0..3_000 {
            let mut bytes = good[round % good.len()].clone();
            for _ in 0..=draw(4) {
                let at = draw(bytes.len().min(64));
                bytes[at] = draw(256) as u8;
            }
            bytes.truncate(draw(bytes.len()) + 1);
            if let Ok(bitmap) = read(&bytes) {
                assert_eq!(bitmap.len() as usize, bitmap.iter().count());
            }
        }
        assert!(read(b"").is_err() && read(b"no bitmap").is_err());
        assert!(read(&[value([1]), vec![0]].concat()).is_err());
    }

    #[test]
    fn bitmaps_combine_as_sets_do() {
        let (left, right) = (value([1, 2, 3]), value([3, 4]));
        let row = [Value::Bytes(&left), Value::Bytes(&right)];
        fn told<F: Function>(row: &[Value]) -> Vec<u32> {
            let (mut function, _) = F::prepare(Arguments(&[])).unwrap();
            match function.answer(Arguments(row)).unwrap() {
                Answer::Bytes(bytes) => read(bytes).unwrap().iter().collect(),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(told::<Either>(&row), [1, 2, 3, 4]);
        assert_eq!(told::<Both>(&row), [3]);
        assert_eq!(told::<One>(&row), [1, 2, 4]);
        assert_eq!(told::<AndNot>(&row), [1, 2]);
        assert_eq!(told::<Build>(&[Value::Bytes(b" 3,1,\n2,3 ")]), [1, 2, 3]);
        assert_eq!(told::<Build>(&[Value::Bytes(b"[4, 2]")]), [2, 4]);
        assert!(told::<Build>(&[Value::Bytes(b"")]).is_empty());
        let (mut build, _) = Build::prepare(Arguments(&[])).unwrap();
        for bad in ["1,,2", "a", "-1", "4294967296", "[1", "1;2", "1.5"] {
            assert!(build.answer(Arguments(&[Value::Bytes(bad.as_bytes())])).is_err(), "{bad}");
        }
    }
}
