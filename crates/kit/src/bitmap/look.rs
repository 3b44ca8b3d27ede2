//! What a bitmap holds: its size, its ends, whether a number is in it.

use std::marker::PhantomData;

use roaring::RoaringBitmap;

use super::layout::Layout;
use super::{member, read};
use crate::bounds::copied;
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
/// A bitmap that is the same for many rows is read and checked once, and then compared whole. A
/// long one that the server hands in where the last one lay is taken to be the row's that it was:
/// there only the part is compared by which the number is in it.
#[derive(Default)]
pub struct Contains {
    bytes: Vec<u8>,
    address: usize,
    bitmap: Option<RoaringBitmap>,
    layout: Option<Layout>,
}

/// A bitmap up to this long is compared whole wherever it lies: that takes no longer than a call.
const WHOLE_BYTES_MAX: usize = 16 << 10;

impl Contains {
    /// Whether the bitmap that was read tells of these bytes, too.
    fn knows(&self, bytes: &[u8], number: Option<u32>) -> bool {
        let is_there = bytes.as_ptr().addr() == self.address && bytes.len() > WHOLE_BYTES_MAX;
        match (&self.layout, number) {
            _ if self.bitmap.is_none() => false,
            (Some(layout), Some(number)) if is_there => layout.agree(&self.bytes, bytes, number),
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
            self.bitmap = None;
            self.bytes = copied(bytes)?;
            self.layout = Layout::of(bytes);
            self.bitmap = Some(read(bytes)?);
        }
        self.address = bytes.as_ptr().addr();
        let is_in = number.is_some_and(|it| self.bitmap.as_ref().is_some_and(|b| b.contains(it)));
        Ok(Answer::Integer(is_in.into()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::function::Value;

    /// A bitmap of three containers of bits, and the same with damage in the last.
    fn whole_and_damaged() -> (Vec<u8>, Vec<u8>) {
        let bitmap: RoaringBitmap = (0..3_u32 << 16).filter(|it| it % 3 != 0).collect();
        let mut whole = Vec::new();
        bitmap.serialize_into(&mut whole).unwrap();
        let mut damaged = whole.clone();
        // its head counts other numbers than it has
        *damaged.last_mut().unwrap() = 0;
        (whole, damaged)
    }

    fn asked(function: &mut Contains, bytes: &[u8], number: i64) -> Result<bool, Fault> {
        let row = [Value::Bytes(bytes), Value::Integer(number)];
        function.answer(Arguments(&row)).map(|it| it == Answer::Integer(1))
    }

    #[test]
    fn damage_behind_the_first_row_is_an_error_as_in_the_first() {
        let (whole, damaged) = whole_and_damaged();
        let (mut function, _) = Contains::prepare(Arguments(&[])).unwrap();
        assert!(asked(&mut function, &damaged, 1).is_err());
        assert_eq!(asked(&mut function, &whole, 1), Ok(true));
        assert_eq!(asked(&mut function, &whole, 3), Ok(false));
        assert!(asked(&mut function, &damaged, 1).is_err());
        assert_eq!(asked(&mut function, &whole, 1), Ok(true));
    }

    #[test]
    fn a_bitmap_at_the_address_of_the_last_one_answers_for_itself() {
        let (mut bytes, _) = whole_and_damaged();
        let (mut function, _) = Contains::prepare(Arguments(&[])).unwrap();
        assert_eq!(asked(&mut function, &bytes, 1), Ok(true));
        let other: RoaringBitmap = (0..3_u32 << 16).filter(|it| it % 3 != 1).collect();
        let (mut others, length) = (Vec::new(), bytes.len());
        other.serialize_into(&mut others).unwrap();
        bytes[..length].copy_from_slice(&others[..length]);
        assert_eq!(asked(&mut function, &bytes, 1), Ok(false));
        assert_eq!(asked(&mut function, &bytes, 3), Ok(true));
    }
}
