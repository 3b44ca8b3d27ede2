//! The server's greeting, and what both sides can do.

use mysql_common::constants::CapabilityFlags as Can;

use super::failure;
use super::packet::garbage;
use super::reader::Reader;
use crate::plan::error::Error;
use crate::plan::login::{Login, TlsMode};

const UTF8: u8 = 33;
const UTF8MB4: u8 = 45;

/// What the server says first.
pub struct Greeting {
    can: Can,
    /// The character set in which we shall speak.
    pub charset: u8,
    /// By which method it would have us prove who we are, and its challenge.
    pub plugin: Vec<u8>,
    pub nonce: Vec<u8>,
}

impl Greeting {
    /// The first packet; servers that refuse at once send an error.
    pub fn of(packet: &[u8], login: &Login) -> Result<Self, Error> {
        match packet[0] {
            0xff => Err(failure::of_login(packet, login)),
            10 => Self::parse(packet).ok_or_else(|| garbage("a torn greeting")),
            _ => Err(garbage("it greets in another way")),
        }
    }

    fn parse(packet: &[u8]) -> Option<Self> {
        let mut reader = Reader(&packet[1..]);
        let charset = charset(reader.until_zero());
        reader.u32()?;
        let mut nonce = reader.bytes(8)?.to_vec();
        reader.u8()?;
        let low = u32::from(reader.u16()?);
        // The server's character set and status.
        reader.bytes(3)?;
        let can = Can::from_bits_truncate(low | u32::from(reader.u16()?) << 16);
        let length = usize::from(reader.u8()?);
        reader.bytes(10)?;
        let rest = reader.bytes(length.saturating_sub(8).max(13))?;
        nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
        Some(Self { can, charset, plugin: reader.until_zero().to_vec(), nonce })
    }

    /// What both sides can do, and what must be.
    pub fn capabilities(&self, login: &Login) -> Result<Can, Error> {
        let mut wanted = Can::CLIENT_LONG_PASSWORD
            | Can::CLIENT_LONG_FLAG
            | Can::CLIENT_LOCAL_FILES
            | Can::CLIENT_TRANSACTIONS
            | Can::CLIENT_MULTI_STATEMENTS
            | Can::CLIENT_MULTI_RESULTS
            | Can::CLIENT_PS_MULTI_RESULTS
            | Can::CLIENT_PLUGIN_AUTH
            | Can::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
            | Can::CLIENT_DEPRECATE_EOF;
        if login.tls.mode != TlsMode::Disable {
            wanted |= Can::CLIENT_SSL;
        }
        if !login.database.is_empty() {
            wanted |= Can::CLIENT_CONNECT_WITH_DB;
        }
        let must = Can::CLIENT_PROTOCOL_41 | Can::CLIENT_SECURE_CONNECTION;
        if !self.can.contains(must) {
            return Err(Error::user(format!("{} is too old", login.host))
                .hint("servers from MySQL 5.5 and MariaDB 10.1 on are spoken to"));
        }
        if wanted.contains(Can::CLIENT_SSL) && !self.can.contains(Can::CLIENT_SSL) {
            return Err(Error::user(format!("{} offers no TLS", login.host))
                .hint("set up TLS there, or ask for a connection in plain text"));
        }
        Ok(wanted & self.can | must)
    }
}

/// MySQL knows `utf8mb4` since 5.5.3; MariaDB before 11 begins its version with `5.5.5-`.
fn charset(version: &[u8]) -> u8 {
    match version {
        [b'3' | b'4', b'.', ..] | [b'5', b'.', b'0'..=b'4', ..] => UTF8,
        _ => UTF8MB4,
    }
}
