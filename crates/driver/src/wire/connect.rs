//! Connecting: a name to addresses to a socket, within ten seconds altogether.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::plan::Login;
use crate::plan::error::Error;

/// What connecting and each answer during the log-in may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A silent peer is asked whether it still lives after so long, so often, with such gaps: a host
/// that vanished (a pulled cable sends no word) ends a wait after a minute.
const IDLE: Duration = Duration::from_secs(30);
const GAP: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;

/// So is one that does not acknowledge what was sent.
const UNACKNOWLEDGED_MS: u32 = 60_000;

/// Connects to a login's host or socket.
pub fn connect(login: &Login) -> Result<OwnedFd, Error> {
    match login.host.starts_with('/') {
        true => by_path(&login.host),
        false => by_name(&login.host, login.port),
    }
}

fn by_path(path: &str) -> Result<OwnedFd, Error> {
    let address = SocketAddrUnix::new(path).map_err(|_| {
        Error::user(format!("the socket's path is too long: {path}"))
            .hint("the kernel takes 107 bytes; put the socket into a folder with a shorter name")
    })?;
    open(AddressFamily::UNIX, &address, PATIENCE).map_err(|cause| refused(path, cause))
}

fn by_name(host: &str, port: u16) -> Result<OwnedFd, Error> {
    let began = Instant::now();
    let place = format!("{host} port {port}");
    let mut last = Errno::HOSTUNREACH;
    for address in addresses(host, port)? {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        match open(family, &address, PATIENCE.saturating_sub(began.elapsed())) {
            Ok(socket) => {
                return prepare(&socket).map(|()| socket).map_err(|cause| refused(&place, cause));
            }
            Err(cause) => last = cause,
        }
    }
    Err(refused(&place, last))
}

/// The resolver knows no deadline, so it works in a thread of its own, which is left behind when
/// it takes too long.
fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, found) = channel();
    let name = host.to_owned();
    std::thread::spawn(move || {
        let addresses = (name.as_str(), port).to_socket_addrs();
        let _ = sender.send(addresses.map(Iterator::collect::<Vec<_>>));
    });
    let unknown = || {
        Error::user(format!("cannot find the host {host}"))
            .code("connect")
            .hint("check its name, and that this machine can resolve names")
    };
    match found.recv_timeout(PATIENCE) {
        Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
        Ok(Ok(_)) => Err(unknown()),
        Ok(Err(cause)) => Err(unknown().because(cause)),
        Err(_) => Err(unknown().because("no answer within 10 s")),
    }
}

/// A blocking socket, so that io_uring may wait for it; every call of ours on it says itself
/// whether it waits.
fn open(
    family: AddressFamily,
    address: &impl SocketAddrArg,
    patience: Duration,
) -> rustix::io::Result<OwnedFd> {
    if patience.is_zero() {
        return Err(Errno::TIMEDOUT);
    }
    let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    net::connect(&socket, address).map_err(|cause| match cause {
        Errno::AGAIN | Errno::INPROGRESS => Errno::TIMEDOUT,
        cause => cause,
    })?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, None)?;
    Ok(socket)
}

fn prepare(socket: &OwnedFd) -> rustix::io::Result<()> {
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, IDLE)?;
    sockopt::set_tcp_keepintvl(socket, GAP)?;
    sockopt::set_tcp_keepcnt(socket, PROBES)?;
    sockopt::set_tcp_user_timeout(socket, UNACKNOWLEDGED_MS)
}

fn refused(place: &str, cause: Errno) -> Error {
    let hint = match cause {
        Errno::NOENT | Errno::CONNREFUSED => "is the server running, and listening there?",
        Errno::ACCESS | Errno::PERM => "this user may not open the socket",
        Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NETUNREACH => {
            "is the host up, and does a firewall let this port through?"
        }
        _ => "",
    };
    let error = Error::engine(format!("cannot connect to {place}")).code("connect").hint(hint);
    match cause {
        Errno::TIMEDOUT => error.because("no answer within 10 s"),
        cause => error.because(std::io::Error::from(cause)),
    }
}
