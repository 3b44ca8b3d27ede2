"""The processes of a run under way, found in `/proc` as a stranger would find them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

DRIVER = "dyno-driver"
SERVERS = ("postgres", "mysqld", "mariadbd")
PATIENCE_S = 20.0


def descendants(pid: int) -> list[int]:
    """The descendants of a process, parents first."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        fields = _read(folder / "stat").rpartition(")")[2].split()
        if len(fields) > 1 and fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = list(children.get(pid, []))
    for parent in found:
        found += children.get(parent, [])
    return found


def state_of(pid: int) -> str:
    """The letter of proc_pid_stat(5): `T` for one that stands still; empty for one that is gone."""
    return (_read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split() or [""])[0]


def parent_of(pid: int) -> int:
    """Its parent; 0 for one that is gone."""
    return int((_read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split() or ["", "0"])[1])


def program_name(pid: int) -> str:
    """The program's name, which a thread of it cannot change."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/exe").readlink().name
    return ""


def server_below(pid: int, home: Path) -> int:
    """The server below `pid` that works in `home`: the first process of it.

    A server that serves many tests may run below the same `pid` meanwhile.
    """
    there = processes_in(home)
    return next(p for p in descendants(pid) if p in there and program_name(p) in SERVERS)


def driver_below(pid: int, *commands: str) -> int:
    """The driver below `pid` that plays, or does one of these `commands`, such as `answer`."""
    drivers = (p for p in descendants(pid) if program_name(p) == DRIVER)
    words = ((p, _read(Path(f"/proc/{p}/cmdline")).split("\0")) for p in drivers)
    return next(p for p, it in words if not {*it}.isdisjoint(commands or ("run",)))


def send_signal(pid: int, number: signal.Signals) -> None:
    """The signal to `pid` and to all below it."""
    for each in (pid, *descendants(pid)):
        with suppress(ProcessLookupError):
            os.kill(each, number)


def processes_left(folder: Path) -> list[str]:
    """Command lines of processes that still have to do with `folder`, once all had time to end."""
    ends_s = time.monotonic() + PATIENCE_S
    while (found := _about(folder)) and time.monotonic() < ends_s:
        time.sleep(0.05)
    return found


def wait_until_found(look: Callable[[], int]) -> int:
    """What `look` finds, as soon as there is something to find."""
    ends_s = time.monotonic() + 60
    while time.monotonic() < ends_s:
        with suppress(StopIteration):
            return look()
        time.sleep(0.02)
    raise TimeoutError("nothing was found in a minute")


def users_of(path: Path) -> list[int]:
    """Processes with `path` in their environment or command: drivers at work on it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(path).encode() in words and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    """Waits until `condition` holds, for half a minute at the most."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "30 s are over"
        time.sleep(0.01)


def playing_drivers(of: int) -> list[int]:
    """The drivers that play for the process `of`."""
    found = []
    for pid in Path(f"/proc/{of}/task/{of}/children").read_text().split():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"dyno-dr" in words[0] and b"run" in words:
                found.append(int(pid))
    return found


def stop_driver_of(of: int) -> int:
    """The driver that plays for `of`, which is left standing still: no phase ends without it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        os.kill(of, signal.SIGSTOP)
        if found := playing_drivers(of):
            return found[0]
        os.kill(of, signal.SIGCONT)
        time.sleep(0.005)
    raise TimeoutError("no driver in 20 s")


def processes_in(home: Path) -> dict[int, str]:
    """The processes that work in a folder, each with its command line."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(home):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(process.name)] = command.decode(errors="replace")
        except OSError:
            continue
    return found


def processes_left_in(home: Path, patience_s: float = 0.0) -> list[str]:
    """The command lines of those who are still there after `patience_s`; none once all are gone."""
    ends_s = time.monotonic() + patience_s
    while (left := processes_in(home)) and time.monotonic() < ends_s:
        time.sleep(0.05)
    return list(left.values())


def _about(folder: Path) -> list[str]:
    text = str(folder)
    lines = {
        int(each.name): _read(each / "cmdline").replace("\0", " ")
        for each in Path("/proc").glob("[0-9]*")
        if int(each.name) != os.getpid()
    }
    inside = {p: f"{program_name(p)} {line}" for p, line in lines.items() if text in line + _cwd(p)}
    return list(inside.values())


def _cwd(pid: int) -> str:
    with suppress(OSError):
        return str(Path(f"/proc/{pid}/cwd").readlink())
    return ""


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(errors="replace")
    return ""
