//! TLS on a line: plain text on our side, sealed bytes on the wire.

use std::io::{ErrorKind, Read, Write};

use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription as Alert, CertificateError as Bad, ClientConnection, Error as TlsError,
    PeerIncompatible,
};

use super::{end_point, trust};
use crate::plan::Tls;
use crate::plan::error::Error;

/// Plain text handed over at once.
const CHUNK: usize = 16 * 1024;

/// The two ends of an encrypted connection, without its socket.
pub struct TlsState {
    connection: ClientConnection,
    host: String,
    /// Sealed bytes that came.
    pub sealed: Vec<u8>,
}

impl TlsState {
    /// Before the handshake. A Unix socket has no host name, so its server is `localhost`.
    pub fn new(tls: &Tls, host: &str) -> Result<Self, Error> {
        let host = if host.starts_with('/') { "localhost" } else { host };
        let name = ServerName::try_from(host.to_owned()).map_err(|cause| {
            Error::user(format!("not a valid name for TLS: {host}")).because(cause)
        })?;
        let mut connection = ClientConnection::new(trust::configuration(tls)?, name)
            .map_err(|cause| Error::driver("TLS cannot be set up").because(cause))?;
        connection.set_buffer_limit(None);
        Ok(Self { connection, host: host.to_owned(), sealed: Vec::new() })
    }

    /// The server's certificate as RFC 5929 hashes it; none where it names no hash.
    pub fn server_end_point(&self) -> Option<Vec<u8>> {
        end_point::hash(self.connection.peer_certificates()?.first()?)
    }

    /// Is the handshake still under way?
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Has TLS itself something to say: an answer in the handshake, a new key?
    pub fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Seals plain text, and adds what TLS itself has to say.
    pub fn seal(&mut self, plain: &mut Vec<u8>, sealed: &mut Vec<u8>) {
        // Writing into memory does not fail, and the buffer has no limit.
        let _ = self.connection.writer().write_all(plain);
        plain.clear();
        while self.connection.wants_write() {
            if self.connection.write_tls(sealed).is_err() {
                return;
            }
        }
    }

    /// Opens what came; true if that was any plain text.
    pub fn open(&mut self, inbox: &mut Vec<u8>) -> Result<bool, Error> {
        let before = inbox.len();
        let mut sealed = &self.sealed[..];
        while !sealed.is_empty() {
            match self.connection.read_tls(&mut sealed) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let state = self.connection.process_new_packets();
            let state = state.map_err(|cause| refused(&cause, &self.host))?;
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                left -= read(&mut self.connection, inbox, left)?;
            }
        }
        self.sealed.clear();
        Ok(inbox.len() > before)
    }
}

fn read(
    connection: &mut ClientConnection,
    inbox: &mut Vec<u8>,
    bytes: usize,
) -> Result<usize, Error> {
    let end = inbox.len();
    inbox.resize(end + bytes.min(CHUNK), 0);
    let read = connection.reader().read(&mut inbox[end..]);
    inbox.truncate(end + *read.as_ref().unwrap_or(&0));
    match read {
        Ok(0) => Err(Error::driver("TLS delivered less than it announced")),
        Ok(read) => Ok(read),
        Err(cause) if cause.kind() == ErrorKind::WouldBlock => Ok(bytes),
        Err(cause) => Err(Error::engine("the encrypted connection is broken").because(cause)),
    }
}

/// What rustls says, in words of who can put it right.
fn refused(cause: &TlsError, host: &str) -> Error {
    match cause {
        TlsError::InvalidCertificate(bad) => certificate(bad, host),
        TlsError::PeerIncompatible(
            PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::ServerDoesNotSupportTls12Or13,
        )
        | TlsError::AlertReceived(Alert::ProtocolVersion | Alert::InsufficientSecurity) => {
            Error::user("the server offers only outdated TLS (1.2 or 1.3 is needed)")
                .because(cause)
                .hint("connect without TLS (disable)")
        }
        TlsError::AlertReceived(_) | TlsError::PeerIncompatible(_) => {
            Error::engine("the server refused our TLS").because(cause)
        }
        _ => Error::engine("the server's TLS cannot be parsed").because(cause),
    }
    .code("tls")
}

fn certificate(bad: &Bad, host: &str) -> Error {
    let (message, hint) = match bad {
        // An authority of the same name but another key: a server that made its own anew.
        Bad::UnknownIssuer | Bad::BadSignature => (
            "the server's certificate is not from a trusted authority".to_owned(),
            "name the PEM file of its authority, or ask for encryption only (require)",
        ),
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => (
            format!("the server's certificate is not for {host}"),
            "reach it by a name in its certificate, or ask for its authority only (verify-ca)",
        ),
        Bad::Expired | Bad::ExpiredContext { .. } => (
            "the server's certificate has expired".to_owned(),
            "renew it, or ask for encryption only (require)",
        ),
        Bad::Other(cause) if cause.to_string().contains("CaUsedAsEndEntity") => (
            "the server's certificate is a CA certificate".to_owned(),
            "sign one for the server with it, or ask for encryption only (require)",
        ),
        _ => (
            "the server's certificate is refused".to_owned(),
            "ask for encryption only (require) if that is enough",
        ),
    };
    Error::user(message).because(bad).hint(hint)
}
