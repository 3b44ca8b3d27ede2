//! Who we are: trust, a password in clear text where nobody can listen, MD5, SCRAM-SHA-256.

use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::failure::place;
use super::frame::garbage;
use super::login::Door;
use crate::plan::error::Error;
use crate::plan::login::{Login, TlsMode};

/// Answers the server's questions until it says that we are in.
pub fn prove(door: &mut Door, login: &Login) -> Result<(), Error> {
    let question = door.next(login)?;
    if matches!(question, Message::AuthenticationOk) {
        return Ok(());
    }
    answer(door, login, &question)?;
    match door.next(login)? {
        Message::AuthenticationOk => Ok(()),
        _ => Err(garbage("the log-in did not end")),
    }
}

fn answer(door: &mut Door, login: &Login, question: &Message) -> Result<(), Error> {
    match question {
        Message::AuthenticationCleartextPassword if is_private(login) => {
            let password = password(login)?.as_bytes();
            door.say(|out| frontend::password_message(password, out))
        }
        Message::AuthenticationCleartextPassword => {
            Err(Error::user("the server wants the password in clear text")
                .hint("encrypt the connection, or have the server's pg_hba.conf say scram-sha-256"))
        }
        Message::AuthenticationMd5Password(body) => {
            let (user, password) = (login.user.as_bytes(), password(login)?.as_bytes());
            let hash = md5_hash(user, password, body.salt());
            door.say(|out| frontend::password_message(hash.as_bytes(), out))
        }
        Message::AuthenticationSasl(body) => {
            let offered: Vec<&str> = body.mechanisms().collect().map_err(garbage)?;
            match offered.contains(&SCRAM_SHA_256) {
                true => scram(door, login),
                false => Err(unknown(&offered.join(", "))),
            }
        }
        _ => Err(unknown("neither a password nor SCRAM-SHA-256")),
    }
}

/// Both sides prove that they know the password. Without channel binding: TLS itself checks who
/// the server is, where the log-in asks for that.
fn scram(door: &mut Door, login: &Login) -> Result<(), Error> {
    let mut scram = ScramSha256::new(password(login)?.as_bytes(), ChannelBinding::unsupported());
    door.say(|out| frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), out))?;
    let Message::AuthenticationSaslContinue(body) = door.next(login)? else {
        return Err(garbage("SCRAM-SHA-256 was not continued"));
    };
    scram.update(body.data()).map_err(garbage)?;
    door.say(|out| frontend::sasl_response(scram.message(), out))?;
    let Message::AuthenticationSaslFinal(body) = door.next(login)? else {
        return Err(garbage("SCRAM-SHA-256 was not finished"));
    };
    scram.finish(body.data()).map_err(garbage)
}

/// Can nobody listen on the way to the server?
fn is_private(login: &Login) -> bool {
    login.host.starts_with('/') || login.tls.mode != TlsMode::Disable
}

fn password(login: &Login) -> Result<&str, Error> {
    let missing = || {
        Error::user(format!("{} wants a password for '{}'", place(login), login.user))
            .hint("give one in the URL, in PGPASSWORD, or in ~/.pgpass")
            .code("28P01")
    };
    login.password.as_deref().ok_or_else(missing)
}

fn unknown(kind: &str) -> Error {
    Error::user(format!("the server asks for another proof than we can give: {kind}"))
        .hint("have the server's pg_hba.conf say scram-sha-256, md5 or trust")
}
