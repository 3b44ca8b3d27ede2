"""What `dyno crash` leaves behind (`crash.json`): kills of one engine, and of each what it had of
the commits that it had acknowledged.
"""

from __future__ import annotations

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
    `damage` is what its own checks found.

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


class CrashRun(Record):
    """A run of `dyno crash`. Each of its `times` kills comes within `within_s` of the first commits
    of `clients` connections. `torn`: sectors that were not synced stay by chance; `silent`: syncs
    did nothing. `promise` is what a commit survives by the engine's settings (`engines.SURVIVES`),
    `decided_by` names these, and `seen_with` are those that Dyno set so that the layer sees all.
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
    host: dict[str, str] = {}
    dyno: str = ""
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        require(self.times > 0 and self.clients > 0, "times and clients", "above 0")
        numbers = [play.number for play in self.plays]
        require(numbers == [*range(1, len(numbers) + 1)], "plays", "numbered from 1 on")
        require(len(numbers) <= self.times, "plays", "at most so many as times")

    @property
    def metric(self) -> Metric:
        """The time to recover."""
        return Metric(self.workload, "", "", "recovery", "s", "lower")
