"""A server that runs already, named by a URL: never started, stopped or configured by us; and the
process of this machine that listens at its address.

`kind://user:password@host:port/database?sslmode=…`: `runs/experiment/candidates.py` hands on
what stands behind the colon. Only that database is written to, so it must be named. The password
goes into `Build.secret` and from there into the driver's stdin; no name, fact or message has it.

A process in a container is seen under this host's number, its sockets in its own network
namespace. What the kernel does not show us (another user's descriptors) is not found.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.errors import DynoError, TrialFailed, UsageError, build_unknown_error
from dyno.passwords import HIDDEN


@dataclass(frozen=True)
class Login:
    """Where and as whom. `host` beginning with `/` is the socket's own path, with no port (0).

    `tls` is libpq's word: disable, require, verify-ca, verify-full; `ca` a PEM file of authorities
    to trust in place of the system's. `proof` holds opt-ins (`PROOFS`): what of the password may
    leave for a server that has not proved who it is.
    """

    host: str
    user: str
    database: str
    port: int = 0
    password: str | None = field(default=None, repr=False)
    tls: str = "disable"
    ca: str | None = None
    proof: Mapping[str, Any] = field(default_factory=dict)

    def to_session(self, kind: str, **more: Any) -> Session:
        """Return the session of this kind with this login, and the kind's own fields."""
        tls = {"mode": self.tls, "ca": self.ca}
        return {
            "kind": kind,
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": self.database,
            "tls": tls,
            "settings": [],
            **({"proof": dict(self.proof)} if self.proof else {}),
            **more,
        }


MODES = ("disable", "require", "verify-ca", "verify-full")
#: libpq's modes that try one way and then the other; what stands in their place is the default.
FALLS_BACK = ("prefer", "allow")
#: libpq's words for ways of proving who one is, as far as the driver has them.
METHODS = ("none", "password", "md5", "scram-sha-256")
#: What of the password may leave for a server that has not proved who it is: keys of a URL.
SWITCHES = ("get-server-public-key", "enable-cleartext-plugin")
#: libpq's words for whether a proof is bound to the server's certificate.
BINDINGS = ("disable", "prefer", "require")
PROOFS = ("require_auth", "channel_binding", "server-public-key-path", *SWITCHES)
#: The keys of a URL, which belong to the build: they say how it is reached.
READ_ONLY = {
    "readonly": ("off", "of a URL: on: nothing is written there; the server is told so, and asked"),
    "time_limit": ("60", "of a URL with readonly=on: seconds that a statement may take"),
}
FLAGS = {
    **READ_ONLY,
    "sslmode": ("", f"of a URL: {', '.join(MODES)}; require unless the server is on this machine"),
    "sslrootcert": ("", "of a URL: a PEM file of authorities to trust in place of the system's"),
    "require_auth": (
        "",
        f"of a URL: proofs that the server may ask for, of {', '.join(METHODS)}; without it, no "
        "weak one where neither TLS nor this machine says who the server is",
    ),
    "channel_binding": (
        "prefer",
        f"of a URL: {', '.join(BINDINGS)}: bind SCRAM's proof to the certificate of TLS, so that "
        "it cannot be relayed",
    ),
}
SOURCE = "a server that runs already"
#: Where no wire leads out of the machine.
NEAR = re.compile(r"/.*|localhost|127\..*|\[?::1\]?|")

_URL = re.compile(
    r"//(?:(?P<user>[^:@/]*)(?::(?P<password>.*))?@)?"
    r"(?P<host>\[[^\]]*\]|[^:/@\[]*)(?::(?P<port>\d{1,5}))?(?:/(?P<database>[^/]*))?"
)


NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Address:
    """Where a server listens (`host` is empty where the URL leaves it out), and who asks.

    `password` is None where the URL has none, or only its mask.
    """

    user: str
    host: str
    port: int
    database: str
    password: str | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        user, host, database = (quote(it, safe="") for it in (self.user, self.host, self.database))
        return f"//{user}@{host}:{self.port}/{database}"


