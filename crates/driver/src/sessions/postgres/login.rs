//! The log-in: from nothing to a connection that is ready for queries.

use std::time::Instant;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::ScramSha256;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::binding;
use super::failure::{ErrorResponse, place};
use super::frame::{HEAD, garbage, head};
use crate::plan::error::Error;
use crate::plan::{Login, TlsMode};
use crate::sessions::LONGEST_WAIT;
use crate::sessions::reach::Reach;
use crate::wire::Line;

/// During the log-in nothing is longer than this, as libpq has it.
const LONGEST: usize = 30_000;

/// No server has as many settings and notices to tell before it is ready.
const MOST_MESSAGES: usize = 1000;

/// A connection that is ready for queries.
pub struct LoggedIn {
    /// The connection.
    pub line: Line,
    /// The server's process and its secret, by which its statements are cancelled; none where the
    /// server does not say.
    pub key: Option<(i32, i32)>,
}

/// Cancels what a server's process is at: a request of its own, by a connection of its own, which
/// the server ends without a word.
pub fn cancel(login: &Login, (process, secret): (i32, i32)) -> Result<(), Error> {
    let mut connection = LoginConnection(Line::connect(login)?, Instant::now());
    if login.tls.mode != TlsMode::Disable {
        connection.encrypt(login)?;
    }
    connection.write(|out| {
        frontend::cancel_request(process, secret, out);
        Ok(())
    })?;
    // Its end is its answer.
    let _ = connection.0.wait();
    Ok(())
}

/// Connects, encrypts, proves who we are, and makes the session's settings.
pub fn open(login: &Login) -> Result<LoggedIn, Error> {
    let line = Line::connect(login)?;
    let reach = Reach::of(login, &line);
    open_over(line, reach, login)
}

/// Logs in over a line that is connected.
pub fn open_over(line: Line, reach: Reach, login: &Login) -> Result<LoggedIn, Error> {
    let mut connection = LoginConnection(line, Instant::now());
    if login.tls.mode != TlsMode::Disable {
        connection.encrypt(login)?;
    }
    connection.write(|out| frontend::startup_message(parameters(login), out))?;
    prove(&mut connection, reach, login)?;
    let mut key = None;
    for _ in 0..MOST_MESSAGES {
        match connection.next(login)? {
            Message::ReadyForQuery(_) => return Ok(LoggedIn { line: connection.0, key }),
            Message::BackendKeyData(body) => key = Some((body.process_id(), body.secret_key())),
            _ => {}
        }
    }
    Err(garbage("the log-in does not end"))
}

/// The settings go with the start-up message: one way there and back, and `RESET` keeps them.
fn parameters(login: &Login) -> impl Iterator<Item = (&str, &str)> {
    let own = [
        ("user", login.user.as_str()),
        ("database", login.database.as_str()),
        ("application_name", "dyno"),
        ("client_encoding", "UTF8"),
    ];
    own.into_iter().chain(login.settings.iter().map(|(name, value)| (&name[..], &value[..])))
}

/// A connection that is not ready yet.
pub struct LoginConnection(Line, Instant);

impl LoginConnection {
    /// Writes a message of the library's; it leaves when the answer is awaited.
    pub fn write(
        &mut self,
        message: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        let mut out = BytesMut::new();
        message(&mut out)
            .map_err(|cause| Error::user("a part of the log-in cannot be sent").because(cause))?;
        self.0.out().extend_from_slice(&out);
        Ok(())
    }

    /// The next message of the server's; its refusal is an error.
    pub fn next(&mut self, login: &Login) -> Result<Message, Error> {
        loop {
            if let Some((kind, length)) = head(self.0.inbox())? {
                if length > LONGEST {
                    return Err(garbage(format!("{length} bytes at once during the log-in")));
                }
                if length <= self.0.inbox().len() {
                    return self.take(kind, length, login);
                }
            }
            self.wait(login)?;
        }
    }

    fn wait(&mut self, login: &Login) -> Result<(), Error> {
        if self.1.elapsed() > LONGEST_WAIT {
            return Err(garbage("the log-in did not end within a minute"));
        }
        self.0.wait().map_err(|cause| {
            let (message, code) = (format!("cannot log in to {}", place(login)), "lost");
            Error::engine(message).because(cause).code(code).hint("does the server's log say why?")
        })
    }

    fn take(&mut self, kind: u8, length: usize, login: &Login) -> Result<Message, Error> {
        let frame = &self.0.inbox()[..length];
        if kind == b'E' {
            return Err(ErrorResponse::read(&frame[HEAD..])?.refusal(login));
        }
        let message = Message::parse(&mut BytesMut::from(frame)).map_err(garbage)?;
        self.0.consume(length);
        message.ok_or_else(|| garbage("a message does not end"))
    }

    /// Asks for TLS; there is no going on without it.
    fn encrypt(&mut self, login: &Login) -> Result<(), Error> {
        self.write(|out| {
            frontend::ssl_request(out);
            Ok(())
        })?;
        while self.0.inbox().is_empty() {
            self.wait(login)?;
        }
        // More than the one byte was said by somebody in between, before TLS (CVE-2021-23222).
        match self.0.inbox() {
            b"S" => {
                self.0.consume(1);
                self.0.secure(&login.tls, &login.host)
            }
            b"N" => Err(Error::user(format!("{} offers no TLS", place(login)))
                .hint("turn it on at the server (ssl = on), or ask for no encryption")),
            _ => Err(garbage("the answer to the TLS request is neither yes nor no")),
        }
    }
}

