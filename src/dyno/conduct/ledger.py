"""The ledger: what an engine says it holds, beside what the script says it put there."""

from __future__ import annotations

import hashlib
import json

from dyno import driver
from dyno.plan import LedgerEntry, Plan
from dyno.record import Evidence

#: Rows as the driver hands them over.
_Rows = list[list[str | None]]


def read(plan: Plan, counters: dict[str, int]) -> tuple[Evidence, ...]:
    """What the engine says it holds beside what the script says it put there.

    The script is asked for its ledger anew, since the SQL may depend on the engine. Nothing is
    asked of `null`, which holds nothing.
    """
    if plan.session["kind"] == "null":
        return ()
    ledger = driver.describe(plan).ledger
    answers = driver.ask(plan.session, [entry.sql for entry in ledger]) if ledger else []
    return tuple(
        _evidence(entry, rows, counters) for entry, rows in zip(ledger, answers, strict=True)
    )


def _evidence(entry: LedgerEntry, rows: _Rows, counters: dict[str, int]) -> Evidence:
    """A number that counters foretell or, without counters, the rows themselves."""
    if entry.counters:
        expected = sum(factor * counters.get(n, 0) for n, factor in entry.counters.items())
        return Evidence(entry.name, entry.sql, expected, _cell(rows))
    return Evidence(entry.name, entry.sql, 0, str(len(rows)), digest(rows))


def digest(rows: _Rows) -> str:
    """A checksum of the rows in any order: the same rows, the same digest."""
    lines = sorted(json.dumps(row) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _cell(rows: _Rows) -> str:
    return str(rows[0][0]) if rows and rows[0] else ""
