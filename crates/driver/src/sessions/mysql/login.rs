//! The log-in: the server's greeting, TLS, who we are, the settings.

use mysql_common::constants::CapabilityFlags as Can;

use super::auth::Auth;
use super::dialogue::Dialogue;
use super::failure;
use super::greeting::Greeting;
use super::packet::{garbage, put_length};
use super::reader::Reader;
use super::settings::settle;
use crate::plan::error::Error;
use crate::plan::login::Login;
use crate::wire::Line;

/// The protocol's own limit; the server's is smaller.
const LARGEST_PACKET: u32 = 1 << 30;
/// No log-in takes as many rounds.
const ROUNDS: usize = 10;

/// A connection that is logged in.
pub struct Opened {
    /// The connection.
    pub line: Line,
    /// The server ends rows with an OK and columns with nothing.
    pub deprecates_eof: bool,
}

/// Connects, logs in, makes the settings.
pub fn open(login: &Login) -> Result<Opened, Error> {
    let mut line = Line::connect(login)?;
    let dialogue = Dialogue::new(&mut line);
    let can = introduce(dialogue, login).map_err(|error| failure::named(error, login))?;
    Ok(Opened { line, deprecates_eof: can.contains(Can::CLIENT_DEPRECATE_EOF) })
}

fn introduce(mut dialogue: Dialogue, login: &Login) -> Result<Can, Error> {
    let packet = dialogue.hear()?;
    let greeting = Greeting::of(&packet, login)?;
    let can = greeting.capabilities(login)?;
    if can.contains(Can::CLIENT_SSL) {
        secure(&mut dialogue, &greeting, can, login)?;
    }
    let (auth, proof) = Auth::open(login, &greeting.plugin, &greeting.nonce)?;
    dialogue.say(&response(&greeting, can, login, (auth.name(), &proof)));
    admitted(&mut dialogue, auth, login)?;
    settle(&mut dialogue, login)?;
    Ok(can)
}

fn secure(
    dialogue: &mut Dialogue,
    greeting: &Greeting,
    can: Can,
    login: &Login,
) -> Result<(), Error> {
    dialogue.say(&preamble(greeting, can));
    if !dialogue.line.inbox().is_empty() {
        return Err(garbage("words in plain text after TLS was agreed on"));
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
fn admitted<'a>(
    dialogue: &mut Dialogue,
    mut auth: Auth<'a>,
    login: &'a Login,
) -> Result<(), Error> {
    for _ in 0..ROUNDS {
        let packet = dialogue.hear()?;
        match packet[0] {
            0x00 => return Ok(()),
            0xff => return Err(failure::of_login(&packet, login)),
            0xfe => {
                let mut reader = Reader(&packet[1..]);
                let plugin = reader.until_zero();
                let (other, proof) = Auth::begin(login, plugin, reader.0)?;
                auth = other;
                dialogue.say(&proof);
            }
            0x01 => {
                if let Some(proof) = auth.go_on(&packet[1..])? {
                    dialogue.say(&proof);
                }
            }
            _ => return Err(garbage("an unknown word in the log-in")),
        }
    }
    Err(garbage("a log-in without an end"))
}
