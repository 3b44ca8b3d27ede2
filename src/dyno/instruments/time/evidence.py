"""What an engine holds at a trial's end, how safely, and on what storage: evidence for audits.

Part of it is the ledger: the engine's own counts beside what the script says it put there, and the
values that users wrote last under sampled keys. The driver hands over digests of these, not the
values: `compute_digest` makes the same ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from msgspec.structs import replace

from dyno.driver import WrittenKeys
from dyno.driver.plan import Plan
from dyno.engines import Ask, ChecksIntegrity, Engine, Server, WeighsData
from dyno.errors import DynoError
from dyno.host.checks import find_file_system
from dyno.instruments.time.job import Tools, TrialJob
from dyno.record import DataCondition, Evidence, LedgerEntry, StorageCondition
from dyno.record.integrity import IntegrityCheck

#: Rows as the driver hands them over.
_Rows = list[list[str | None]]
#: A record holds an answer's rows up to so many, and so many letters.
HELD_ROWS, HELD_LETTERS = 200, 16_384


def read_ledger(
    plan: Plan, counters: dict[str, int], written: Sequence[WrittenKeys], tools: Tools
) -> tuple[Evidence, ...]:
    """What the engine says it holds beside what the script says it put there.

    The script is asked for its ledger anew, since the SQL may depend on the engine. Nothing is
    asked of `null`, which holds nothing.
    """
    if plan.session["kind"] == "null":
        return ()
    known = {each.name: LastWrites.from_written(each) for each in written}
    kind = str(plan.session["kind"])
    ledger = [
        (entry, known.get(entry.written, LastWrites()))
        for entry in tools.describe(plan).ledger
        if not entry.unchecked
    ]
    asked = [last.build_question(entry) for entry, last in ledger if entry.sql]
    answers = iter(tools.ask(plan.session, asked) if asked else ())
    return tuple(
        replace(_compute_evidence(entry, next(answers), counters, last), session=kind)
        if entry.sql
        else _compare_own_sum(entry, counters)
        for entry, last in ledger
    )


def _compute_evidence(
    entry: LedgerEntry, rows: _Rows, counters: dict[str, int], last: LastWrites
) -> Evidence:
    """A number that the script foretells or, where it does not, the rows themselves."""
    if entry.written:
        return Evidence(entry.name, entry.sql, last.keys, str(last.count_kept(rows)))
    if entry.counters or entry.equals is not None:
        expected = (entry.equals or 0) + _sum_counters(entry, counters)
        return Evidence(entry.name, entry.sql, expected, _extract_cell(rows))
    digest = compute_rows_digest(rows)
    return Evidence(entry.name, entry.sql, 0, str(len(rows)), digest, _hold_rows(rows))


def _compare_own_sum(entry: LedgerEntry, counters: dict[str, int]) -> Evidence:
    """What the script's counters add up to among themselves."""
    return Evidence(entry.name, "", entry.equals or 0, str(_sum_counters(entry, counters)))


def _sum_counters(entry: LedgerEntry, counters: dict[str, int]) -> int:
    return sum(factor * counters.get(name, 0) for name, factor in entry.counters.items())


def compute_rows_digest(rows: _Rows) -> str:
    """Checksums of the rows as they came, and of the same rows in any order; both are exact."""
    lines = [json.dumps(row) for row in rows]
    both = (hashlib.sha256("\n".join(each).encode()) for each in (lines, sorted(lines)))
    return "".join(each.hexdigest()[:16] for each in both)


def _hold_rows(rows: _Rows) -> tuple[tuple[str | None, ...], ...]:
    """The rows for the record; none where they are too many for it."""
    letters = sum(len(cell or "") for row in rows[:HELD_ROWS] for cell in row)
    is_small = len(rows) <= HELD_ROWS and letters <= HELD_LETTERS
    return tuple(map(tuple, rows)) if is_small else ()


def _extract_cell(rows: _Rows) -> str:
    return str(rows[0][0]) if rows and rows[0] else ""


CGROUPS = Path("/sys/fs/cgroup")


