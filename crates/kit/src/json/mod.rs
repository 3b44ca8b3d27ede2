//! JSON as lines: documents flattened, values found by their key, sums over them, and
//! documents found by what they hold.
//!
//! The reader is ours because the kit's speed hangs on it, numbers must stay as they are written,
//! and a document may not make it recurse; its tests hold it against `serde_json`.

mod aggregates;
mod atom;
mod decimal;
mod extract;
mod flatten;
mod holds;
mod lines;
mod reader;
mod tokens;

pub use aggregates::{Average, Count, Maximum, Minimum, Sum};
pub use extract::ExtractAll;
pub use flatten::Flatten;
pub use holds::Holds;
pub use tokens::Tokens;

/// What the page of bounds names.
#[cfg(test)]
pub fn bounds_of_json() -> Vec<usize> {
    let of_holds =
        [holds::DOCUMENT_VALUES_MAX, holds::PATTERN_VALUES_MAX, holds::PATTERN_DEPTH_MAX];
    let steps = usize::try_from(holds::STEPS_MAX).unwrap_or(0);
    [&of_holds[..], &[steps, tokens::TOKENS_MAX, reader::DEPTH_MAX]].concat()
}
