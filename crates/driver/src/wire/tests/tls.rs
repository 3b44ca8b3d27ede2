//! TLS against a server in a thread, with certificates made here.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{Server, exchange, pattern};
use crate::plan::error::Error;
use crate::plan::{Tls, TlsMode};
use crate::testing::Folder;
use crate::wire::Line;

/// An authority, and a PEM file of it.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: Folder,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let folder = Folder::new();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), folder }
    }

    /// How to connect under a mode, trusting this authority alone.
    pub fn tls(&self, mode: TlsMode) -> Tls {
        Tls { mode, ca: Some(self.folder.path().join("ca.pem")) }
    }

    /// A server with a certificate for a name, which ends in a year.
    pub fn server(&self, name: &str, last_year: i32) -> ServerConfig {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(last_year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut provider = rustls::crypto::ring::default_provider();
        // The last group is none that a client begins with: the handshake takes a further turn.
        provider.kx_groups.drain(..provider.kx_groups.len() - 1);
        ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }
}

/// Says `S` in plain text, as PostgreSQL does, then echoes under TLS.
fn echo(config: &Arc<ServerConfig>, mut peer: UnixStream) {
    peer.read_exact(&mut [0]).unwrap();
    peer.write_all(b"S").unwrap();
    let connection = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut peer = StreamOwned::new(connection, peer);
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = peer.read(&mut bytes) {
        if peer.write_all(&bytes[..read]).and_then(|()| peer.flush()).is_err() {
            return;
        }
    }
}

/// Sends bytes over TLS to a server and back.
pub fn through(
    server: ServerConfig,
    tls: &Tls,
    host: &str,
    bytes: &[u8],
) -> Result<Vec<u8>, Error> {
    let server = Arc::new(server);
    let server = Server::start(1, move |peer| echo(&server, peer));
    let mut line = Line::connect(&server.login).unwrap();
    line.out().push(8);
    assert_eq!(exchange(&mut line, 0, 1).unwrap(), b"S");
    let secured = line.secure(tls, host);
    let answer = secured.and_then(|()| {
        line.out().extend_from_slice(bytes);
        exchange(&mut line, 4, bytes.len())
    });
    drop(line);
    server.end();
    answer
}

pub fn what_goes_through_tls_comes_back() {
    let authority = Authority::new();
    let server = || authority.server("db.example", 2500);
    for mode in [TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let sent = pattern(300_000);
        let came = through(server(), &authority.tls(mode), "db.example", &sent).unwrap();
        assert!(came == sent, "{mode:?}");
    }
}

#[test]
fn what_breaks_tls_amid_a_session_loses_the_connection() {
    let authority = Authority::new();
    let config = Arc::new(authority.server("db.example", 2500));
    let server = Server::start(1, move |mut peer| {
        peer.read_exact(&mut [0]).unwrap();
        peer.write_all(b"S").unwrap();
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut secured = StreamOwned::new(connection, peer.try_clone().unwrap());
        secured.read_exact(&mut [0]).unwrap();
        // A record of application data that no key of ours has sealed.
        peer.write_all(&[&[23, 3, 3, 0, 32][..], &[7; 32]].concat()).unwrap();
        let _ = peer.read_to_end(&mut Vec::new());
    });
    let mut line = Line::connect(&server.login).unwrap();
    line.out().push(8);
    assert_eq!(exchange(&mut line, 0, 1).unwrap(), b"S");
    line.secure(&authority.tls(TlsMode::VerifyFull), "db.example").unwrap();
    line.out().push(8);
    let error = exchange(&mut line, 4, 1).unwrap_err();
    assert_eq!(error.engine_code(), Some("lost"), "{error}");
    drop(line);
    server.end();
}

#[test]
fn bytes_that_came_before_tls_began_are_refused() {
    let server = Server::start(1, |mut peer| peer.write_all(b"SELECT").unwrap());
    let mut line = Line::connect(&server.login).unwrap();
    line.wait().unwrap();
    line.consume(1);
    let error = line.secure(&Tls { mode: TlsMode::Require, ca: None }, "h").unwrap_err();
    assert_eq!(error.to_string(), "the server spoke before TLS began");
    server.end();
}

#[test]
fn a_server_with_old_tls_is_distinguished_from_one_without_tls() {
    // A fatal alert protocol_version, as a server answers that knows TLS 1.1 only; and plain text.
    let answers: [(&[u8], &str); 2] = [
        (&[21, 3, 1, 0, 2, 2, 70], "the server offers only outdated TLS (1.2 or 1.3 is needed)"),
        (b"-ERR what is this?\r\n", "the server's TLS cannot be parsed"),
    ];
    for (answer, expected) in answers {
        let server = Server::start(1, move |mut peer| {
            peer.read_exact(&mut [0; 5]).unwrap();
            peer.write_all(answer).unwrap();
            let _ = peer.read_to_end(&mut Vec::new());
        });
        let mut line = Line::connect(&server.login).unwrap();
        let error = line.secure(&Tls { mode: TlsMode::Require, ca: None }, "h").unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        drop(line);
        server.end();
    }
}

// Certificates that are refused, and what is said of them.

fn refusal(server: rustls::ServerConfig, tls: &Tls) -> (String, String) {
    let failure = through(server, tls, "db.example", b"x").unwrap_err().failure(None);
    assert_eq!(failure.blame, "user");
    (failure.message, failure.hint)
}

#[test]
fn an_untrusted_authority_is_refused_unless_any_certificate_will_do() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let server = || theirs.server("db.example", 2500);
    for mode in [TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let (message, hint) = refusal(server(), &ours.tls(mode));
        assert!(message.contains("is not from a trusted authority"), "{message}");
        assert!(hint.contains("PEM file of its authority"), "{hint}");
    }
    let any = ours.tls(TlsMode::Require);
    assert_eq!(through(server(), &any, "db.example", b"hello").unwrap(), b"hello");
}

#[test]
fn authorities_that_changed_are_believed_once_the_former_are_forgotten() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let server = || theirs.server("db.example", 2500);
    let tls = ours.tls(TlsMode::VerifyFull);
    refusal(server(), &tls);
    std::fs::copy(theirs.folder.path().join("ca.pem"), tls.ca.as_ref().unwrap()).unwrap();
    refusal(server(), &tls);
    crate::wire::forget_authorities();
    assert_eq!(through(server(), &tls, "db.example", b"hello").unwrap(), b"hello");
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
