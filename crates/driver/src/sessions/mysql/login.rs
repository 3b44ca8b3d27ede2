//! The log-in: the server's greeting, TLS, who we are, the settings.

use mysql_common::constants::CapabilityFlags as Can;
use rustix::net::SocketAddrAny;

use super::auth::Auth;
use super::dialogue::Dialogue;
use super::failure;
use super::packet::{COM_QUERY, COM_QUIT, Reader, garbage, put_length};
use crate::plan::error::Error;
use crate::plan::{Login, TlsMode};
use crate::sessions::reach::Reach;
use crate::wire::Line;

/// The protocol's own limit; the server's is smaller.
const LARGEST_PACKET: u32 = 1 << 30;
/// No log-in takes as many rounds.
const ROUNDS: usize = 10;

/// A connection that is logged in.
pub struct LoggedIn {
    /// The connection.
    pub line: Line,
    /// The server ends rows with an OK and columns with nothing.
    pub deprecates_eof: bool,
    /// The connection's number at the server.
    pub number: u32,
}

/// Connects, logs in, makes the settings.
pub fn open(login: &Login) -> Result<LoggedIn, Error> {
    check_names(login)?;
    let line = Line::connect(login)?;
    let reach = Reach::of(login, &line);
    open_over(line, reach, login)
}

/// The protocol ends a name with a NUL: the server would take what stands before one for all of it,
/// and let us into another database.
fn check_names(login: &Login) -> Result<(), Error> {
    for (what, name) in [("user", &login.user), ("database", &login.database)] {
        if name.contains('\0') {
            return Err(Error::user(format!("the name of the {what} holds a NUL"))
                .hint("no server has such a name: is it %00 in a URL?"));
        }
    }
    Ok(())
}

/// Logs in over a line that is connected.
pub fn open_over(mut line: Line, reach: Reach, login: &Login) -> Result<LoggedIn, Error> {
    let dialogue = Dialogue::new(&mut line);
    let introduced = introduce(dialogue, reach, login);
    let (can, number) = introduced.map_err(|error| failure::with_place(error, login))?;
    Ok(LoggedIn { line, deprecates_eof: can.contains(Can::CLIENT_DEPRECATE_EOF), number })
}

/// Ends a connection of ours (`5`), or what it is at (`QUERY 5`), by another to the same server:
/// whoever else answers to the host's name has other connections of these numbers.
pub fn kill(login: &Login, peer: Option<&SocketAddrAny>, what: &str) -> Result<(), Error> {
    let login = Login { settings: Vec::new(), database: String::new(), ..login.clone() };
    let LoggedIn { mut line, .. } = open(&login)?;
    if peer.is_none() || line.peer.as_ref() != peer {
        return Err(Error::engine(format!("another server answers at {} now", login.host)));
    }
    let mut dialogue = Dialogue::new(&mut line);
    dialogue.command(COM_QUERY, format!("KILL {what}").as_bytes());
    let answer = dialogue.receive()?;
    dialogue.command(COM_QUIT, b"");
    dialogue.line.send()?;
    match (answer[0], failure::of_packet(&answer)) {
        (0xff, error) if error.number() != NO_SUCH_THREAD => Err(error),
        _ => Ok(()),
    }
}

/// It has ended by itself.
const NO_SUCH_THREAD: i32 = 1094;

/// What both sides can do, and the connection's number.
fn introduce(mut dialogue: Dialogue, reach: Reach, login: &Login) -> Result<(Can, u32), Error> {
    let packet = dialogue.receive()?;
    let greeting = Greeting::of(&packet, login)?;
    let can = greeting.capabilities(login)?;
    if can.contains(Can::CLIENT_SSL) {
        secure(&mut dialogue, &greeting, can, login)?;
    }
    let (auth, proof) = Auth::open(login, reach, &greeting.plugin, &greeting.nonce)?;
    dialogue.write(&response(&greeting, can, login, (auth.name(), &proof)));
    await_admission(&mut dialogue, auth, login)?;
    make_settings(&mut dialogue, login)?;
    Ok((can, greeting.number))
}

fn secure(
    dialogue: &mut Dialogue,
    greeting: &Greeting,
    can: Can,
    login: &Login,
) -> Result<(), Error> {
    dialogue.write(&preamble(greeting, can));
    if !dialogue.line.inbox().is_empty() {
        return Err(garbage("plain text after the switch to TLS"));
    }
    dialogue.line.send().map_err(failure::of_line)?;
    dialogue.line.secure(&login.tls, &login.host)
}

