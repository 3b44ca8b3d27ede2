//! PRAGMAs of the plan.

use super::super::open;
use super::{asked, opened, plan_of};
use crate::testing::Folder;

#[test]
fn pragmas_are_set_on_opening_and_read_back() {
    let folder = Folder::new();
    let pragmas = [("journal_mode", "wal"), ("cache_size", "-4000"), ("busy_timeout", "5")];
    let mut session = opened(&folder, &pragmas);
    assert_eq!(asked(session.as_mut(), "PRAGMA journal_mode"), [Some("wal".to_owned())]);
    assert_eq!(asked(session.as_mut(), "PRAGMA cache_size"), [Some("-4000".to_owned())]);
    let error = open(&plan_of(&folder, &[("a b", "1")])).err().unwrap();
    assert_eq!(error.to_string(), "not the name of a PRAGMA: a b");
}
