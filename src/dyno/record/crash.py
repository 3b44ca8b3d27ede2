"""What `dyno crash` leaves behind (`crash.json`): kills of one engine, or of several in turn, and
what each then had of the commits that it had acknowledged.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dyno.record.run import Candidate
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require
from dyno.record.trial import Metric

#: The record of such a run in its folder.
CRASH_RECORD = "crash.json"


class CrashPlay(Record):
    """One kill, `moment_s` after the first commits, and the restart after it.

    `acknowledged` are the commits whose answers came, `in_doubt` those that were asked for and not
    answered, which may be there or not. `lost` and `torn` tell the first of them by name, the
    counts all; `passed_count` are lost ones of a client of which a later one is there; `unknown`
    are rows that nobody asked for. `failure` says why the engine did not recover, `failure_words`
    are its own last ones, and `recovery_s`, from its start to its first answer, is None then.
    `damage` is what its own checks found. `rate_per_s` are the commits from the first of each
    client until the cut, to which the one under way adds a half.

    Of the layer: `lost_bytes` in `files`, and `kept_sectors` that stayed by chance; the `names` of
    files that are as they were before; the `syncs` that were done; `unseen` says what it cannot
    see, by name.
    """

    number: Int64
    moment_s: Finite
    acknowledged: Int64
    in_doubt: Int64
    lost_count: Int64 = 0
    torn_count: Int64 = 0
    passed_count: Int64 = 0
    lost: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    failure: str = ""
    failure_words: str = ""
    recovery_s: Finite | None = None
    rate_per_s: Finite | None = None
    lost_bytes: Int64 = 0
    files: Int64 = 0
    kept_sectors: Int64 = 0
    names: Int64 = 0
    syncs: Int64 = 0
    unseen: tuple[str, ...] = ()

    @property
    def loses(self) -> bool:
        """Whether anything that was acknowledged is gone or in pieces."""
        return bool(self.lost_count or self.is_broken)

    @property
    def is_broken(self) -> bool:
        """Whether a commit is in pieces, or the engine, and not only its last commits gone."""
        return bool(self.torn_count or self.failure or self.damage)

    @property
    def first(self) -> str:
        """What is gone first; empty where nothing is."""
        named = next(iter((*self.lost, *self.torn, *self.damage)), "")
        return self.failure.partition("\n")[0] or named


class CrashSide(Record):
    """An engine of a run, with its kills. `promise` is what a commit survives by its settings
    (`engines.SURVIVES`), `decided_by` names these, and `seen_with` are those that Dyno set so that
    the layer sees all.
    """

    candidate: Candidate
    clients: Int64
    plays: tuple[CrashPlay, ...] = ()
    promise: str = ""
    decided_by: dict[str, str] = {}
    seen_with: dict[str, str] = {}

    def __post_init__(self) -> None:
        require(self.clients > 0, "clients", "above 0")
        numbers = [play.number for play in self.plays]
        require(numbers == [*range(1, len(numbers) + 1)], "plays", "numbered from 1 on")

    @property
    def loses(self) -> bool:
        """Whether any kill took anything."""
        return any(it.loses for it in self.plays)

    @property
    def recoveries_s(self) -> list[float]:
        """The times to recover of those that did."""
        return [it.recovery_s for it in self.plays if it.recovery_s is not None]


class CrashRun(Record):
    """A run of `dyno crash`. Each of its `times` kills comes within `within_s` of the first commits
    of `clients` connections. `torn`: sectors that were not synced stay by chance; `silent`: syncs
    did nothing. The fields of `CrashSide` are those of the first engine, the base, with which
    `others` are compared by `margin_percent`.
    """

    name: str
    created_utc: str
    command: str
    seed: Int64
    workload: str
    candidate: Candidate
    times: Int64
    clients: Int64
    within_s: Finite
    plays: tuple[CrashPlay, ...] = ()
    torn: bool = False
    silent: bool = False
    promise: str = ""
    decided_by: dict[str, str] = {}
    seen_with: dict[str, str] = {}
    others: tuple[CrashSide, ...] = ()
    margin_percent: Finite = 10.0
    host: dict[str, str] = {}
    dyno: str = ""
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        require(self.times > 0 and self.margin_percent > 0, "times and margin_percent", "above 0")
        most = max(len(side.plays) for side in self.sides)
        require(most <= self.times, "plays", "at most so many as times")
        names = {side.candidate.name for side in self.sides}
        require(len(names) == len(self.sides), "sides", "of different names")

    @property
    def sides(self) -> tuple[CrashSide, ...]:
        """All engines, the base first."""
        own = {name: getattr(self, name) for name in CrashSide.__struct_fields__}
        return (CrashSide(**own), *self.others)

    def change_side(self, place: int, **changes: Any) -> CrashRun:
        """Return the run with other fields of one of its sides."""
        if place == 0:
            return replace(self, **changes)
        others = [*self.others]
        others[place - 1] = replace(others[place - 1], **changes)
        return replace(self, others=tuple(others))

    @property
    def is_over(self) -> bool:
        """Whether no kill is missing."""
        return all(len(side.plays) == self.times for side in self.sides)

    @property
    def metric(self) -> Metric:
        """The time to recover."""
        return Metric(self.workload, "", "", "recovery", "s", "lower")

    @property
    def rate_metric(self) -> Metric:
        """Acknowledged commits a second before the cut."""
        return Metric(self.workload, "", "", "rate_per_s", "commits/s", "higher")
