//! What a bitmap holds: its size, its ends, whether a number is in it.

use std::marker::PhantomData;

use roaring::RoaringBitmap;

use super::layout::Layout;
use super::{member, read};
use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes};

/// A number that a bitmap has.
pub trait Number: Send + 'static {
    /// The function's name and arguments.
    const USAGE: &'static str;

    /// The number; `None` where an empty bitmap has none.
    fn of(bitmap: &RoaringBitmap) -> Option<u64>;
}

/// A function of one bitmap that answers a number.
pub struct Counted<N>(PhantomData<N>);

impl<N: Number> Function for Counted<N> {
    const TAKES: Takes = Takes { kinds: &[Kind::Bytes], least: 1, usage: N::USAGE };
    const DETERMINISTIC: bool = true;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self(PhantomData), Shape::Integer))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let Some(bytes) = row.bytes(0) else { return Ok(Answer::Null) };
        // at most 2^32
        Ok(N::of(&read(bytes)?).map_or(Answer::Null, |it| Answer::Integer(it as i64)))
    }
}

/// Of `Cardinality`.
pub struct Length;
/// Of `Min`.
pub struct First;
/// Of `Max`.
pub struct Last;

impl Number for Length {
    const USAGE: &'static str = "rb_cardinality(bitmap)";

    fn of(bitmap: &RoaringBitmap) -> Option<u64> {
        Some(bitmap.len())
    }
}

impl Number for First {
    const USAGE: &'static str = "rb_min(bitmap)";

    fn of(bitmap: &RoaringBitmap) -> Option<u64> {
        bitmap.min().map(u64::from)
    }
}

impl Number for Last {
    const USAGE: &'static str = "rb_max(bitmap)";

    fn of(bitmap: &RoaringBitmap) -> Option<u64> {
        bitmap.max().map(u64::from)
    }
}

/// How many members it has.
pub type Cardinality = Counted<Length>;
/// The smallest; NULL where it is empty.
pub type Min = Counted<First>;
/// The largest; NULL where it is empty.
pub type Max = Counted<Last>;

/// `rb_contains(bitmap, number)`: 1 or 0.
///
/// A bitmap that is the same for many rows is read once; of each row's only the part is compared by
/// which the number is in it.
#[derive(Default)]
pub struct Contains {
    bytes: Vec<u8>,
    bitmap: Option<RoaringBitmap>,
    layout: Option<Layout>,
}

impl Contains {
    /// Whether the bitmap that was read tells of these bytes, too.
    fn knows(&self, bytes: &[u8], number: Option<u32>) -> bool {
        match (&self.layout, number) {
            _ if self.bitmap.is_none() => false,
            (Some(layout), Some(number)) => layout.agree(&self.bytes, bytes, number),
            _ => self.bytes == bytes,
        }
    }
}

impl Function for Contains {
    const TAKES: Takes = Takes {
        kinds: &[Kind::Bytes, Kind::Integer],
        least: 2,
        usage: "rb_contains(bitmap, number)",
    };
    const DETERMINISTIC: bool = true;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self::default(), Shape::Integer))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let (Some(bytes), Some(number)) = (row.bytes(0), row.integer(1)) else {
            return Ok(Answer::Null);
        };
        let number = member(number).ok();
        if !self.knows(bytes, number) {
            self.bitmap = Some(read(bytes)?);
            self.bytes = bytes.to_vec();
            self.layout = Layout::of(bytes);
        }
        let is_in = number.is_some_and(|it| self.bitmap.as_ref().is_some_and(|b| b.contains(it)));
        Ok(Answer::Integer(is_in.into()))
    }
}
