"""A machine as a survey sees it: files below one root, mounts, other processes' work between two
samples of /proc, and the few questions to the kernel.

The root is a parameter so that a test can make a machine of a folder. A mount tells which disk lies
under a folder; what no file tells (free space, io_uring, whether the clock is kept right) is asked
of the kernel.

The host's id tells nothing of it. It is the same from boot to boot and after every upgrade, since
it is made of nothing that is measured. Copies of one disk image may share it: those who clone
machines gives each its own /etc/machine-id (systemd-machine-id-setup(1)).
"""

from __future__ import annotations

import ctypes
import errno
import hmac
import os
import platform
import re
import shutil
import socket
import struct
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from dyno.errors import UsageError
from dyno.printable import escape_line

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PRESSURES = ("cpu", "io", "memory")


@dataclass(frozen=True)
class Sample:
    """Counters since boot: ticks over all cores, ticks by process, µs of pressure by resource."""

    steal: int
    busy: int
    idle: int
    processes: dict[int, tuple[str, int]]
    pressure_us: dict[str, int]


@dataclass(frozen=True)
class LoadSamples:
    before: Sample
    after: Sample
    seconds: float

    @property
    def steal_percent(self) -> float:
        """Return the share of all cores' time that the hypervisor gave to other guests."""
        steal = self.after.steal - self.before.steal
        rest = self.after.busy + self.after.idle - self.before.busy - self.before.idle
        return 100 * steal / max(1, steal + rest)

    @property
    def busy_percent(self) -> float:
        """Return the share of all cores' time that processes used; ours sleeps meanwhile."""
        busy = self.after.busy - self.before.busy
        rest = self.after.steal + self.after.idle - self.before.steal - self.before.idle
        return 100 * busy / max(1, busy + rest)

    def compute_pressure_percent(self) -> dict[str, float]:
        """The share of the time in which some task had to wait for the resource."""
        return {
            name: (us - self.before.pressure_us[name]) / 1e4 / self.seconds
            for name, us in self.after.pressure_us.items()
            if name in self.before.pressure_us
        }

    def find_busiest(self) -> list[tuple[str, float]]:
        """Processes with their percent of one core, the busiest first; idle ones are left out."""
        spent = [
            (name, ticks - self.before.processes.get(pid, (name, 0))[1])
            for pid, (name, ticks) in self.after.processes.items()
        ]
        percent = [(name, 100 * t / TICKS_PER_S / self.seconds) for name, t in spent if t > 0]
        return sorted(percent, key=lambda each: -each[1])


def sample(text: Callable[[str], str], names: Iterable[str]) -> Sample | None:
    """The counters now; None where there is no `/proc/stat`. Our own process is left out."""
    words = text("/proc/stat").partition("\n")[0].split()[1:9]
    if len(words) < 8:
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, words)
    own = text("/proc/self/stat").partition(" ")[0]
    pids = [name for name in names if name.isdigit() and name != own]
    found = {int(pid): _parse_process(text(f"/proc/{pid}/stat")) for pid in pids}
    busy = user + nice + system + irq + softirq
    pressures = {name: _parse_total(text(f"/proc/pressure/{name}")) for name in PRESSURES}
    seen = {name: total for name, total in pressures.items() if total is not None}
    return Sample(steal, busy, idle + iowait, found, seen)


def _parse_process(line: str) -> tuple[str, int]:
    """A process's name and ticks, user and system (proc_pid_stat(5): fields 2, 14, 15)."""
    head, _, tail = line.rpartition(")")
    fields = tail.split()
    return head.partition("(")[2], int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0


def _parse_total(text: str) -> int | None:
    """`total` of the line `some`, in µs."""
    total = text.partition("\n")[0].rpartition("total=")[2]
    return int(total) if total.isdigit() else None


if TYPE_CHECKING:
    pass


#: `io_uring_setup` has one number on every architecture (it is younger than their agreement).
IO_URING_SETUP = 425
#: perf_event_open(2): its number by machine, and what `perf_event_attr` begins with, whose first
#: published size was 64 bytes.
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
PERF_TYPE_SOFTWARE, PERF_COUNT_CPU_CLOCK, PERF_ATTR_BYTES = 1, 0, 64
PERF_DISABLED, PERF_EXCLUDE_KERNEL, PERF_CLOSE_ON_EXEC = 1, 1 << 5, 1 << 3
PERIOD_NS = 1_000_000
#: timex(2): `status` lies behind one int and four longs; this bit of it is STA_UNSYNC.
TIMEX_STATUS, STA_UNSYNC = 40, 0x40
TIMEX_BYTES = 256


def measure_free(folder: Path) -> tuple[int, int]:
    """Bytes that are free, and bytes in all, on the file system of `folder`."""
    usage = shutil.disk_usage(folder)
    return usage.free, usage.total