def is_url(build: str) -> bool:
    """Return whether this build names a server that runs already."""
    return build.startswith("//")


def parse_url(build: str, port: int, defaults: Mapping[str, str] = NO_DEFAULTS) -> Address:
    """The URL taken apart, `port` where it names none; `UsageError` where it is none of ours.

    `defaults` are `host`, `port`, `user`, `database` and `password` of what the URL leaves out: the
    environment's, or those of the clients' own files.
    """
    found = _URL.fullmatch(build)
    if found is None:
        hint = "write user:password@host:port/database, signs such as @ in a password as %40"
        raise UsageError("cannot read the server's URL", hint=hint)
    database = unquote(found["database"] or "") or defaults.get("database", "")
    if not database:
        hint = "end the URL with /DATABASE: it is the only one that will be written to"
        raise UsageError("the URL names no database", hint=hint)
    password = None if found["password"] in (None, "", HIDDEN) else unquote(found["password"])
    user = unquote(found["user"] or "") or defaults.get("user") or getpass.getuser()
    host = unquote(found["host"]).strip("[]") or defaults.get("host", "")
    listens = found["port"] or defaults.get("port") or str(port)
    if not re.fullmatch(r"\d{1,5}", listens):
        raise UsageError(f"invalid port number: '{listens}'")
    if "," in host:
        raise UsageError(f"'{host}' names several servers", hint="name one")
    return Address(user, host, int(listens), database, password or defaults.get("password"))


