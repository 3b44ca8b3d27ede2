"""What the kernel says of processes under `/proc`.

A process that is gone counts nothing. One that the kernel does not let us read (`hidepid`, another
user's) is a `PermissionError`: a sum without it would be too small, so probes leave it out whole
(`read_unless_refused`).
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

#: Nanoseconds in one of the kernel's clock ticks (10 ms nearly everywhere).
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
#: States of a task that runs no code: stopped, traced, ended (proc_pid_stat(5)).
STILL = {b"T", b"t", b"Z", b"X", b"x"}
#: How long processes that were sent SIGSTOP are waited for: one in a disk's hands takes longer.
STILL_S = 0.02
LOOK_AGAIN_S = 0.0002
#: Whether the kernel shares a core among sessions first, then among the processes of each, and how
#: often it is asked: of others than root it takes one change of a session in a tenth of a second.
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
ASKED, ASKED_EVERY_S = 10, 0.12


def read_unless_refused(read: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Return what `read` answers; nothing if the kernel refuses us a part of it."""
    with suppress(PermissionError):
        return read()
    return {}


def list_process_family(*roots: int | None) -> list[int]:
    """`roots` and their descendants, parents first, zombies too; a server may be many processes.

    Read off every process's parent: the kernel's own lists (`task/TID/children`) may miss one
    while another ends (proc_pid_task(5)). One that was handed to init (a double fork) is left out.
    """
    found = [pid for pid in roots if pid is not None]
    if not found:
        return []
    children: dict[int, list[int]] = {}
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    for pid in pids:
        fields: list[bytes] = []
        with suppress(PermissionError):  # another user's: no child of ours
            fields = _read_stat(pid)
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(pid)
    for parent in found:
        found += children.get(parent, [])
    return found


def iterate_stopping_family(root: int, still_s: float = STILL_S) -> Iterator[int]:
    """`root` and its descendants, parents first, for a caller who stops each before the next.

    A process that is amid `fork` when the signal comes still starts that child, which has no
    signal of its own. So the family is read again until a reading that began when all of them
    stood still finds no new one; the wait for them to stand still ends after `still_s`.
    """
    has_lists = Path(f"/proc/self/task/{os.getpid()}/children").exists()
    list_family = _walk_children if has_lists else list_process_family
    deadline_s = time.monotonic() + still_s
    found: dict[int, None] = {}
    while True:
        are_still = bool(found) and all(map(_is_standing_still, found))
        known = len(found)
        for pid in list_family(root):
            if pid not in found:
                found[pid] = None
                yield pid
        if (are_still and len(found) == known) or time.monotonic() > deadline_s:
            return
        time.sleep(LOOK_AGAIN_S)


def _walk_children(root: int) -> Iterator[int]:
    """`root` and its descendants by the kernel's lists of each task's children, read one by one.

    They are whole for a process that stands still (proc_pid_task(5)), and reading them takes a
    fraction of what it takes to look at every process of the host.
    """
    found = [root]
    for pid in found:
        yield pid
        for task in _list_tasks(pid):
            found += map(int, _read(task / "children").split())


def _is_standing_still(pid: int) -> bool:
    """Return whether every task of `pid` is stopped or ended; True for one that we may not
    signal.
    """
    for task in _list_tasks(pid):
        fields = _read(task / "stat").rpartition(b")")[2].split()
        if fields and fields[0] not in STILL:
            return not _may_signal(pid)
    return True


def _may_signal(pid: int) -> bool:
    """Return whether it is there, and ours to stop."""
    with suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


def _list_tasks(pid: int) -> list[Path]:
    with suppress(PermissionError):
        return list_threads(pid)
    return []


def _read(file: Path) -> bytes:
    """Return a file of the kernel's; empty if its process is gone or not ours to see."""
    with suppress(OSError), file.open("rb", buffering=0) as opened:
        return opened.read() or b""
    return b""


def read_ticks_ns(pid: int) -> tuple[int, int]:
    """CPU in user mode and in the kernel, of `pid` and of all its descendants that have ended and
    were waited for, in ns but each true to a tick.
    """
    fields = _read_stat(pid)
    if len(fields) < 15:
        return 0, 0
    user, system, child_user, child_system = (int(text) * TICK_NS for text in fields[11:15])
    return user + child_user, system + child_system


def read_cpu_ns(pid: int) -> int:
    """CPU of all threads of `pid`, ended ones too, true to the ns; 0 where it is gone.

    The clock's number is made as glibc's `clock_getcpuclockid` makes it; `/proc/PID/schedstat`
    would be as fine, but knows the first thread only.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ESRCH):
            return 0
        raise


def sum_cpu_ns(pids: list[int]) -> int:
    """CPU of `pids`, and to a tick that of their children that have ended and were waited for."""
    # one process after the other: a child that ends meanwhile is missed, not counted twice
    return sum(read_cpu_ns(pid) + TICK_NS * sum(map(int, _read_stat(pid)[13:15])) for pid in pids)


def read_start_ticks(pid: int) -> int:
    """When a process began, in ticks since the machine did; 0 where it is gone."""
    fields = _read_stat(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def has_ended(pid: int) -> bool:
    """Return whether it is gone, or dead and not waited for yet."""
    fields = _read_stat(pid)
    return not fields or fields[0] in (b"Z", b"X", b"x")


def list_threads(pid: int) -> list[Path]:
    """Return the folders of the living threads of `pid`; none if it ends, even while they are read.

    `Path.glob` would raise then: a backend that ended between two looks cost a run its trial.
    """
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except PermissionError:
        raise
    except OSError:
        return []


def read_threads_ns(pid: int) -> dict[int, tuple[int, int]]:
    """How long each living thread of `pid` has run, and how long it stood ready and waited for a
    core, in ns, by its number (`/proc/PID/task/TID/schedstat`: sched-stats.rst).
    """
    read = {
        int(thread.name): read_text(thread / "schedstat").split() for thread in list_threads(pid)
    }
    return {thread: (int(words[0]), int(words[1])) for thread, words in read.items() if words}


def read_pairs(path: Path) -> dict[str, int]:
    lines = (line.split() for line in read_text(path).splitlines())
    return {w[0].rstrip(":"): int(w[1]) for w in lines if len(w) > 1 and w[1].isdigit()}


def set_session_niceness(pid: int, number: int) -> int | None:
    """Give the session of a process a nice value among all sessions; return the one that it had.
    None where the kernel knows none, and a process' own value counts among all processes: with
    autogroups that one counts within its session alone (sched(7)).
    """
    file = Path(f"/proc/{pid}/autogroup")
    if read_text(AUTOGROUP).strip() != "1" or not (found := read_text(file)):
        return None
    for _ in range(ASKED):
        with suppress(BlockingIOError):
            file.write_text(str(number))
            return int(found.split()[-1])
        time.sleep(ASKED_EVERY_S)
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _read_stat(pid: int) -> list[bytes]:
    """The fields of `/proc/PID/stat` from the state on (proc_pid_stat(5), where it is field 3).

    Read as bytes: every process of the machine is, several times a phase.
    """
    try:
        with Path(f"/proc/{pid}/stat").open("rb", buffering=0) as file:
            return (file.read() or b"").rpartition(b")")[2].split()
    except PermissionError:
        raise
    except OSError:
        return []


def read_text(path: Path) -> str:
    """Return a file of the kernel's; empty if its process is gone."""
    try:
        return path.read_text()
    except PermissionError:
        raise
    except OSError:
        return ""
