//! A statement of a script's: its text in pieces, between which values go.

use super::value::Variables;

/// A statement of a script's.
pub struct ScriptStatement {
    /// What stands between its variables, and before and behind them.
    pub pieces: Vec<Vec<u8>>,
    pub variables: Vec<usize>,
    /// What is sent with parameters, or none where the variables are spelled out in the text.
    pub parametric: Option<Parametric>,
}

pub struct Parametric {
    /// Lua's function that prepares it.
    pub prepare: u64,
    /// Its number among the user's statements, once it is prepared.
    pub made: Option<usize>,
}

impl ScriptStatement {
    /// Appends its text, each variable spelled out.
    #[inline]
    pub fn put(&self, variables: &Variables, text: &mut Vec<u8>) {
        for (at, piece) in self.pieces.iter().enumerate() {
            if let Some(place) = at.checked_sub(1).and_then(|it| self.variables.get(it)) {
                variables.put(*place, text);
            }
            text.extend_from_slice(piece);
        }
    }

    /// Its text with a mark for each variable.
    pub fn marked(&self) -> Vec<u8> {
        self.pieces.join(&b"?"[..])
    }
}
