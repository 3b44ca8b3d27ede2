"""What `performance_schema` tells of a statement that `SHOW PROFILE` cannot: the statements inside
the functions that it calls, and its own stages, where the server's owner has them on; and which
stage of a statement's path each state of `SHOW PROFILE` is.

The history of a session's last statements is on by default (MySQL from 5.7 on); stages are not.
Nothing is switched on here: instruments are the whole server's, every session pays for them, and
who is killed meanwhile leaves them on. The statements that do it, and undo it, are told instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dyno.driver.plan import Session
from dyno.engines import Ask, Talk
from dyno.record.explanation import InnerStatement, StageName

#: Statements inside that are told.
TOLD = 5
#: The history of a session is short.
KEPT = "of the last that the server's history keeps"
_OWN = "(SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID())"
HISTORY = (
    "SELECT EVENT_ID, END_EVENT_ID, NESTING_EVENT_LEVEL, EVENT_NAME, SQL_TEXT,"
    f" TIMER_WAIT / 1000000, ROWS_EXAMINED FROM performance_schema.{{}} WHERE THREAD_ID = {_OWN}"
    " ORDER BY EVENT_ID"
)
STAGES = (
    "SELECT SUBSTRING_INDEX(EVENT_NAME, '/', -1), TIMER_WAIT / 1e12 FROM"
    f" performance_schema.events_stages_history_long WHERE THREAD_ID = {_OWN}"
    " AND NESTING_EVENT_ID = {}"
)
ENABLED = (
    "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' AND NAME IN"
    " ('events_statements_history', 'events_statements_history_long')"
)
SETTINGS = (
    "SELECT NAME FROM performance_schema.setup_instruments"
    " WHERE NAME LIKE 'stage/sql/%' AND ENABLED = 'YES'",
    "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'NO' AND NAME IN"
    " ('events_statements_history', 'events_stages_current', 'events_stages_history_long')",
)


@dataclass(frozen=True)
class InnerStatements:
    """What the history has of a run: the statements inside, and the statement's stages as rows of
    `SHOW PROFILE`.
    """

    inner: tuple[InnerStatement, ...] = ()
    stages: tuple[tuple[str, str], ...] = ()


def read_inner(talk: Talk, bare: Sequence[str]) -> InnerStatements:
    """Run the statement once more, and return what was inside; nothing where that is off."""
    (enabled,) = talk([ENABLED], "rows")
    names = {str(name) for (name,) in enabled.rows}
    if not names:
        return InnerStatements()
    table = max(names, key=len)
    talk(bare, "counts")
    told = talk([HISTORY.format(table)], "rows")[-1].rows
    outer = _find_outer(told, 1 + len(bare) // 2)
    if outer is None:
        return InnerStatements()
    (stages,) = talk([STAGES.format(outer[0])], "rows")
    inside = [row for row in told if _is_inside(row, outer)]
    rows = tuple((str(name), str(took_s)) for name, took_s in stages.rows)
    return InnerStatements(_sum_inside(inside), rows)


def list_switches(ask: Ask, session: Session) -> tuple[str, ...]:
    """Return the statements that switch on the consumers for all sessions, and those that put back
    exactly what they change; none if the server's owner has all of them on.
    """
    instruments, consumers = ask(session, SETTINGS)
    off, on = ([str(name) for (name,) in rows] for rows in (consumers, instruments))
    if not off:
        return ()
    stages = "UPDATE performance_schema.setup_instruments SET ENABLED = '{0}', TIMED = '{0}'"
    named = "UPDATE performance_schema.setup_consumers SET ENABLED = '{0}' WHERE NAME IN ({1})"
    kept = f" AND NAME NOT IN ({_quote(on)})" if on else ""
    return (
        stages.format("YES") + " WHERE NAME LIKE 'stage/sql/%' AND ENABLED = 'NO'",
        named.format("YES", _quote(off)),
        named.format("NO", _quote(off)),
        stages.format("NO") + f" WHERE NAME LIKE 'stage/sql/%'{kept}",
    )


def _quote(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _find_outer(rows: Sequence[Sequence[str | None]], back: int) -> Sequence[str | None] | None:
    """Return the statement itself: the last row that no other holds, before the end of its
    transaction.
    """
    outer = [row for row in rows if not int(row[2] or 0)]
    return outer[-back] if len(outer) >= back else None


def _is_inside(row: Sequence[str | None], outer: Sequence[str | None]) -> bool:
    first, last = int(outer[0] or 0), int(outer[1] or 0)
    return int(row[2] or 0) > 0 and first < int(row[0] or 0) <= last


def _sum_inside(rows: Sequence[Sequence[str | None]]) -> tuple[InnerStatement, ...]:
    by_text: dict[str, list[Sequence[str | None]]] = {}
    for row in rows:
        text = " ".join(str(row[4]).split()) if row[4] else str(row[3]).rpartition("/")[2]
        by_text.setdefault(text, []).append(row)
    told = [
        InnerStatement(
            text,
            len(them),
            _sum(them, 5),
            facts=(f"{_sum(them, 6):,.0f} rows examined", KEPT),
        )
        for text, them in by_text.items()
    ]
    return tuple(sorted(told, key=lambda it: -it.us)[:TOLD])


def _sum(rows: Sequence[Sequence[str | None]], at: int) -> float:
    return sum(float(row[at] or 0.0) for row in rows)


#: What is done once the client has its answer.
AFTER = "after the answer"
_STATES: dict[StageName, tuple[str, ...]] = {
    "parse": (
        "starting",
        "executing hook on transaction",
        "checking permissions",
        "checking query cache for query",
        "sending cached result to client",
        "storing result in query cache",
    ),
    "open tables": (
        "opening tables",
        "after opening tables",
        "system lock",
        "table lock",
        "closing tables",
        "unlocking tables",
    ),
    "optimise": ("init", "optimizing", "statistics", "preparing", "init for update", "explaining"),
    "log": ("commit", "waiting for handler commit", "query end", "rollback", "rolling back"),
    "reply": ("freeing items", "starting cleanup", "writing to net", "sending to client"),
}
_STAGES = {state: stage for stage, states in _STATES.items() for state in states}
_LATER = frozenset(
    {"cleaning up", "updating status", "reset for next command", "logging slow query"}
)


def find_stage(state: str) -> StageName | None:
    """The stage that a state belongs to; None for what the client does not wait for."""
    name = state.strip().lower()
    if name in _LATER:
        return None
    if "binlog" in name or "binary log" in name:
        return "binary log"
    if name == "user lock" or (name.startswith("waiting for") and "lock" in name):
        return "lock wait"
    return _STAGES.get(name, "execute")


def sum_stages(
    rows: Sequence[Sequence[str | None]],
) -> tuple[dict[StageName, float], dict[StageName, dict[str, float]], float]:
    """The stages' times of a profile in µs, their parts by the server's own names, and what came
    after the answer.
    """
    stages: dict[StageName, float] = {}
    parts: dict[StageName, dict[str, float]] = {}
    after_us = 0.0
    for state, duration_s, *_ in rows:
        us, stage = 1e6 * float(duration_s or 0.0), find_stage(str(state))
        if stage is None:
            after_us += us
            continue
        stages[stage] = stages.get(stage, 0.0) + us
        names = parts.setdefault(stage, {})
        name = str(state).strip()
        names[name] = names.get(name, 0.0) + us
    return stages, parts, after_us
