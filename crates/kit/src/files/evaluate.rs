//! Which rows of a segment a condition is true of.
//!
//! A condition is true, false or unknown of a row, as in SQL: two bitmaps say of which rows it is
//! true and of which false.

use roaring::RoaringBitmap;

use super::columns::{Column, real_key};
use super::query::{Condition, Literal, Range};
use super::segment::{NULL, Segment, Values, each_bitmap, read_bitmap};
use crate::bounds::Steps;
use crate::function::Fault;

/// Both ends of a range are looked for among the values of a million rows.
const STEPS_OF_RANGE: usize = 40;

/// The rows that are there and of which the condition is true.
pub fn rows_of(
    condition: &Condition,
    segment: &Segment,
    columns: &[Column],
    steps: &mut Steps,
) -> Result<RoaringBitmap, Fault> {
    Ok(evaluate(condition, segment, columns, steps)?.is_true - &segment.deleted)
}

struct Outcome {
    is_true: RoaringBitmap,
    is_false: RoaringBitmap,
}

impl Outcome {
    fn turned(self) -> Self {
        Self { is_true: self.is_false, is_false: self.is_true }
    }
}

fn evaluate(
    condition: &Condition,
    segment: &Segment,
    columns: &[Column],
    steps: &mut Steps,
) -> Result<Outcome, Fault> {
    let all = || {
        let mut all = RoaringBitmap::new();
        all.insert_range(0..segment.rows);
        all
    };
    match condition {
        Condition::Always => Ok(Outcome { is_true: all(), is_false: RoaringBitmap::new() }),
        Condition::Not(inner) => Ok(evaluate(inner, segment, columns, steps)?.turned()),
        Condition::All(several) => fold(several, segment, columns, steps, |left, right| {
            left.is_true &= right.is_true;
            left.is_false |= right.is_false;
        }),
        Condition::Any(several) => fold(several, segment, columns, steps, |left, right| {
            left.is_true |= right.is_true;
            left.is_false &= right.is_false;
        }),
        Condition::Odd(several) => fold(several, segment, columns, steps, |left, right| {
            let one = (&left.is_true & &right.is_false) | (&left.is_false & &right.is_true);
            left.is_false = (&left.is_true & &right.is_true) | (&left.is_false & &right.is_false);
            left.is_true = one;
        }),
        Condition::IsNull(column) => {
            steps.take(u64::from(segment.rows))?;
            let (_, nulls) = matching(segment, *column, 0, &[])?;
            let is_false = all() - &nulls;
            Ok(Outcome { is_true: nulls, is_false })
        }
        Condition::In(column, ranges) => {
            steps.take(u64::from(segment.rows) + (STEPS_OF_RANGE * ranges.len()) as u64)?;
            let known = &columns[*column];
            let values = segment.values(*column, known.width())?;
            let places = places_of(ranges, &values, known);
            let (is_true, nulls) = matching(segment, *column, values.count(), &places)?;
            let is_false = all() - nulls - &is_true;
            Ok(Outcome { is_true, is_false })
        }
    }
}

fn fold(
    several: &[Condition],
    segment: &Segment,
    columns: &[Column],
    steps: &mut Steps,
    join: impl Fn(&mut Outcome, Outcome),
) -> Result<Outcome, Fault> {
    let (first, rest) = several.split_first().ok_or("a condition of nothing")?;
    let mut outcome = evaluate(first, segment, columns, steps)?;
    for each in rest {
        join(&mut outcome, evaluate(each, segment, columns, steps)?);
    }
    Ok(outcome)
}

/// The places of the values that lie in these ranges: stretches in order that do not meet.
fn places_of(ranges: &[Range], values: &Values, column: &Column) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = ranges
        .iter()
        .map(|range| {
            let from = range.from.as_ref().map_or(0, |(literal, inside)| {
                values.count_before(|key| is_before(key, literal, column, !inside))
            });
            let to = range.to.as_ref().map_or(values.count(), |(literal, inside)| {
                values.count_before(|key| is_before(key, literal, column, *inside))
            });
            (from, to)
        })
        .filter(|(from, to)| from < to)
        .collect();
    found.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (from, to) in found {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// Whether a value is smaller than the literal, or with `or_equal` no larger.
fn is_before(key: &[u8], literal: &Literal, column: &Column, or_equal: bool) -> bool {
    match literal {
        Literal::Whole(number, is_exact) => {
            let value = column.whole(key);
            value < *number || value == *number && (or_equal || !is_exact)
        }
        Literal::Real(number) => {
            let wanted = real_key(*number);
            key < &wanted[..] || or_equal && key == wanted
        }
        Literal::Text(text) => key < &text[..] || or_equal && key == &text[..],
    }
}

/// The rows whose values have these places, and those that have none.
fn matching(
    segment: &Segment,
    column: usize,
    count: usize,
    places: &[(usize, usize)],
) -> Result<(RoaringBitmap, RoaringBitmap), Fault> {
    let (mut found, mut nulls) = (RoaringBitmap::new(), RoaringBitmap::new());
    let bitmaps = segment.bitmaps(column)?;
    if !bitmaps.is_empty() {
        let mut each = each_bitmap(&bitmaps).enumerate().peekable();
        while let Some((place, bytes)) = each.next() {
            if each.peek().is_none() {
                nulls = read_bitmap(bytes)?;
            } else if place < count && is_in(place, places) {
                found |= read_bitmap(bytes)?;
            }
        }
        return Ok((found, nulls));
    }
    let single = match places {
        [one] => Some(*one),
        _ => None,
    };
    let wanted = |place: u32| match single {
        Some((from, to)) => (from..to).contains(&(place as usize)),
        None => is_in(place as usize, places),
    };
    for (row, place) in (0..).zip(segment.places(column)?.iter()) {
        if place == NULL {
            nulls.insert(row);
        } else if wanted(place) {
            found.insert(row);
        }
    }
    Ok((found, nulls))
}

fn is_in(place: usize, places: &[(usize, usize)]) -> bool {
    let next = places.partition_point(|(from, _)| *from <= place);
    next > 0 && place < places[next - 1].1
}