def measure_data_condition(
    engine: Engine, server: Server, requested: dict[str, str], reported: dict[str, str]
) -> DataCondition | None:
    """How much the engine holds, and how safely; to be asked while it runs."""
    return engine.weigh(server, requested, reported) if isinstance(engine, WeighsData) else None


def measure_storage_condition(engine: Engine, server: Server) -> StorageCondition | None:
    """The file system under the data, its size, what is free for those who are not root, and the
    limits that a control group sets to its device; None where the data lie elsewhere.
    """
    place = _find_place(engine, server)
    if place is None:
        return None
    found = os.statvfs(place)
    sizes = (found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)
    return StorageCondition(find_file_system(place), *sizes, limits=_read_limits(CGROUPS))


def _find_place(engine: Engine, server: Server) -> Path | None:
    """Where the data lie: a server that runs already works in its own folder, if it is here."""
    if engine.embedded or server.handle is not None:
        return server.home
    with suppress(OSError):
        return Path(f"/proc/{server.pid}/cwd").readlink()
    return None


def _read_limits(cgroups: Path) -> str:
    """The lines of `io.max` (cgroup v2) of our group and those above it, of every device."""
    with suppress(OSError):
        own = cgroups / Path("/proc/self/cgroup").read_text().rpartition("::/")[2].strip()
        groups = [group for group in (own, *own.parents) if group.is_relative_to(cgroups)]
        files = [group / "io.max" for group in groups]
        return "; ".join(file.read_text().strip() for file in files if file.is_file()).strip("; ")
    return ""


_PRIME, _MASK = 0x9E37_79B9_7F4A_7C15, (1 << 64) - 1


def compute_digest(value: bytes) -> str:
    """16 hexadecimal digits, as `sessions/template.rs` of the driver has them."""
    state = _PRIME
    whole = len(value) // 8 * 8
    words = [value[at : at + 8] for at in range(0, whole, 8)]
    for word in (*words, value[whole:], len(value).to_bytes(8, "little")):
        state = (state ^ int.from_bytes(word, "little")) * _PRIME & _MASK
        state ^= state >> 29
    return f"{state:016x}"


