"""The ledger: what an engine says it holds, beside what the script says it put there."""

from __future__ import annotations

from dyno import driver
from dyno.plan import Plan
from dyno.record import Evidence


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
        Evidence(entry.name, entry.sql, _expected(entry.counters, counters), _cell(rows))
        for entry, rows in zip(ledger, answers, strict=True)
    )


def _expected(factors: dict[str, int], counters: dict[str, int]) -> int:
    return sum(factor * counters.get(name, 0) for name, factor in factors.items())


def _cell(rows: list[list[str | None]]) -> str:
    return str(rows[0][0]) if rows and rows[0] else ""
