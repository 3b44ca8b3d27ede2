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
