//! Certificates that are refused, and what is said of them.

use super::tls::{Authority, through};
use crate::plan::login::{Tls, TlsMode};
use crate::testing::Folder;

fn refusal(server: rustls::ServerConfig, tls: &Tls) -> (String, String) {
    let failure = through(server, tls, "db.example", b"x").unwrap_err().failure(None);
    assert_eq!(failure.blame, "user");
    (failure.message, failure.hint)
}

#[test]
fn an_authority_that_is_not_trusted_is_refused_unless_anybody_is_believed() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let server = || theirs.server("db.example", 2500);
    for mode in [TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let (message, hint) = refusal(server(), &ours.tls(mode));
        assert!(message.contains("comes from no authority that is trusted"), "{message}");
        assert!(hint.contains("PEM file of its authority"), "{hint}");
    }
    let any = ours.tls(TlsMode::Require);
    assert_eq!(through(server(), &any, "db.example", b"hello").unwrap(), b"hello");
}

#[test]
fn another_hosts_certificate_is_refused_where_the_name_counts() {
    let authority = Authority::new();
    let server = || authority.server("other.example", 2500);
    let (message, hint) = refusal(server(), &authority.tls(TlsMode::VerifyFull));
    assert!(message.starts_with("the server's certificate is not for db.example"), "{message}");
    assert!(hint.contains("verify-ca"), "{hint}");
    let any_name = authority.tls(TlsMode::VerifyCa);
    assert_eq!(through(server(), &any_name, "db.example", b"hello").unwrap(), b"hello");
}

#[test]
fn an_expired_certificate_is_refused() {
    let authority = Authority::new();
    let expired = || authority.server("db.example", 2001);
    for mode in [TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let (message, hint) = refusal(expired(), &authority.tls(mode));
        assert!(message.starts_with("the server's certificate has expired"), "{message}");
        assert!(hint.starts_with("renew it"), "{hint}");
    }
}

#[test]
fn authorities_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    for text in [None, Some("no certificate at all")] {
        let path = folder.path().join("ca.pem");
        text.iter().for_each(|text| std::fs::write(&path, text).unwrap());
        let tls = Tls { mode: TlsMode::VerifyFull, ca: Some(path.clone()) };
        let server = Authority::new().server("db.example", 2500);
        let (message, hint) = refusal(server, &tls);
        assert!(message.contains(&path.display().to_string()), "{message}");
        assert!(hint.contains("PEM file"), "{hint}");
    }
}