def check_url(build: str, flags: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Raise `UsageError` if a URL carries settings, or other keys than a URL's."""
    if not is_url(build):
        if flags:
            raise UsageError(f"'{next(iter(flags))}' needs the URL of a server that runs already")
        return
    if settings:
        hint = "set it there yourself; it will be read back"
        raise UsageError(f"{SOURCE} cannot be configured: '{next(iter(settings))}'", hint=hint)
    if (value := flags.get("readonly", "off")) not in ("on", "off"):
        raise build_unknown_error("value of readonly", value, ("on", "off"))
    if not re.fullmatch(r"[1-9]\d{0,5}", limit := flags.get("time_limit", "60")):
        raise UsageError(f"time_limit must be seconds (got '{limit}')")
    if (mode := flags.get("sslmode") or "disable") not in (*MODES, *FALLS_BACK):
        raise build_unknown_error("value of sslmode", mode, MODES)
    for name in ("sslrootcert", "server-public-key-path"):
        if (file := flags.get(name)) and not Path(file).expanduser().is_file():
            raise UsageError(f"there is no file {file}", hint=f"{name} names a PEM file")
    for method in filter(None, flags.get("require_auth", "").split(",")):
        if method not in METHODS:
            raise build_unknown_error("value of require_auth", method, METHODS)
    if (binding := flags.get("channel_binding") or "prefer") not in BINDINGS:
        raise build_unknown_error("value of channel_binding", binding, BINDINGS)
    for name in SWITCHES:
        if flags.get(name, "off") not in ("on", "off"):
            raise UsageError(f"{name} must be on or off (got '{flags[name]}')")


def describe_attached_build(
    engine: str, at: Address, flags: Mapping[str, str], password: str | None
) -> Build:
    """The server as a build, its version not asked yet; `at.host` is as the driver takes it."""
    chosen = flags.get("sslmode", "")
    mode = chosen if chosen in MODES else ("disable" if is_here(at.host) else "require")
    facts = {"source": SOURCE, "address": at.text, "sslmode": mode}
    if flags.get("readonly") == "on":
        facts |= {"readonly": "on", "time_limit": flags.get("time_limit", "60")}
    if ca := flags.get("sslrootcert"):
        facts["sslrootcert"] = str(Path(ca).expanduser().absolute())
    facts |= {name: flags[name] for name in PROOFS if flags.get(name)}
    return Build(engine, at.text, "", Path(os.devnull), facts, attached=True, secret=password or "")


def read_login(parts: Build) -> Login:
    """How the driver logs in to this build; a Unix socket has no port."""
    at = parse_url(parts.facts["address"], 0)
    port = 0 if at.host.startswith("/") else at.port
    tls, ca = parts.facts["sslmode"], parts.facts.get("sslrootcert")
    proof = read_proof(parts.facts)
    return Login(at.host, at.user, at.database, port, parts.secret or None, tls, ca, proof)


def read_proof(words: Mapping[str, str]) -> dict[str, Any]:
    """The opt-ins among these words (`PROOFS`), as the driver's plan has them."""
    proof: dict[str, Any] = {
        name.replace("-", "_"): True for name in SWITCHES if words.get(name) == "on"
    }
    if path := words.get("server-public-key-path"):
        proof["server_public_key"] = str(Path(path).expanduser().absolute())
    if methods := [it for it in words.get("require_auth", "").split(",") if it]:
        proof["require_auth"] = methods
    if binding := words.get("channel_binding"):
        proof["channel_binding"] = binding
    return proof


def is_read_only(build: Build) -> bool:
    """Return whether its URL says that nothing is written there."""
    return build.facts.get("readonly") == "on"


def find_time_limit_s(build: Build) -> int:
    """Return what a statement may take if the URL says that nothing is written: seconds."""
    return int(build.facts["time_limit"])


def read_fields(
    kind: str, questions: Sequence[str], answers: Sequence[Sequence[Sequence[str | None]]]
) -> list[str]:
    """Return the one field that each answer must have; `UsageError` if it has none: what listens
    there is no server of this kind (`MySQL`).
    """
    found = []
    for question, rows in zip(questions, answers, strict=True):
        if not (rows and rows[0]):
            cause = f"it answers '{question}' with no row"
            hint = f"does the URL name a server that speaks as {kind} does?"
            raise UsageError(f"the server is not {kind}", cause=cause, hint=hint)
        found.append(rows[0][0] or "")
    return found


def read_identity(
    ask: Callable[[Session, Sequence[str]], list[list[list[str | None]]]],
    session: Session,
    question: str,
) -> str:
    """What the server answers to `question`; empty if it does not know the words."""
    try:
        ((said,),) = ask(session, [question])[0]
    except (DynoError, ValueError):
        return ""
    return said or ""


#: What a server that only speaks a protocol may lack: by name a question, and what is done without.
Catalogue = Mapping[str, tuple[str, str]]


def list_missing(
    ask: Callable[[Session, Sequence[str]], list[list[list[str | None]]]],
    session: Session,
    catalogue: Catalogue,
) -> list[str]:
    """Return what of `catalogue` the server does not answer."""

    def is_answered(*questions: str) -> bool:
        try:
            ask(session, questions)
        except TrialFailed:
            return False
        return True

    if is_answered(*(question for question, _ in catalogue.values())):
        return []
    return [name for name, (one, _) in catalogue.items() if not is_answered(one)]


def describe_missing(build: Build, catalogue: Catalogue) -> list[str]:
    """A sentence on what the server does not answer, and what is done without it."""
    lacks = [f"{name} ({catalogue[name][1]})" for name in build.facts.get("lacks", "").split()]
    return [f"{build.name} does not know {', '.join(lacks)}"] if lacks else []


def build_unlisted_error(table: str) -> UsageError:
    """The error for a server that does not list its tables, for want of a `table`."""
    return UsageError(
        "the server does not list its tables",
        cause=f"it knows no {table}, and a workload drops the tables that it loads",
        hint="name a database without any, and say so in its URL: ?empty=on",
    )


def is_here(host: str) -> bool:
    """Return whether it is this machine, by any name: no wire leads out of it then."""
    if NEAR.fullmatch(host):
        return True
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(_is_own(family, at) for family, _, _, _, at in found)


def _is_own(family: int, at: Any) -> bool:
    """Bind an address: the kernel allows none but the machine's own."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as line:
        line.bind(at)
        return True
    return False


#: The kernel's number for a socket that listens.
_LISTENS = "0A"
_DELETED = " (deleted)"


def find_server_pid(session: Session, programs: Collection[str]) -> int | None:
    """Return the process of a server that runs on this machine; None if it is not found.

    Behind a socket it is the process that listens there. Behind a port it must be one of `programs`
    (by its file, or as the kernel calls it): a container's proxy or a pooler listens there in its
    place.
    """
    host = str(session["host"])
    if host.startswith("/"):
        return find_local_pid(host)
    port, addresses = int(session["port"] or 0), _resolve(host)
    candidates = _list_candidates(programs) if addresses else ()
    listening = [pid for pid in candidates if _is_listening(pid, port, addresses)]
    # a child holds what its parent opened; two servers may share a port on two addresses
    eldest = [pid for pid in listening if _read_parent(pid) not in listening]
    return eldest[0] if len(eldest) == 1 else None


def find_local_pid(path: str) -> int | None:
    """The process that listens on a Unix socket; None where it is not of this machine."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        peer = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid: int = struct.unpack("3i", peer)[0]
        return pid or None
    return None


def _list_candidates(programs: Collection[str]) -> Iterator[int]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and _list_names(int(entry.name)) & set(programs):
            yield int(entry.name)


def _list_names(pid: int) -> set[str]:
    """Return what its program is called; empty for another user's process, or a dead one."""
    found = set()
    with suppress(OSError):
        found.add(Path(f"/proc/{pid}/comm").read_text().strip())
        found.add(Path(read_link(f"/proc/{pid}/exe").removesuffix(_DELETED)).name)
    return found


def _read_parent(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _resolve(host: str) -> set[str]:
    with suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(host or "localhost", None, type=socket.SOCK_STREAM)
        return {str(it[4][0]) for it in found}
    return set()


def _is_listening(pid: int, port: int, addresses: set[str]) -> bool:
    """Return whether the process holds a socket that listens there. A loopback address is that of
    our own network namespace, any other that of the process's.
    """
    with suppress(OSError):
        is_near = read_link(f"/proc/{pid}/ns/net") == read_link("/proc/self/ns/net")
        loopback = {it for it in addresses if it.startswith("127.") or it == "::1"}
        asked = addresses if is_near else addresses - loopback
        own = _list_local_addresses(pid) | (loopback if is_near else set())
        return bool(_list_listening_sockets(asked & own, port, pid) & _list_sockets(pid))
    return False


def _list_local_addresses(pid: int) -> set[str]:
    found, last = set(), ""
    for line in Path(f"/proc/{pid}/net/fib_trie").read_text().splitlines():
        if "|--" in line:
            last = line.rpartition("|-- ")[2].strip()
        elif "host LOCAL" in line:
            found.add(last)
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/net/if_inet6").read_text().splitlines():
            found.add(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(line.split()[0])))
    return found


def _list_sockets(pid: int) -> set[str]:
    found = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            found.add(read_link(entry.path))
    return found


def _list_listening_sockets(addresses: set[str], port: int, pid: int) -> set[str]:
    """The sockets that listen on this port of one of a process's addresses, or of all of them, as
    links of `/proc/PID/fd` name them.
    """
    found = set()
    asked = {*addresses, "0.0.0.0", "::"} if addresses else set()
    for family, name in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
                cells = line.split()
                place, _, listens = cells[1].rpartition(":")
                if cells[3] != _LISTENS or int(listens, 16) != port:
                    continue
                # the kernel prints words of four bytes in this machine's order
                words = struct.iter_unpack("=I", bytes.fromhex(place))
                raw = b"".join(struct.pack(">I", word) for (word,) in words)
                if socket.inet_ntop(family, raw).removeprefix("::ffff:") in asked:
                    found.add(f"socket:[{cells[9]}]")
    return found


def read_link(path: str) -> str:
    return str(Path(path).readlink())