def probe_uring() -> int:
    """Why the kernel refuses io_uring, or 0.

    It is asked for a ring without entries at no address, which it never makes: where it is willing
    it finds fault with these (EINVAL, EFAULT), else with us (EPERM, ENOSYS).
    """
    code = _call_kernel(IO_URING_SETUP, ctypes.c_uint(0), None)
    return 0 if code in (errno.EINVAL, errno.EFAULT) else code


def _call_kernel(number: int, *arguments: object) -> int:
    """The error number of a system call that answers a file, which is closed; 0 for none."""
    library = ctypes.CDLL(None, use_errno=True)
    answer = library.syscall(ctypes.c_long(number), *arguments)
    if answer >= 0:
        os.close(answer)
        return 0
    return ctypes.get_errno()


def probe_perf(with_kernel: bool) -> int:
    """Why the kernel refuses to sample this process's CPU time, or 0; `with_kernel`: and the time
    that it spends inside the kernel.

    It is asked for an event of `cpu-clock`, which is closed at once.
    """
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        return errno.ENOSYS
    flags = PERF_DISABLED if with_kernel else PERF_DISABLED | PERF_EXCLUDE_KERNEL
    words = (PERF_TYPE_SOFTWARE, PERF_ATTR_BYTES, PERF_COUNT_CPU_CLOCK, PERIOD_NS, 0, 0, flags)
    attributes = ctypes.create_string_buffer(struct.pack("=IIQQQQQ", *words), PERF_ATTR_BYTES)
    arguments = (attributes, *map(ctypes.c_int, (0, -1, -1)), ctypes.c_ulong(PERF_CLOSE_ON_EXEC))
    return _call_kernel(number, *arguments)


def is_clock_synchronised() -> bool | None:
    """Return whether NTP or the like keeps the kernel's clock right: adjtimex(2) without a
    change.
    """
    library = ctypes.CDLL(None, use_errno=True)
    timex = ctypes.create_string_buffer(TIMEX_BYTES)
    if ctypes.sizeof(ctypes.c_long) != 8 or library.adjtimex(timex) < 0:
        return None
    status = int.from_bytes(timex.raw[TIMEX_STATUS : TIMEX_STATUS + 4], "little")
    return not status & STA_UNSYNC


@dataclass(frozen=True)
class Machine:
    """`data` is where the engines' data will lie; it need not be there yet.

    Steal and other load are counted for `watch_s` seconds, or not looked at where that is 0.
    `pause` waits; `free` answers (bytes free, bytes in all) of a folder; `uring_errno` why
    io_uring is refused (0: it is not), `perf_errno` why sampling CPU time is, with the kernel's or
    without; `clock_synchronised` whether the kernel's clock is kept
    in step (None: unknown).
    """

    root: Path = Path("/")
    data: Path = Path("/")
    watch_s: float = 0.0
    pause: Callable[[float], None] = time.sleep
    free: Callable[[Path], tuple[int, int]] = measure_free
    uring_errno: Callable[[], int] = probe_uring
    perf_errno: Callable[[bool], int] = probe_perf
    clock_synchronised: Callable[[], bool | None] = is_clock_synchronised

    def find_path(self, path: str | PurePath) -> Path:
        return self.root / str(path).lstrip("/")

    def read_text(self, path: str | PurePath) -> str:
        """A file's text without the blanks around it; empty where it cannot be read."""
        with suppress(OSError, UnicodeDecodeError):
            return self.find_path(path).read_text().strip()
        return ""

    def read_number(self, path: str | PurePath) -> int | None:
        text = self.read_text(path)
        return int(text) if text.lstrip("-").isdigit() else None

    def read_after(self, path: str | PurePath, key: str) -> str:
        """The value behind ``key :`` in a file of such lines."""
        lines = (line.partition(":") for line in self.read_text(path).splitlines())
        return next((value.strip() for name, _, value in lines if name.strip() == key), "")

    def list_names(self, path: str | PurePath) -> list[str]:
        with suppress(OSError):
            return sorted(each.name for each in self.find_path(path).iterdir())
        return []

    def list_usable_cores(self) -> list[int]:
        """The cores that this process may run on (proc_pid_status(5))."""
        return parse_spans(self.read_after("/proc/self/status", "Cpus_allowed_list"))

    @cached_property
    def watched(self) -> LoadSamples | None:
        """Return what happened in `watch_s` seconds; None if that is 0, or there is no /proc.

        All subjects share one watch.
        """
        before = self._sample() if self.watch_s > 0 else None
        if before is None:
            return None
        began = time.monotonic()
        self.pause(self.watch_s)
        took_s = max(self.watch_s, time.monotonic() - began)
        after = self._sample()
        return LoadSamples(before, after, took_s) if after else None

    def _sample(self) -> Sample | None:
        return sample(self.read_text, self.list_names("/proc"))


