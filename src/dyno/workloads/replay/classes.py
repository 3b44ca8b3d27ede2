"""The classes of a log's statements: how often, how long, how many rows, by whom and when. Nothing
is played, and memory grows with the different statements alone.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from dyno.workloads.replay.logs import OTHERS, Different, Log, LogEntry, Reasons
from dyno.workloads.replay.sessions import pause_collector
from dyno.workloads.replay.statements import Kind

#: Durations are counted in steps of this ratio; a percentile is within half of one.
RATIO = 1.05
_STEPS = 1 / math.log(RATIO)
#: Users and hours that are counted apart.
APART = 1000
HOUR_S = 3600


@dataclass
class LoggedClass:
    """Statements that differ in literals only; those whose duration the log has are `timed`, and
    rows are None if it has none. `hours` since 1970.
    """

    digest: str
    kind: Kind
    line: int
    calls: int = 0
    timed: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0
    rows_sent: int | None = None
    rows_read: int | None = None
    users: Counter[str] = field(default_factory=Counter)
    hours: Counter[int] = field(default_factory=Counter)
    _steps: dict[int, int] = field(default_factory=dict)

    def add(self, entry: LogEntry) -> None:
        self.calls += 1
        at_s, duration_s, user = entry.at_s, entry.duration_s, entry.user
        hour = int(at_s // HOUR_S)
        if hour in self.hours or len(self.hours) < APART:
            self.hours[hour] += 1
        if user and (user in self.users or len(self.users) < APART):
            self.users[user] += 1
        if duration_s > 0:
            self.timed += 1
            self.total_s += duration_s
            step = int(math.log(duration_s) * _STEPS // 1)
            self._steps[step] = self._steps.get(step, 0) + 1
            if duration_s > self.longest_s:
                self.longest_s = duration_s
        if entry.rows_sent is not None:
            self.rows_sent = (self.rows_sent or 0) + entry.rows_sent
        if entry.rows_read is not None:
            self.rows_read = (self.rows_read or 0) + entry.rows_read

    @property
    def mean_s(self) -> float | None:
        return self.total_s / self.timed if self.timed else None

    def find_percentile_s(self, percent: float) -> float | None:
        wanted, seen = math.ceil(self.timed * percent / 100), 0
        for step, count in sorted(self._steps.items()):
            seen += count
            if seen >= wanted:
                return min(math.exp((step + 0.5) / _STEPS), self.longest_s)
        return None


@dataclass
class LogDigest:
    """A log by its classes, the most expensive first (where no duration is logged: the most
    frequent), and what belongs to none.
    """

    classes: list[LoggedClass] = field(default_factory=list)
    left_out: Reasons = field(default_factory=Reasons)
    began_s: float = math.inf
    ended_s: float = 0.0

    @property
    def calls(self) -> int:
        return sum(it.calls for it in self.classes)

    @property
    def total_s(self) -> float:
        return sum(it.total_s for it in self.classes)


def count_classes(log: Log) -> LogDigest:
    """The classes of a log, which is read to its end."""
    with pause_collector():
        return _count_entries(log)


def _count_entries(log: Log) -> LogDigest:
    different, found = Different(log.dialect), LogDigest()
    by_number = dict[int, LoggedClass]()
    for entry in log.entries:
        at_s = entry.at_s
        if at_s < found.began_s:
            found.began_s = at_s
        if at_s > found.ended_s:
            found.ended_s = at_s
        if entry.letters or entry.lost:
            why = entry.lost or "too long"
            found.left_out.add(why, entry.line, " ".join(entry.sql.split())[:60])
            continue
        number, statement = different.read(entry)
        known = by_number.get(number)
        if known is None:
            if statement.kind == "unknown":
                found.left_out.add(f"not understood: {statement.why}", entry.line, entry.sql[:60])
                continue
            kind, digest = statement.kind, statement.digest if number >= 0 else OTHERS
            known = by_number[number] = LoggedClass(digest, kind, entry.line)
        known.add(entry)
    found.classes = sorted(by_number.values(), key=lambda it: (-it.total_s, -it.calls, it.line))
    return found