/// The beginning of our answer, and all of it before TLS.
fn preamble(greeting: &Greeting, can: Can) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(&can.bits().to_le_bytes());
    out.extend_from_slice(&LARGEST_PACKET.to_le_bytes());
    out.push(greeting.charset);
    out.resize(out.len() + 23, 0);
    out
}

fn response(greeting: &Greeting, can: Can, login: &Login, auth: (&[u8], &[u8])) -> Vec<u8> {
    let (plugin, proof) = auth;
    let mut out = preamble(greeting, can);
    out.extend_from_slice(login.user.as_bytes());
    out.push(0);
    // Below 251 bytes, both ways of saying a length are the same.
    put_length(&mut out, proof.len());
    out.extend_from_slice(proof);
    if can.contains(Can::CLIENT_CONNECT_WITH_DB) {
        out.extend_from_slice(login.database.as_bytes());
        out.push(0);
    }
    if can.contains(Can::CLIENT_PLUGIN_AUTH) {
        out.extend_from_slice(plugin);
        out.push(0);
    }
    out
}

/// Answers what the server asks until it lets us in.
fn await_admission<'a>(
    dialogue: &mut Dialogue,
    mut auth: Auth<'a>,
    login: &'a Login,
) -> Result<(), Error> {
    for _ in 0..ROUNDS {
        let packet = dialogue.receive()?;
        match packet[0] {
            0x00 => return Ok(()),
            0xff => return Err(failure::of_login(&packet, login)),
            0xfe => {
                let mut reader = Reader(&packet[1..]);
                let plugin = reader.until_zero();
                let (other, proof) = Auth::begin(login, auth.reach, plugin, reader.0)?;
                auth = other;
                dialogue.write(&proof);
            }
            0x01 => {
                if let Some(proof) = auth.go_on(&packet[1..])? {
                    dialogue.write(&proof);
                }
            }
            _ => return Err(garbage("an unknown message in the log-in")),
        }
    }
    Err(garbage("the log-in does not end"))
}

// The server's greeting, and what both sides can do.

const UTF8: u8 = 33;
const UTF8MB4: u8 = 45;

/// What the server says first.
pub struct Greeting {
    can: Can,
    number: u32,
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
            _ => Err(garbage("its greeting is not MySQL's")),
        }
    }

    fn parse(packet: &[u8]) -> Option<Self> {
        let mut reader = Reader(&packet[1..]);
        let charset = charset(reader.until_zero());
        let number = reader.u32()?;
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
        Some(Self { can, number, charset, plugin: reader.until_zero().to_vec(), nonce })
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
        if login.reads_only.is_some() {
            wanted -= Can::CLIENT_LOCAL_FILES | Can::CLIENT_MULTI_STATEMENTS;
        }
        if login.tls.mode != TlsMode::Disable {
            wanted |= Can::CLIENT_SSL;
        }
        if !login.database.is_empty() {
            wanted |= Can::CLIENT_CONNECT_WITH_DB;
        }
        let must = Can::CLIENT_PROTOCOL_41 | Can::CLIENT_SECURE_CONNECTION;
        if !self.can.contains(must) {
            return Err(Error::user(format!("{} is too old", login.host))
                .hint("MySQL 5.5 and MariaDB 10.1 are the oldest supported"));
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

// Session settings, made on logging in.

/// Makes all settings by one statement, in their order.
pub fn make_settings(dialogue: &mut Dialogue, login: &Login) -> Result<(), Error> {
    let settings: Result<Vec<String>, Error> = login.settings.iter().map(setting).collect();
    let settings = settings?;
    if settings.is_empty() {
        return Ok(());
    }
    dialogue.command(COM_QUERY, format!("SET {}", settings.join(", ")).as_bytes());
    let answer = dialogue.receive()?;
    match answer[0] {
        0x00 => Ok(()),
        0xff => Err(failure::of_login(&answer, login)),
        _ => Err(garbage("an invalid answer to SET")),
    }
}

/// Numbers, `DEFAULT` and what is quoted already stand as they are; anything else is a string.
fn setting((name, value): &(String, String)) -> Result<String, Error> {
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(Error::user(format!("'{name}' is not the name of a session setting")));
    }
    let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
    if is_number || value.eq_ignore_ascii_case("default") {
        return Ok(format!("SESSION {name} = {value}"));
    }
    let inner = value.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')).unwrap_or(value);
    let escaped = inner.replace('\\', "\\\\").replace('\'', "''");
    Ok(format!("SESSION {name} = '{escaped}'"))
}
