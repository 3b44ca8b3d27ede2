//! Bitmaps from text, and two made one: `rb_build`, `rb_or`, `rb_and`, `rb_xor`, `rb_andnot`.

use std::marker::PhantomData;

use roaring::RoaringBitmap;

use super::{BLOCK, SHAPE, check_block, check_union, member, read, write};
use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes};

/// How two bitmaps become one.
pub trait Operation: Send + 'static {
    /// The function's name and arguments.
    const USAGE: &'static str;

    /// `left` becomes the answer.
    fn apply(left: &mut RoaringBitmap, right: &RoaringBitmap);
}

/// A function of two bitmaps; NULL where one is NULL.
pub struct Combined<O> {
    operation: PhantomData<O>,
    out: Vec<u8>,
}

impl<O: Operation> Function for Combined<O> {
    const TAKES: Takes = Takes { kinds: &[Kind::Bytes, Kind::Bytes], least: 2, usage: O::USAGE };
    const DETERMINISTIC: bool = true;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self { operation: PhantomData, out: Vec::new() }, SHAPE))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let (Some(left), Some(right)) = (row.bytes(0), row.bytes(1)) else {
            return Ok(Answer::Null);
        };
        let mut left = read(left)?;
        let right = read(right)?;
        check_union(&left, &right)?;
        O::apply(&mut left, &right);
        Ok(Answer::Bytes(write(&mut left, &mut self.out)?))
    }
}

/// Of `Either`.
pub struct Union;
/// Of `Both`.
pub struct Intersection;
/// Of `One`.
pub struct Difference;
/// Of `AndNot`.
pub struct Rest;

impl Operation for Union {
    const USAGE: &'static str = "rb_or(bitmap, bitmap)";

    fn apply(left: &mut RoaringBitmap, right: &RoaringBitmap) {
        *left |= right;
    }
}

impl Operation for Intersection {
    const USAGE: &'static str = "rb_and(bitmap, bitmap)";

    fn apply(left: &mut RoaringBitmap, right: &RoaringBitmap) {
        *left &= right;
    }
}

impl Operation for Difference {
    const USAGE: &'static str = "rb_xor(bitmap, bitmap)";

    fn apply(left: &mut RoaringBitmap, right: &RoaringBitmap) {
        *left ^= right;
    }
}

impl Operation for Rest {
    const USAGE: &'static str = "rb_andnot(bitmap, bitmap)";

    fn apply(left: &mut RoaringBitmap, right: &RoaringBitmap) {
        *left -= right;
    }
}

/// What is in either.
pub type Either = Combined<Union>;
/// What is in both.
pub type Both = Combined<Intersection>;
/// What is in one of them only.
pub type One = Combined<Difference>;
/// What is in the first and not in the second.
pub type AndNot = Combined<Rest>;

/// `rb_build(list)`: a bitmap of `1,2,3` or `[1,2,3]`.
pub struct Build(Vec<u8>);

impl Function for Build {
    const TAKES: Takes = Takes { kinds: &[Kind::Bytes], least: 1, usage: "rb_build(list)" };
    const DETERMINISTIC: bool = true;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self(Vec::new()), SHAPE))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let Some(list) = row.bytes(0) else { return Ok(Answer::Null) };
        Ok(Answer::Bytes(write(&mut parse(list)?, &mut self.0)?))
    }
}

fn parse(list: &[u8]) -> Result<RoaringBitmap, Fault> {
    let text = std::str::from_utf8(list).map_err(|_| "the list is not UTF-8")?.trim();
    let inner = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(text);
    let mut bitmap = RoaringBitmap::new();
    if !inner.trim().is_empty() {
        for (at, word) in inner.split(',').enumerate() {
            if at.is_multiple_of(BLOCK) {
                check_block()?;
            }
            let shown = || word.trim().chars().take(40).collect::<String>();
            let number = word.trim().parse();
            let number = number.map_err(|_| format!("'{}' is not a whole number", shown()))?;
            bitmap.insert(member(number)?);
        }
    }
    Ok(bitmap)
}
