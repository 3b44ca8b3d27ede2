"""Which process of this machine a server listens with, at an address that clients name.

In containers, too: a process is seen there under this host's number, its sockets in its own network
namespace. What the kernel does not show us (another user's descriptors) is not found.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from dyno.driver.plan import Session

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
        return bool(asked & own) and bool(_list_listening_sockets(port, pid) & _list_sockets(pid))
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


def _list_listening_sockets(port: int, pid: int) -> set[str]:
    """The sockets that listen on this port of a process's network, as links of `/proc/PID/fd` name
    them.
    """
    found = set()
    for family in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]:
                cells = line.split()
                if cells[3] == _LISTENS and int(cells[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{cells[9]}]")
    return found


def read_link(path: str) -> str:
    return str(Path(path).readlink())
