"""The copy on which a log is played: that there is one, and that it has the tables.

Nobody's database is written to that was not named for it: one that is attached is played on only
where the user says so (`--in-place`), and read only unless that is said, too (`--writes`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dyno import driver
from dyno.engines import find_engine
from dyno.errors import TrialFailed, UsageError
from dyno.experiment.candidates import Spec, parse_candidate
from dyno.replay.sessions import Selection
from dyno.replay.statements import bare, made_tables

#: Names of missing tables that are told.
TOLD = 3


@dataclass(frozen=True)
class Copy:
    """Where a log is played: on what the SQL file `data` makes, or in an attached database as it
    is (`in_place`), which `writes` may change.
    """

    data: Path | None
    in_place: bool
    writes: bool


def check_copies(selection: Selection, copy: Copy, candidates: Sequence[str]) -> None:
    """`UsageError` where a candidate has no copy to play the statements on, or one without a table
    that they name."""
    specs = [parse_candidate(text) for text in candidates]
    attached = [spec for spec in specs if spec.is_url]
    if copy.in_place and (copy.data or len(attached) < len(specs)):
        hint = "--data FILE makes the copy for engines that Dyno starts, and in an empty database"
        raise UsageError(
            "--in-place is for servers that run already, and their own data", hint=hint
        )
    if copy.data is not None:
        _check(selection, _made(copy.data), f"the copy that {copy.data.name} makes")
    elif copy.in_place:
        for spec in attached:
            there = _there(spec, selection.tables())
            _check(selection, there, f"the database at {spec.name}")
    elif attached:
        hint = (
            "--data DUMP.sql in an empty database of the server's; or --in-place plays it in this"
        )
        cause = f"{attached[0].name} may be in use"
        raise UsageError("a log is played on a copy", cause=cause, hint=f"{hint} one, reading only")
    elif needed := selection.tables():
        name = bare(min(needed))
        hint = "--data DUMP.sql makes the copy: an SQL dump with INSERT statements"
        raise UsageError(f"there is no table '{name}' to play the log on", hint=hint)


def _check(selection: Selection, there: Collection[str], where: str) -> None:
    needed = selection.tables()
    missing = sorted(name for name in needed if bare(name) not in there)
    if missing:
        count = sum(needed[name] for name in missing)
        names = ", ".join(f"'{bare(name)}'" for name in missing[:TOLD])
        more = f" and {len(missing) - TOLD} more" if len(missing) > TOLD else ""
        hint = "dump it, too; or cut what names it out of the log"
        raise UsageError(
            f"{where} has no table {names}{more}",
            cause=f"{count:,} statements of the log name {'it' if len(missing) == 1 else 'them'}",
            hint=hint,
        )


def _made(data: Path) -> set[str]:
    try:
        return made_tables(data.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        cause = (error.strerror or "").lower()
        hint = "an SQL file that makes the tables and fills them"
        raise UsageError(f"cannot read the data {data}", cause=cause, hint=hint) from None


def _there(spec: Spec, tables: Iterable[str]) -> set[str]:
    """Those of the tables that statements can name there, views and all; nothing is read."""
    engine = find_engine(spec.engine, driver.ask)
    build = engine.program(spec.with_password, {}, lambda _: None)
    session = engine.start(build, Path(), {}).session
    found = set()
    for name in tables:
        with suppress(TrialFailed):
            driver.ask(session, [f"SELECT 1 FROM {name} WHERE 1 = 0"])
            found.add(bare(name))
    return found
