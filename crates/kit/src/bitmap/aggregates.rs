//! Bitmaps over the rows of a group: `rb_build_agg`, `rb_or_agg`, `rb_and_agg`, `rb_xor_agg`.

use std::marker::PhantomData;

use roaring::RoaringBitmap;

use super::combine::{Difference, Intersection, Operation, Union};
use super::{BLOCK, SHAPE, check_block, check_union, member, read, write};
use crate::function::{Aggregate, Answer, Arguments, Fault, Function, Kind, Shape, Takes};

/// `rb_build_agg(number)`: the numbers of all rows; an empty bitmap where there are none.
pub struct BuildAgg {
    bitmap: RoaringBitmap,
    rows: usize,
    out: Vec<u8>,
}

impl Function for BuildAgg {
    const TAKES: Takes = Takes { kinds: &[Kind::Integer], least: 1, usage: "rb_build_agg(number)" };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self { bitmap: RoaringBitmap::new(), rows: 0, out: Vec::new() }, SHAPE))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        Ok(Answer::Bytes(write(&mut self.bitmap, &mut self.out)?))
    }
}

impl Aggregate for BuildAgg {
    fn clear(&mut self) {
        self.bitmap.clear();
    }

    fn add(&mut self, row: Arguments) -> Result<(), Fault> {
        if let Some(number) = row.integer(0) {
            if self.rows.is_multiple_of(BLOCK) {
                check_block()?;
            }
            self.rows += 1;
            self.bitmap.insert(member(number)?);
        }
        Ok(())
    }
}

/// All bitmaps of a group made one; NULL where there is none.
pub struct Folded<O> {
    operation: PhantomData<O>,
    bitmap: Option<RoaringBitmap>,
    out: Vec<u8>,
}

impl<O: Operation> Function for Folded<O> {
    const TAKES: Takes = Takes { kinds: &[Kind::Bytes], least: 1, usage: "one bitmap" };

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self { operation: PhantomData, bitmap: None, out: Vec::new() }, SHAPE))
    }

    fn answer(&mut self, _: Arguments) -> Result<Answer<'_>, Fault> {
        match &mut self.bitmap {
            Some(bitmap) => Ok(Answer::Bytes(write(bitmap, &mut self.out)?)),
            None => Ok(Answer::Null),
        }
    }
}

impl<O: Operation> Aggregate for Folded<O> {
    fn clear(&mut self) {
        self.bitmap = None;
    }

    fn add(&mut self, row: Arguments) -> Result<(), Fault> {
        if let Some(bytes) = row.bytes(0) {
            let one = read(bytes)?;
            match &mut self.bitmap {
                Some(bitmap) => {
                    check_union(bitmap, &one)?;
                    O::apply(bitmap, &one);
                }
                None => self.bitmap = Some(one),
            }
        }
        Ok(())
    }
}

/// What is in any.
pub type Or = Folded<Union>;
/// What is in all.
pub type And = Folded<Intersection>;
/// What is in an odd number of them.
pub type Xor = Folded<Difference>;
