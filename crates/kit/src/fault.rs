//! Why a call fails.

/// Why a call fails: one clause, shown to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub String);

impl<T: Into<String>> From<T> for Fault {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}
