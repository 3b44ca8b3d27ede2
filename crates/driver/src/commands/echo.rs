//! `dyno-driver echo PLACE`: answers every request with as many bytes as it asks for.
//!
//! It stands where a server would, so that the way there and back can be measured without an
//! engine. A thread serves each connection and blocks in `read`, as MySQL's threads do; a process
//! per connection, as PostgreSQL has it, wakes up the same way.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

use serde_json::json;

use crate::plan::error::Error;
use crate::plan::parent;
use crate::sessions::echo::{HEADER, LONGEST};

/// Listens on a Unix socket (a path with a `/` before it) or on `HOST:PORT` (0: any port), says
/// `{"port": …}` once it does, and serves until it is killed or whoever started it ends.
pub fn echo(place: &str) -> Result<ExitCode, Error> {
    if place.starts_with('/') {
        let listener = UnixListener::bind(place).map_err(|cause| refused(place, cause))?;
        parent::print_json(&json!({"port": 0}))?;
        return serve_all(listener.incoming());
    }
    let listener = TcpListener::bind(place).map_err(|cause| refused(place, cause))?;
    let address = listener.local_addr().map_err(|cause| refused(place, cause))?;
    parent::print_json(&json!({"port": address.port()}))?;
    serve_all(listener.incoming().map(|it| {
        it.and_then(|stream| {
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }))
}

fn refused(place: &str, cause: io::Error) -> Error {
    Error::user(format!("cannot listen at {place}")).because(cause).hint("a path, or HOST:PORT")
}

fn serve_all<S: Read + Write + Send + 'static>(
    connections: impl Iterator<Item = io::Result<S>>,
) -> Result<ExitCode, Error> {
    for connection in connections {
        let Ok(mut stream) = connection else { continue };
        let thread = std::thread::Builder::new().name("echo".to_owned());
        // A client that breaks the connection off is no matter to the others.
        let spawned = thread.spawn(move || drop(serve(&mut stream)));
        spawned.map_err(|cause| Error::host("cannot start a thread").because(cause))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Answers requests, one after another, until the client closes the connection.
fn serve(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let (mut inbox, mut filled) = (vec![0; 64 << 10], 0);
    let mut answer = Vec::new();
    loop {
        while filled < HEADER {
            match stream.read(&mut inbox[filled..])? {
                0 => return Ok(()),
                came => filled += came,
            }
        }
        let (request, length) = sizes(&inbox)?;
        let mut left = request.saturating_sub(filled);
        inbox.copy_within(request.min(filled)..filled, 0);
        filled -= request.min(filled);
        while left > 0 {
            let most = left.min(inbox.len());
            match stream.read(&mut inbox[..most])? {
                0 => return Ok(()),
                came => left -= came,
            }
        }
        answer.resize(length, 0);
        stream.write_all(&answer)?;
    }
}

/// The lengths of a request and of its answer, by its header.
fn sizes(inbox: &[u8]) -> io::Result<(usize, usize)> {
    let word = |at: usize| {
        let bytes = inbox[at..at + 4].try_into().unwrap_or_default();
        u32::from_le_bytes(bytes) as usize
    };
    let (request, answer) = (word(0), word(4));
    if request < HEADER || request.max(answer) > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((request, answer))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn request(length: u32, answer: u32) -> Vec<u8> {
        let mut bytes = [length.to_le_bytes(), answer.to_le_bytes()].concat();
        bytes.resize(length as usize, 0);
        bytes
    }

    fn echoed(sent: &[Vec<u8>], bytes: usize) -> Vec<u8> {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let served = std::thread::spawn(move || serve(&mut theirs));
        let all = sent.concat();
        let mut writer = ours.try_clone().unwrap();
        let writes = std::thread::spawn(move || writer.write_all(&all));
        let mut answer = vec![1; bytes];
        ours.read_exact(&mut answer).unwrap();
        writes.join().unwrap().unwrap();
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(ours.read(&mut [0]).unwrap(), 0, "nothing follows");
        served.join().unwrap().unwrap();
        answer
    }

    #[test]
    fn requests_that_came_at_once_are_answered_each() {
        let sent = [request(8, 1), request(100, 30), request(9, 2)];
        assert_eq!(echoed(&sent, 33), [0; 33]);
    }

    #[test]
    fn a_request_longer_than_the_buffer_is_read_to_its_end() {
        let sent = [request(300_000, 500_000), request(8, 5)];
        assert_eq!(echoed(&sent, 500_005).len(), 500_005);
    }

    #[test]
    fn what_is_no_request_ends_the_connection() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        ours.write_all(&request(8, u32::MAX)).unwrap();
        assert!(serve(&mut theirs).is_err());
    }
}
