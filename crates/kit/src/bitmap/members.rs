//! The members of a bitmap as text: `rb_to_list`, `rb_to_json`.

use std::marker::PhantomData;

use super::read;
use crate::bounds::Output;
use crate::function::{Answer, Arguments, Fault, Function, Kind, Shape, Takes};

/// How members are written.
pub trait Form: Send + 'static {
    /// The function's name and arguments.
    const USAGE: &'static str;
    /// What stands before and behind them.
    const ENDS: (&'static str, &'static str);
}

/// The members of a bitmap as text, from the smallest.
pub struct Members<F> {
    form: PhantomData<F>,
    out: Output,
}

impl<F: Form> Function for Members<F> {
    const TAKES: Takes = Takes { kinds: &[Kind::Bytes], least: 1, usage: F::USAGE };
    const DETERMINISTIC: bool = true;

    fn prepare(_: Arguments) -> Result<(Self, Shape), Fault> {
        Ok((Self { form: PhantomData, out: Output::default() }, Shape::Digits))
    }

    fn answer(&mut self, row: Arguments) -> Result<Answer<'_>, Fault> {
        let Some(bytes) = row.bytes(0) else { return Ok(Answer::Null) };
        let bitmap = read(bytes)?;
        self.out.clear();
        self.out.extend(F::ENDS.0.as_bytes())?;
        write_members(bitmap.iter(), &mut self.out)?;
        self.out.extend(F::ENDS.1.as_bytes())?;
        Ok(Answer::Bytes(self.out.bytes()))
    }
}

/// Members are written in blocks, since a vector looks at its room for every piece.
const BLOCK_BYTES: usize = 4096;
/// A member and its comma have 11 at most; a copy of so many is one instruction.
const MEMBER_BYTES: usize = 16;

/// The members with commas between them. They come in order, so most have all but their last two
/// figures from the one before.
fn write_members(members: impl Iterator<Item = u32>, out: &mut Output) -> Result<(), Fault> {
    let begin = out.bytes().len();
    let (mut block, mut end) = ([0; BLOCK_BYTES], 0);
    let (mut hundreds, mut head, mut length) = (0, [0; MEMBER_BYTES], 0);
    let mut digits = itoa::Buffer::new();
    for member in members {
        let (above, rest) = (member / 100, (member % 100) as u8);
        if above != hundreds {
            let text = digits.format(above).as_bytes();
            (hundreds, length) = (above, text.len());
            head[..length].copy_from_slice(text);
        }
        block[end..end + MEMBER_BYTES].copy_from_slice(&head);
        end += length;
        if above > 0 || rest > 9 {
            block[end] = b'0' + rest / 10;
            end += 1;
        }
        block[end] = b'0' + rest % 10;
        block[end + 1] = b',';
        end += 2;
        if end > BLOCK_BYTES - MEMBER_BYTES {
            out.extend(&block[..end])?;
            end = 0;
        }
    }
    out.extend(&block[..end])?;
    // without the last comma
    out.truncate(out.bytes().len().saturating_sub(1).max(begin));
    Ok(())
}

/// Of `ToList`.
pub struct List;
/// Of `ToJson`.
pub struct Json;

impl Form for List {
    const USAGE: &'static str = "rb_to_list(bitmap)";
    const ENDS: (&'static str, &'static str) = ("", "");
}

impl Form for Json {
    const USAGE: &'static str = "rb_to_json(bitmap)";
    const ENDS: (&'static str, &'static str) = ("[", "]");
}

/// `1,2,3`: what stands in the brackets of IN.
pub type ToList = Members<List>;
/// `[1,2,3]`: for JSON_TABLE.
pub type ToJson = Members<Json>;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use roaring::RoaringBitmap;

    use super::{Output, write_members};

    #[test]
    fn members_of_any_length_are_written_as_they_are() {
        let around = |of: u32| of.saturating_sub(120)..of.saturating_add(120);
        let every: RoaringBitmap = [0, 100, 1_000, 9_999, 100_000, 70_000_000, u32::MAX - 1]
            .into_iter()
            .flat_map(around)
            .chain((0..u32::MAX).step_by(104_729))
            .chain([u32::MAX])
            .collect();
        let mut out = Output::default();
        out.push(b'[').unwrap();
        write_members(every.iter(), &mut out).unwrap();
        let wanted: Vec<String> = every.iter().map(|it| it.to_string()).collect();
        assert_eq!(
            String::from_utf8(out.bytes().to_vec()).unwrap(),
            format!("[{}", wanted.join(","))
        );
        out.clear();
        write_members([].into_iter(), &mut out).unwrap();
        assert!(out.bytes().is_empty());
    }
}
