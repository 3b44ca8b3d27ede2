//! Public keys that a server sends.

use super::super::key;

#[test]
fn a_public_key_is_looked_at_before_it_is_used() {
    let pem = include_str!("key.pem");
    assert_eq!(key::check(pem.as_bytes(), 20), Some(()));
    assert_eq!(key::check(pem.as_bytes(), 215), None, "a message that does not fit");
    for cut in 0..pem.len() - 1 {
        assert_eq!(key::check(&pem.as_bytes()[..cut], 20), None);
    }
    assert_eq!(key::check(b"", 20), None);
}