def parse_spans(text: str) -> list[int]:
    parts = (part.partition("-") for part in text.split(",") if part)
    return [n for low, _, high in parts for n in range(int(low), int(high or low) + 1)]


@dataclass(frozen=True)
class Mount:
    """A mounted file system: `number` is its device's `major:minor`, 0:… where it has none."""

    point: str
    device: str
    kind: str
    options: frozenset[str]
    number: str


def find_mount(machine: Machine, folder: Path) -> Mount | None:
    """The file system that `folder` lies on, or will lie on; of several at one place the last."""
    lines = machine.read_text("/proc/self/mountinfo").splitlines()
    mounts = [mount for line in lines if (mount := _read(line))]
    around = [m for m in mounts if folder.is_relative_to(m.point)]
    longest = max((len(m.point) for m in around), default=0)
    return next((m for m in reversed(around) if len(m.point) == longest), None)


def _read(line: str) -> Mount | None:
    """A line of mountinfo (proc_pid_mountinfo(5)); `\\040` is a blank there."""
    left, dash, right = line.partition(" - ")
    own, source = left.split(), right.split()
    if not dash or len(own) < 6 or len(source) < 2:
        return None
    point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), own[4])
    options = {*own[5].split(","), *"".join(source[2:3]).split(",")} - {""}
    return Mount(point, source[1], source[0], frozenset(options), own[2])


def find_disk(machine: Machine, number: str) -> Path | None:
    """The folder in /sys of the disk under a device (`8:1`): a partition's own, a mapping's first
    one.
    """
    block = machine.find_path(f"/sys/dev/block/{number}")
    if not block.exists():
        return None
    block = block.resolve()
    while slaves := sorted(block.glob("slaves/*")):
        block = slaves[0].resolve()
    disk = block.parent if (block / "partition").exists() else block
    return Path("/") / disk.relative_to(machine.root.resolve())


#: What machine-id(5) calls an application's own id: another application's hash is another one.
APPLICATION = bytes.fromhex("6e2b1f0c9a5d4e778c31d2f6a4b90e58")
#: Digits of an id: 64 bits, so that two of a million hosts hardly share one.
DIGITS = 16
#: Where a machine's own id lies, the best first. Only root reads the board's.
ID_FILES = (
    "/etc/machine-id",
    "/var/lib/dbus/machine-id",
    "/sys/class/dmi/id/product_uuid",
)
#: Ids of many machines: a board's that its maker has not filled in.
OF_NOBODY = {"03000200040005000006000700080009"}
#: A container's name is often the beginning of its own id: another one for each.
_CONTAINER_NAME = re.compile(r"[0-9a-f]{12}")

GROUP_LENGTH_MAX = 64


def read_host_id(machine: Machine, ask_name: Callable[[], str] = socket.gethostname) -> str:
    """The id of the machine, hashed for Dyno alone: HMAC-SHA256 keyed by the machine's own, as
    machine-id(5) asks, `DIGITS` hexadecimal digits. Of the host's name where it has no id; empty
    where that name is a container's, which is new each time.
    """
    for file in ID_FILES:
        own = machine.read_text(file).replace("-", "").lower()
        if re.fullmatch("[0-9a-f]{32}", own) and len(set(own)) > 1 and own not in OF_NOBODY:
            return _hash(bytes.fromhex(own))
    name = ask_name().strip().lower()
    if name in {"", "localhost"} or _CONTAINER_NAME.fullmatch(name):
        return ""
    return _hash(name.encode())


def _hash(own: bytes) -> str:
    return hmac.new(own, APPLICATION, sha256).hexdigest()[:DIGITS]


def read_host_group() -> str:
    """Return the group that this host is said to be of, or "". `UsageError` for an invalid name."""
    name = os.environ.get("DYNO_HOST_GROUP", "")
    return check_host_group(name) if name else ""


def check_host_group(name: str) -> str:
    """Return `name` if it is valid for a group of hosts; else raise `UsageError`."""
    hint = f"up to {GROUP_LENGTH_MAX} printable characters, such as ci"
    if not name.strip():
        raise UsageError("DYNO_HOST_GROUP needs a name", hint=hint)
    if len(name) > GROUP_LENGTH_MAX:
        raise UsageError(f"the host group's name is too long ({len(name)} characters)", hint=hint)
    if not name.isprintable() or escape_line(name) != name or name != name.strip():
        shown = escape_line(name)
        raise UsageError(
            f"'{shown}' is no name of a host group",
            cause="it has control characters, or blanks at an end",
            hint=hint,
        )
    return name