@dataclass(frozen=True)
class LastWrites:
    """By key the digests of which the value's must be one; keys of which nobody knows are not
    among them.
    """

    digests: Mapping[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def from_written(cls, written: WrittenKeys) -> LastWrites:
        """What the driver told of one name."""
        return cls({it.key: frozenset(it.digests) for it in written.keys if it.digests})

    @property
    def keys(self) -> int:
        """How many there are."""
        return len(self.digests)

    def build_question(self, entry: LedgerEntry) -> str:
        """The entry's SQL, with the keys in the place of `?`; without keys it answers no row."""
        keys = ", ".join(map(str, self.digests)) or "NULL"
        return entry.sql.replace("?", keys) if entry.written else entry.sql

    def count_kept(self, rows: Sequence[Sequence[str | None]]) -> int:
        """How many of the rows, each a key and its value, hold what was written last.

        Blanks at a value's end count for nothing: PostgreSQL fills up a CHAR with them.
        """
        return sum(self._is_kept(*row[:2]) for row in rows)

    def _is_kept(self, key: str | None, value: str | None) -> bool:
        wanted = self.digests.get(int(key), frozenset()) if key else frozenset()
        return value is not None and compute_digest(value.rstrip(" ").encode()) in wanted


#: Rows that break a key, of which a record has so many.
MOST = 3
#: How an engine ends a row that tells no fault, and what it says of a table that it cannot check.
WHOLE = frozenset({"OK", "ok", "", "Table is already up to date"})
NO_CHECK = "storage engine for the table doesn't support check"
#: SQLSTATEs of errors that tell of damaged data.
DAMAGED = frozenset({"XX001", "XX002"})
#: A row of `ChecksIntegrity.keys_sql`.
_Column = Sequence[str | None]


def check_integrity(job: TrialJob, server: Server) -> tuple[IntegrityCheck, ...]:
    """Are structure, unique and foreign keys whole? Asked by SQL in a run's first block alone, and
    of servers that we started: a fault of the program shows in every block, and each key costs a
    scan of its table. Nothing where it is not asked.
    """
    engine = job.engine
    if job.block != 0 or job.build.attached or not isinstance(engine, ChecksIntegrity):
        return ()
    return tuple(check_engine(job.tools.ask, server, engine, is_full=job.check == "full"))


def check_engine(
    ask: Ask, server: Server, engine: ChecksIntegrity, *, is_full: bool
) -> Iterator[IntegrityCheck]:
    """The same of any server, with the heavier means of the engine where it is to be full."""
    for name, sql in engine.integrity.items():
        yield _ask(ask, server, name, [sql])[0]
    listed, columns = _ask(ask, server, "keys", [engine.keys_sql])
    if listed.unchecked:
        yield listed
        return
    for name, sql in build_key_questions(columns):
        unknown = IntegrityCheck(name, unchecked="no question is known for such a key")
        yield _ask(ask, server, name, [sql])[0] if sql else unknown
    yield from _check_deeply(ask, server, engine, is_full)


def _check_deeply(
    ask: Ask, server: Server, engine: ChecksIntegrity, is_full: bool
) -> Iterator[IntegrityCheck]:
    """By the heavier means of the engine; where they were not asked for, what they look at."""
    if not engine.deep:
        yield IntegrityCheck("pages and indexes", unchecked="the engine has no means to check them")
    elif not is_full:
        yield IntegrityCheck(engine.deep, unchecked="only --check full looks at it")
    else:
        listed, rows = _ask(ask, server, engine.deep, engine.deep_sql)
        if listed.unchecked or not rows:
            yield replace(listed, faults=(), unchecked=listed.unchecked or "there is no table")
        for name, sql in rows:
            unknown = IntegrityCheck(str(name), unchecked="this version has no means to check it")
            yield _ask(ask, server, str(name), [sql], WHOLE)[0] if sql else unknown


def build_key_questions(columns: Sequence[_Column]) -> Iterator[tuple[str, str]]:
    """For each key its name and a question that answers the rows that break it; an empty one where
    a column cannot be asked for.
    """
    for (kind, key, table), group in groupby(columns, key=lambda row: row[:3]):
        rows = [row[3:6] for row in group]
        own = [str(column) for column, _, _ in rows]
        name = f"{kind} key {key} of {table}"
        if any(column is None for column, _, _ in rows):
            yield name, ""
        elif kind == "unique":
            listed, filled = ", ".join(own), " AND ".join(f"{it} IS NOT NULL" for it in own)
            yield (
                name,
                (
                    f"SELECT {listed}, COUNT(*) FROM {table} WHERE {filled} GROUP BY {listed} "
                    f"HAVING COUNT(*) > 1 LIMIT {MOST}"
                ),
            )
        else:
            listed = ", ".join(f"c.{it}" for it in own)
            filled = " AND ".join(f"c.{it} IS NOT NULL" for it in own)
            joined = " AND ".join(f"p.{other} = c.{it}" for it, _, other in rows)
            yield (
                name,
                (
                    f"SELECT {listed} FROM {table} c WHERE {filled} AND NOT EXISTS "
                    f"(SELECT 1 FROM {rows[0][1]} p WHERE {joined}) LIMIT {MOST}"
                ),
            )


def _ask(
    ask: Ask,
    server: Server,
    name: str,
    statements: Sequence[str],
    whole: frozenset[str] = frozenset(),
) -> tuple[IntegrityCheck, list[list[str | None]]]:
    """What is wrong by a question, and the rows that it answered: it is the last statement. A
    row that ends with one of `whole` tells no fault.
    """
    began_s = time.monotonic()
    try:
        rows = ask(server.session, statements)[-1]
    except DynoError as error:
        if error.state in DAMAGED:
            return IntegrityCheck(name, (error.sentence,), time.monotonic() - began_s), []
        return IntegrityCheck(name, unchecked=error.sentence), []
    told = [row for row in rows if row[-1] not in whole]
    if whole and any(NO_CHECK in (row[-1] or "") for row in told):
        return IntegrityCheck(name, unchecked=NO_CHECK), []
    faults = tuple(", ".join("NULL" if it is None else it for it in row) for row in told[:MOST])
    return IntegrityCheck(name, faults, time.monotonic() - began_s), rows
