//! MySQL's errors: what is restartable, what ends a connection, and who can put it right.

use super::packet::{Reader, garbage};
use crate::plan::Login;
use crate::plan::error::Error;

/// What sysbench lets an event begin anew for: deadlock, lock wait, row changed since it was read.
const RESTARTABLE: [i32; 3] = [1213, 1205, 1020];

/// After these the server closes: shutdown, killed (MariaDB), killed and idle for too long (8.0).
const ENDS: [i32; 4] = [1053, 1927, 3169, 4031];

/// The client library's number for a lost connection; scripts know it.
const LOST: i32 = 2013;

/// An error packet, its first byte 0xFF included.
pub fn of_packet(packet: &[u8]) -> Error {
    match parse(packet) {
        Some(error) => error.error(),
        None => garbage("an error without a number"),
    }
}

/// An error packet during the log-in.
pub fn of_login(packet: &[u8], login: &Login) -> Error {
    match parse(packet) {
        Some(error) => error.at_login(login),
        None => garbage("an error without a number"),
    }
}

/// An error of the log-in that does not say where, with the place.
pub fn with_place(error: Error, login: &Login) -> Error {
    match error.engine_code() {
        Some("lost") => Error::engine(format!("cannot log in to {}", login.host))
            .because(error)
            .hint("check that a MySQL server listens there, and read its log")
            .code("connect"),
        Some("protocol") => Error::user(format!("{} is not a MySQL server", login.host))
            .because(error)
            .hint("check the port or socket")
            .code("protocol"),
        _ => error,
    }
}

/// Was the connection closed with this error?
pub fn ends_connection(error: &Error) -> bool {
    matches!(error.engine_code(), Some("lost" | "protocol")) || ENDS.contains(&error.number())
}

/// An error of the line with the number that scripts know for it.
#[cold]
pub fn of_line(error: Error) -> Error {
    match error.engine_code() {
        Some("lost") => error.sql(LOST, "08S01"),
        _ => error,
    }
}

/// A request on a connection that is gone already.
#[cold]
pub fn after_disconnect() -> Error {
    of_line(
        Error::engine("the connection is lost")
            .because("it was lost earlier in this event")
            .code("lost"),
    )
}

struct ServerError {
    number: i32,
    state: String,
    message: String,
}

/// Before the log-in there is no SQLSTATE.
fn parse(packet: &[u8]) -> Option<ServerError> {
    let mut reader = Reader(packet.get(1..)?);
    let number = i32::from(reader.u16()?);
    let mut state = "HY000".to_owned();
    if let [b'#', rest @ ..] = reader.0 {
        let (told, message) = rest.split_at_checked(5)?;
        state = String::from_utf8_lossy(told).into_owned();
        reader = Reader(message);
    }
    Some(ServerError { number, state, message: String::from_utf8_lossy(reader.0).into_owned() })
}

impl ServerError {
    fn error(self) -> Error {
        let error = match self.number {
            1021 => Error::host("the engine cannot continue")
                .hint("the disk is full: free space, or put the database elsewhere"),
            1037 | 1041 => Error::host("the engine cannot continue")
                .hint("the machine has no memory left for the server"),
            1461 => Error::user("the server has reached its limit of prepared statements")
                .hint("raise max_prepared_stmt_count, or use fewer connections"),
            1148 | 3948 | 4166 => Error::user("the server takes no bulk loads")
                .hint("SET GLOBAL local_infile = ON on the server"),
            _ => Error::engine("the engine refused a statement"),
        };
        self.with_codes(error)
    }

    fn with_codes(self, error: Error) -> Error {
        let restartable = RESTARTABLE.contains(&self.number) || self.state.starts_with("40");
        let error = error
            .because(&self.message)
            .code(self.number.to_string())
            .sql(self.number, &self.state)
            .worded(self.message);
        if restartable { error.restartable() } else { error }
    }

    fn at_login(self, login: &Login) -> Error {
        let Login { user, host, database, .. } = login;
        let error = match self.number {
            1045 | 1698 => Error::user(format!("cannot log in to {host} as {user}"))
                .hint("check user and password, and from which hosts this user may connect"),
            1049 => Error::user(format!("no database {database} on {host}"))
                .hint("create it, or name another"),
            1044 | 1142 => Error::user(format!("{user} may not use the database {database}"))
                .hint(format!("grant the rights: GRANT ALL ON {database}.* TO {user}@…")),
            1129 | 1130 => Error::user(format!("{host} refuses connections from this machine"))
                .hint("create the user for this host; for a blocked host, FLUSH HOSTS"),
            1040 | 1203 | 1226 => Error::user(format!("{host} takes no more connections"))
                .hint("raise max_connections or the user's limit, or use fewer connections"),
            1193 | 1231 | 1232 | 1238 | 1227 => {
                Error::user("a session setting was refused").hint("check the session settings")
            }
            _ => Error::engine(format!("{host} refused the log-in of {user}")),
        };
        self.with_codes(error)
    }
}
