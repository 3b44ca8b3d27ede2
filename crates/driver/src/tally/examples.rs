//! One execution of each text that users sent, its values in it: what an engine can explain.

use std::collections::BTreeMap;

use super::statements::MOST;
use crate::plan::statement::StatementExample;

/// An execution of a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Example {
    /// Who sent it, by number within its stream.
    pub user: u32,
    /// What was sent, its values as literals.
    pub sql: String,
    /// What was prepared; empty where nothing was.
    pub prepared: String,
}

/// By the text's digest.
pub type Examples = BTreeMap<u64, Example>;

/// Adds examples to a sum. Of a text the lowest user's is kept, so that it does not depend on who
/// came first.
pub fn add(sum: &mut Examples, more: Examples) {
    for (digest, example) in more {
        let is_room = sum.len() < MOST;
        match sum.get_mut(&digest) {
            Some(known) if example < *known => *known = example,
            None if is_room => drop(sum.insert(digest, example)),
            _ => {}
        }
    }
}

/// As they are told.
pub fn list_examples(sum: Examples) -> Vec<StatementExample> {
    let example = |(digest, it): (u64, Example)| StatementExample {
        digest: format!("{digest:016x}"),
        sql: it.sql,
        prepared: it.prepared,
    };
    sum.into_iter().map(example).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_text_the_lowest_users_example_is_kept() {
        let of =
            |user: u32, sql: &str| Example { user, sql: sql.to_owned(), prepared: String::new() };
        let mut sum = Examples::new();
        add(&mut sum, [(7, of(3, "SELECT 3"))].into());
        add(&mut sum, [(7, of(0, "SELECT 0")), (8, of(1, "SELECT a"))].into());
        add(&mut sum, [(7, of(2, "SELECT 2"))].into());
        let told = list_examples(sum);
        assert_eq!(
            told.iter().map(|it| it.sql.as_str()).collect::<Vec<_>>(),
            ["SELECT 0", "SELECT a"]
        );
    }
}
