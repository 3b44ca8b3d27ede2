"""What a pilot found before the first block, and what it chose for all candidates alike."""

from __future__ import annotations

from dyno.record.schema import Finite, Int64, Record

#: A server is saturated that leaves so much of its cores idle at most.
IDLE_PERCENT = 5.0
#: A workload that changes rows waits for the disk where a server leaves so much idle under one
#: client and some task waited for a disk for so much of the time.
WAITING_IDLE_PERCENT, WAITING_PERCENT = 30.0, 30.0
#: Numbers of connections that such a workload is swept over: what waits for one commit can share
#: its flush with others'.
SWEPT = (1, 8, 32)
#: Where others took more of all cores, what was found idle is not to be relied on.
FOREIGN_PERCENT = 10.0


class TriedLoad(Record):
    """A number of connections, what part of its cores the base's server left idle under it, what
    part of all cores others took meanwhile, how long an event took, how many rows were changed, and
    what percentage of one core the server took afterwards, when nobody asked it; how many events a
    second were done, what an event wrote to storage, and for what part of the time some task of the
    host waited for a disk (None: the kernel does not say, PSI).
    """

    connections: Int64
    idle_percent: Finite
    foreign_percent: Finite = 0.0
    latency_ns_p99: Int64 = 0
    rows_changed: Int64 = 0
    resting_percent: Finite = 0.0
    rate_per_s: Finite = 0.0
    written_bytes_per_event: Finite = 0.0
    disk_wait_percent: Finite | None = None

    @property
    def is_relied_on(self) -> bool:
        """Were others so quiet that it tells of the server?"""
        return self.foreign_percent <= FOREIGN_PERCENT

    @property
    def waits_for_disk(self) -> bool:
        """Changes it rows, with cores idle, while something waits for a disk?"""
        waits = self.disk_wait_percent is None or self.disk_wait_percent >= WAITING_PERCENT
        writes = self.rows_changed > 0 and self.written_bytes_per_event > 0
        return writes and waits and self.idle_percent >= WAITING_IDLE_PERCENT


class Saturation(Record):
    """How many connections a workload is played with, chosen on the candidate `base`.

    `connections` is 0 where none were chosen, and `why` says why: the script's own stand then.
    Where one client waits for the disk, on `base` or another candidate, the workload is `swept`
    over several numbers, each with a verdict of its own.
    """

    workload: str
    base: str
    connections: Int64
    tried: tuple[TriedLoad, ...] = ()
    why: str = ""
    swept: tuple[Int64, ...] = ()

    @property
    def chosen(self) -> TriedLoad:
        """What was found at the number that was chosen."""
        return next(t for t in self.tried if t.connections == self.connections)

    @property
    def is_reached(self) -> bool:
        """Do they saturate the server? Else none of the numbers does, and more do no more; or its
        cores were busy with others' work, which tells nothing of it.
        """
        if self.connections == 0 or self.doubted:
            return False
        return self.chosen.idle_percent <= IDLE_PERCENT

    @property
    def doubted(self) -> TriedLoad | None:
        """What decided, where others took too much of the host meanwhile to rely on it."""
        if not self.tried:
            return None
        decisive = self.chosen if self.connections else self.tried[0]
        return None if decisive.is_relied_on else decisive


class Pilot(Record):
    """What was tried and chosen.

    `pinning` is the control's value that was chosen, empty where a user chose it; `empty_ns` the
    median of an empty answer by pinning, none where that was not asked. `latency_ns_p99` is that of
    an event, by workload, on the candidate where it takes longest, by which its slices were
    chosen; none where they were not. `resting_apart_percent` is how much more of one core a
    candidate takes than another while nobody asks it, where that is why they stand still without a
    turn though the workload changes no row. `untried` says, by workload, why a candidate
    could not be tried, so that slices are the default ones and engines stand still without a turn.
    """

    pinning: str = ""
    empty_ns: dict[str, Int64] = {}
    saturation: tuple[Saturation, ...] = ()
    latency_ns_p99: dict[str, Int64] = {}
    resting_apart_percent: dict[str, Finite] = {}
    untried: dict[str, str] = {}
