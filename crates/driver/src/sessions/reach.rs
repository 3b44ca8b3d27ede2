//! How far a server is known to whom the password is to be proved: what of it may leave.
//!
//! A password itself, and what it could be guessed from in an afternoon, goes to a server that has
//! proved who it is, or to one on this machine. Whoever stands in between could be any other.

use std::net::{SocketAddrV4, SocketAddrV6};

use rustix::net::AddressFamily;

use crate::plan::{Login, TlsMode};
use crate::wire::Line;

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// By a Unix socket, or an address of this machine's own: nobody stands in between.
    Near,
    /// By TLS, and its certificate is for the host, or comes from an authority that was named.
    Verified,
    /// By TLS, and whoever answers is believed.
    Encrypted,
    /// In plain text.
    Open,
}

impl Reach {
    /// How a login's server was reached by a line. Any host may have a certificate of an authority
    /// that the system trusts, so that alone proves nothing.
    pub fn of(login: &Login, line: &Line) -> Self {
        match login.tls.mode {
            _ if is_near(line) => Self::Near,
            TlsMode::VerifyFull => Self::Verified,
            TlsMode::VerifyCa if login.tls.ca.is_some() => Self::Verified,
            TlsMode::VerifyCa | TlsMode::Require => Self::Encrypted,
            TlsMode::Disable => Self::Open,
        }
    }

    /// Is it known who answers?
    pub fn knows_server(self) -> bool {
        matches!(self, Self::Near | Self::Verified)
    }
}

/// By the address that answers, and not by the name that it was asked for under.
fn is_near(line: &Line) -> bool {
    let Some(peer) = line.peer.clone() else { return false };
    match peer.address_family() {
        AddressFamily::UNIX => true,
        AddressFamily::INET => SocketAddrV4::try_from(peer).is_ok_and(|it| it.ip().is_loopback()),
        AddressFamily::INET6 => {
            SocketAddrV6::try_from(peer).is_ok_and(|it| it.ip().to_canonical().is_loopback())
        }
        _ => false,
    }
}
