//! A statement of a script's: its text in pieces, between which values go.

use super::value::{Held, Value, Variables};
use crate::sessions::rows::Names;

/// A statement of a script's.
pub struct ScriptStatement {
    /// What stands between its variables, and before and behind them.
    pub pieces: Vec<Vec<u8>>,
    pub variables: Vec<usize>,
    /// What is sent with parameters, or none where the variables are spelled out in the text.
    pub parametric: Option<Parametric>,
    /// The columns of its last answer that was stored, and their variables' places.
    pub stored: (Names, Vec<usize>),
    /// Whole numbers for its variables change nothing of the text but literals.
    is_plain: bool,
    /// The account's number of such a text, by which of its numbers are below zero.
    known: Vec<(u64, u32)>,
}

pub struct Parametric {
    /// Lua's function that prepares it.
    pub prepare: u64,
    /// Its number among the user's statements, once it is prepared.
    pub made: Option<usize>,
}

impl ScriptStatement {
    pub fn new(pieces: Vec<Vec<u8>>, variables: Vec<usize>, prepare: Option<u64>) -> Self {
        let parametric = prepare.map(|prepare| Parametric { prepare, made: None });
        let stands_alone = |two: &[Vec<u8>]| {
            let before = two[0].last().is_some_and(|it| b" \t\r\n=(,+*<>".contains(it));
            before && two[1].first().is_none_or(|it| b" \t\r\n),;".contains(it))
        };
        let quotes = |it: &Vec<u8>| it.iter().any(|it| b"'\"`$#\\".contains(it));
        let comments = |it: &Vec<u8>| it.windows(2).any(|it| it == b"--" || it == b"/*");
        let is_plain = variables.len() <= 64
            && pieces.windows(2).all(stands_alone)
            && !pieces.iter().any(|it| quotes(it) || comments(it));
        Self {
            pieces,
            variables,
            parametric,
            is_plain,
            known: Vec::new(),
            stored: (Names::default(), Vec::new()),
        }
    }

    /// What the account's number of the text depends on; none: on all of the text.
    #[inline]
    fn shape(&self, variables: &Variables) -> Option<u64> {
        if !self.is_plain {
            return None;
        }
        let mut shape = 0;
        for (at, place) in self.variables.iter().enumerate() {
            let Held::Value(Value::Integer(number)) = variables.held[*place] else { return None };
            shape |= u64::from(number < 0) << at;
        }
        Some(shape)
    }

    /// The account's number of a text of its shape, counted once.
    #[inline]
    pub fn number(&mut self, variables: &Variables, count: impl FnOnce() -> u32) -> u32 {
        let shape = self.shape(variables);
        let known = shape.and_then(|it| self.known.iter().find(|(known, _)| *known == it));
        if let Some((_, number)) = known {
            return *number;
        }
        let number = count();
        self.known.extend(shape.map(|it| (it, number)));
        number
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::account::Account;
    use crate::sessions::sql::Quoting;

    /// A statement of a text in which each `:` stands for a variable.
    fn statement(text: &str) -> (ScriptStatement, Variables) {
        let pieces: Vec<_> = text.split(':').map(|it| it.as_bytes().to_vec()).collect();
        let mut variables = Variables::default();
        let places = (1..pieces.len()).map(|at| variables.place(&at.to_string())).collect();
        (ScriptStatement::new(pieces, places, None), variables)
    }

    #[test]
    fn what_is_counted_by_its_shape_is_what_is_counted_by_its_text() {
        let texts = [
            "UPDATE a SET b = b + : WHERE c = :;",
            "INSERT INTO h (a, b) VALUES (:, :, now())",
            "SELECT : FROM t WHERE a BETWEEN : AND : LIMIT :",
            "SELECT a-: FROM t:",
            "SELECT ':' FROM t -- :\nWHERE a = :",
            ": FROM t",
        ];
        let mut shaped = 0;
        for text in texts {
            let (mut statement, mut variables) = statement(text);
            let (mut account, mut sent) = (Account::default(), Vec::new());
            for value in [0, 7, -7, 12_345, i64::MIN, i64::MAX, -1, 8, -8, 0] {
                for at in 0..variables.held.len() {
                    let number = if at % 2 == 0 { value } else { value.wrapping_neg() };
                    variables.held[at] = Held::integer(number);
                }
                sent.clear();
                statement.put(&variables, &mut sent);
                let number = statement.number(&variables, || {
                    shaped -= 1;
                    account.number(&sent, Quoting::Postgres)
                });
                assert_eq!(number, account.number(&sent, Quoting::Postgres), "{text}");
                shaped += 1;
            }
        }
        assert!(shaped > 15, "hardly any was known by its shape: {shaped}");
    }
}
