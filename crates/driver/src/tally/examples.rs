//! Executions of each text that users sent, their values in them: one that an engine can explain,
//! and as many as are asked again where answers are compared.

use std::collections::{BTreeMap, BTreeSet};

use super::statements::MOST;
use crate::plan::statement::{Execution, StatementExample};

/// Executions of a text that are kept: of the first user so many, of each other one fewer.
pub const KEPT: usize = 64;
pub const KEPT_OF_OTHERS: usize = 8;

/// An execution of a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Example {
    /// Who sent it, by number within its stream.
    pub user: u32,
    /// What was sent, its values as literals.
    pub sql: String,
    /// What was prepared; empty where nothing was.
    pub prepared: String,
    /// This and further ones.
    pub executions: BTreeSet<Execution>,
}

/// By the text's digest.
pub type Examples = BTreeMap<u64, Example>;

/// Adds examples to a sum. Of a text the lowest user's is kept, and the first executions of the
/// lowest users, so that it does not depend on who came first.
pub fn add(sum: &mut Examples, more: Examples) {
    for (digest, example) in more {
        let is_room = sum.len() < MOST;
        match sum.get_mut(&digest) {
            Some(known) => join(known, example),
            None if is_room => drop(sum.insert(digest, example)),
            _ => {}
        }
    }
}

fn join(known: &mut Example, mut more: Example) {
    if (more.user, &more.sql) < (known.user, &known.sql) {
        std::mem::swap(known, &mut more);
    }
    known.executions.append(&mut more.executions);
    while known.executions.len() > KEPT {
        known.executions.pop_last();
    }
}

/// As they are told.
pub fn list_examples(sum: Examples) -> Vec<StatementExample> {
    let example = |(digest, it): (u64, Example)| StatementExample {
        digest: format!("{digest:016x}"),
        sql: it.sql,
        prepared: it.prepared,
        executions: it.executions.into_iter().collect(),
    };
    sum.into_iter().map(example).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_text_the_lowest_users_example_is_kept() {
        let of = |user: u32, sql: &str| {
            let executions = [Execution { user, place: 0, sql: sql.to_owned() }].into();
            Example { user, sql: sql.to_owned(), prepared: String::new(), executions }
        };
        let mut sum = Examples::new();
        add(&mut sum, [(7, of(3, "SELECT 3"))].into());
        add(&mut sum, [(7, of(0, "SELECT 0")), (8, of(1, "SELECT a"))].into());
        add(&mut sum, [(7, of(2, "SELECT 2"))].into());
        let told = list_examples(sum);
        assert_eq!(
            told.iter().map(|it| it.sql.as_str()).collect::<Vec<_>>(),
            ["SELECT 0", "SELECT a"]
        );
        let users = told[0].executions.iter().map(|it| it.user).collect::<Vec<_>>();
        assert_eq!(users, [0, 2, 3]);
    }
}
