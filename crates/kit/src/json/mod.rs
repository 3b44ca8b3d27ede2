//! JSON as lines: documents flattened, values found by their key, and sums over them.
//!
//! The reader is ours because the kit's speed hangs on it, numbers must stay as they are written,
//! and a document may not make it recurse; its tests hold it against `serde_json`.

mod aggregates;
mod decimal;
mod extract;
mod flatten;
mod lines;
mod reader;

pub use aggregates::{Average, Count, Maximum, Minimum, Sum};
pub use extract::ExtractAll;
pub use flatten::Flatten;