// Who we are: trust, a password in clear text where nobody can listen, MD5, SCRAM-SHA-256.

/// Answers the server's questions until it says that we are in.
fn prove(connection: &mut LoginConnection, reach: Reach, login: &Login) -> Result<(), Error> {
    let question = connection.next(login)?;
    if !matches!(question, Message::AuthenticationSasl(_)) {
        binding::may_go_unbound(login, "it does not ask for SCRAM")?;
    }
    may_ask(&question, reach, login)?;
    if matches!(question, Message::AuthenticationOk) {
        return Ok(());
    }
    answer(connection, reach, login, &question)?;
    match connection.next(login)? {
        Message::AuthenticationOk => Ok(()),
        _ => Err(garbage("the log-in did not end")),
    }
}

/// May the server ask for this? Who stands in between would ask for the weakest proof there is: in
/// place of SCRAM for the password itself, or for an MD5 that it can be guessed from.
fn may_ask(question: &Message, reach: Reach, login: &Login) -> Result<(), Error> {
    let (method, is_safe) = match question {
        Message::AuthenticationOk => ("none", true),
        Message::AuthenticationCleartextPassword => ("password", reach.knows_server()),
        Message::AuthenticationMd5Password(_) => ("md5", reach.knows_server()),
        Message::AuthenticationSasl(_) => ("scram-sha-256", true),
        _ => return Ok(()),
    };
    let wanted = &login.proof.require_auth;
    let is_wanted = wanted.iter().any(|it| it == method);
    if !wanted.is_empty() && !is_wanted {
        let asks = format!(
            "{} asks for an authentication method that require_auth excludes",
            place(login)
        );
        return Err(Error::user(asks)
            .because(format!("for {method}"))
            .hint(format!("is it the right server? To allow it: require_auth={method} takes it")));
    }
    match method {
        "password" if reach == Reach::Open => {
            Err(Error::user("the server wants the password in clear text")
                .hint("encrypt the connection, or have the server's pg_hba.conf say scram-sha-256"))
        }
        _ if is_safe || is_wanted => Ok(()),
        _ => {
            let what = if method == "md5" { "an MD5 of the password" } else { "the password" };
            Err(Error::user(format!("{} wants {what}", place(login)))
                .because("its identity is not verified")
                .hint(format!(
                    "verify it (sslmode=verify-full), have its pg_hba.conf say scram-sha-256, or \
                     allow it: require_auth={method}"
                )))
        }
    }
}

fn answer(
    connection: &mut LoginConnection,
    reach: Reach,
    login: &Login,
    question: &Message,
) -> Result<(), Error> {
    match question {
        Message::AuthenticationCleartextPassword => {
            let password = password(login)?.as_bytes();
            connection.write(|out| frontend::password_message(password, out))
        }
        Message::AuthenticationMd5Password(body) => {
            let (user, password) = (login.user.as_bytes(), password(login)?.as_bytes());
            let hash = md5_hash(user, password, body.salt());
            connection.write(|out| frontend::password_message(hash.as_bytes(), out))
        }
        Message::AuthenticationSasl(body) => {
            let offered: Vec<&str> = body.mechanisms().collect().map_err(garbage)?;
            scram(connection, reach, login, &offered)
        }
        _ => Err(unknown("neither a password nor SCRAM-SHA-256")),
    }
}

/// Iterations of SCRAM-SHA-256 at least (RFC 7677): fewer make a password quick to guess from the
/// proof.
const LEAST_ITERATIONS: u64 = 4096;

/// The iterations that a server's first message of SCRAM asks for.
fn iterations(message: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(message).ok()?;
    text.split(',').find_map(|it| it.strip_prefix("i="))?.parse().ok()
}

/// Both sides prove that they know the password.
fn scram(
    connection: &mut LoginConnection,
    reach: Reach,
    login: &Login,
    offered: &[&str],
) -> Result<(), Error> {
    let (mechanism, binding) = binding::choose(login, connection.0.server_end_point(), offered)?;
    if !offered.contains(&mechanism) {
        return Err(unknown(&offered.join(", ")));
    }
    let mut scram = ScramSha256::new(password(login)?.as_bytes(), binding);
    connection.write(|out| frontend::sasl_initial_response(mechanism, scram.message(), out))?;
    let Message::AuthenticationSaslContinue(body) = connection.next(login)? else {
        return Err(garbage("SCRAM-SHA-256 was not continued"));
    };
    let count = iterations(body.data()).unwrap_or(0);
    if count < LEAST_ITERATIONS && !reach.knows_server() {
        return Err(Error::user(format!("{} asks for weak authentication", place(login)))
            .because(format!("SCRAM of {count} iterations; {LEAST_ITERATIONS} are the least"))
            .hint("verify the server (sslmode=verify-full), or raise its scram_iterations"));
    }
    scram.update(body.data()).map_err(garbage)?;
    connection.write(|out| frontend::sasl_response(scram.message(), out))?;
    let Message::AuthenticationSaslFinal(body) = connection.next(login)? else {
        return Err(garbage("SCRAM-SHA-256 was not finished"));
    };
    scram.finish(body.data()).map_err(garbage)
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
    Error::user(format!("the server asks for an unsupported authentication method: {kind}"))
        .hint("have the server's pg_hba.conf say scram-sha-256, md5 or trust")
}
