"""Where a request's time goes inside the kernel: queued, dispatched to the device, completed.

These are blktrace's Q, D and C. They are read as tracepoints by perf_event_open(2), which end with
their file descriptors, so no tracing stays switched on however we end. It takes root, and a tracing
file system that tells the events' numbers and fields. Kernels of some virtual machines write no
sample of a completion that wakes an idle core: where few are whole, there is no trace.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from dyno.errors import HostError
from dyno.host.checks import PERF_EVENT_OPEN

#: Where the tracing file system is mounted, of old kernels within debugfs.
ROOTS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
#: The events, in a request's own order.
QUEUED, DISPATCHED, COMPLETED = "block_bio_queue", "block_rq_issue", "block_rq_complete"
EVENTS = (QUEUED, DISPATCHED, COMPLETED)
#: perf_event_attr as first published, and of linux/perf_event.h what is used here.
ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
TYPE_TRACEPOINT, SAMPLE_TIME, SAMPLE_RAW, DISABLED = 2, 1 << 2, 1 << 10, 1
ENABLE, DISABLE, SET_OUTPUT, SET_FILTER = 0x2400, 0x2401, 0x2405, 0x40082406
CLOSE_ON_EXEC, RECORD_SAMPLE = 8, 9
#: The ring of a core: a page of its own, and data pages by a power of two. A full one keeps what
#: came first.
PAGE, DATA_PAGES = mmap.PAGESIZE, 512
HEAD = 1024
RECORD, SAMPLE = struct.Struct("=IHH"), struct.Struct("=QI")


@dataclass(frozen=True)
class RequestTimes:
    """Means over so many requests, in ns: from queued to dispatched, and on to completed."""

    requests: int
    queue_ns: float
    device_ns: float


@dataclass(frozen=True)
class _Event:
    """A tracepoint: its number, and where the fields `dev` and `sector` lie in a sample."""

    name: str
    number: int
    dev: int
    sector: int


@dataclass
class RequestTrace:
    """What was seen of one device, by time, once the tracing has ended."""

    seen: list[tuple[int, str, int]] = field(default_factory=list)

    def measure(self) -> RequestTimes | None:
        """The means over requests of which all three events were seen; None without any."""
        queued: dict[int, int] = {}
        dispatched: dict[int, int] = {}
        times: list[tuple[int, int]] = []
        for time_ns, event, sector in sorted(self.seen):
            if event == QUEUED:
                queued[sector] = time_ns
                dispatched.pop(sector, None)
            elif event == DISPATCHED and sector in queued:
                dispatched[sector] = time_ns
            elif event == COMPLETED and sector in dispatched:
                sent = dispatched.pop(sector)
                times.append((sent - queued.pop(sector), time_ns - sent))
        if not times:
            return None
        return RequestTimes(len(times), *(fmean(part) for part in zip(*times, strict=True)))


@contextmanager
def trace_requests(numbers: Sequence[str], roots: Sequence[Path] = ROOTS) -> Iterator[RequestTrace]:
    """Traces the devices (`8:1`) while its body runs; `HostError` where the host does not let us.

    All devices that a request may be named by are given: a partition and its disk.
    """
    events = [_read_event(name, roots) for name in EVENTS]
    made = RequestTrace()
    with ExitStack() as stack:
        rings = [_open_ring(core, events, numbers, stack) for core in _list_cores()]
        for ring in rings:
            ring.switch(ENABLE)
        try:
            yield made
        finally:
            for ring in rings:
                ring.switch(DISABLE)
        made.seen += [each for ring in rings for each in ring.read()]


def _list_cores() -> list[int]:
    text = Path("/sys/devices/system/cpu/online").read_text()
    spans = [part.partition("-") for part in text.strip().split(",")]
    return [core for low, _, high in spans for core in range(int(low), int(high or low) + 1)]


def _read_event(name: str, roots: Sequence[Path]) -> _Event:
    for root in roots:
        folder = root / "events" / "block" / name
        try:
            number, text = int((folder / "id").read_text()), (folder / "format").read_text()
        except (OSError, ValueError):
            continue
        offsets = dict(re.findall(r"\b(dev|sector);\s+offset:(\d+);", text))
        if {"dev", "sector"} <= offsets.keys():
            return _Event(name, number, int(offsets["dev"]), int(offsets["sector"]))
    raise HostError("the kernel's block events are not visible", cause="no tracefs, or no root")


@dataclass(frozen=True)
class _Ring:
    """A core's events, which share the memory of the first."""

    handles: dict[int, _Event]
    memory: mmap.mmap

    def switch(self, request: int) -> None:
        """Begins or ends all of them."""
        for handle in self.handles:
            fcntl.ioctl(handle, request, 0)

    def read(self) -> Iterator[tuple[int, str, int]]:
        """Time in ns, event and sector of each sample, oldest first; told apart by the event's
        number, which each sample begins with.
        """
        by_number = {event.number: event for event in self.handles.values()}
        (head,) = struct.unpack_from("=Q", self.memory, HEAD)
        at, end = PAGE, PAGE + min(head, DATA_PAGES * PAGE)
        while at + RECORD.size <= end:
            kind, _, size = RECORD.unpack_from(self.memory, at)
            if size < RECORD.size or at + size > end:
                return
            if kind == RECORD_SAMPLE:
                time_ns, _ = SAMPLE.unpack_from(self.memory, at + RECORD.size)
                raw = at + RECORD.size + SAMPLE.size
                (number,) = struct.unpack_from("=H", self.memory, raw)
                if event := by_number.get(number):
                    (sector,) = struct.unpack_from("=Q", self.memory, raw + event.sector)
                    yield time_ns, event.name, sector
            at += size


def _open_ring(
    core: int, events: Sequence[_Event], numbers: Sequence[str], stack: ExitStack
) -> _Ring:
    wanted = " || ".join(f"dev == {_encode_number(each)}" for each in dict.fromkeys(numbers))
    handles: dict[int, _Event] = {}
    memory: mmap.mmap | None = None
    for event in events:
        handle = _open_event(core, event)
        stack.callback(os.close, handle)
        fcntl.ioctl(handle, SET_FILTER, wanted.encode() + b"\0")
        if memory is None:
            size = (1 + DATA_PAGES) * PAGE
            memory = mmap.mmap(handle, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            stack.callback(memory.close)
        else:
            fcntl.ioctl(handle, SET_OUTPUT, next(iter(handles)))
        handles[handle] = event
    assert memory is not None
    return _Ring(handles, memory)


def _encode_number(word: str) -> int:
    """`8:1` as the kernel counts devices inside."""
    major, minor = map(int, word.split(":"))
    return major << 20 | minor


def _open_event(core: int, event: _Event) -> int:
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        raise HostError(f"block events cannot be read on {platform.machine()}")
    words = (TYPE_TRACEPOINT, ATTRIBUTES.size, event.number, 1, SAMPLE_TIME | SAMPLE_RAW, 0)
    attributes = ctypes.create_string_buffer(ATTRIBUTES.pack(*words, DISABLED, 0, 0, 0))
    arguments = (attributes, *map(ctypes.c_int, (-1, core, -1)), ctypes.c_ulong(CLOSE_ON_EXEC))
    library = ctypes.CDLL(None, use_errno=True)
    handle = library.syscall(ctypes.c_long(number), *arguments)
    if handle < 0:
        cause = os.strerror(ctypes.get_errno()).lower()
        raise HostError("the kernel's block events are refused", cause=cause)
    return int(handle)
