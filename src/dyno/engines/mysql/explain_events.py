"""What `performance_schema` tells of a statement that `SHOW PROFILE` cannot: the statements inside
the functions that it calls, and its own stages, where the server's owner has them on.

The history of a session's last statements is on by default (MySQL from 5.7 on); stages are not.
Nothing is switched on here: that is a setting of the whole server's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dyno.engines import Talk
from dyno.errors import TrialFailed

#: Statements inside that are told, and letters of each.
TOLD, LETTERS = 3, 60
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
#: What would tell the stages of a statement that calls functions.
SWITCHES = (
    "with performance_schema's stage/sql/% instruments and the consumer events_stages_history_long "
    "on, its stages would be told"
)


@dataclass(frozen=True)
class InnerStatements:
    """What the history has of a run: the statements inside as facts, and the statement's stages as
    rows of `SHOW PROFILE`.
    """

    facts: tuple[str, ...] = ()
    stages: tuple[tuple[str, str], ...] = ()


def read_inner(talk: Talk, bare: Sequence[str]) -> InnerStatements:
    """Runs the statement once more, and asks what was inside; nothing where that is off, or the
    user may not read it.
    """
    try:
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
    except TrialFailed:
        return InnerStatements()
    inside = [row for row in told if _is_inside(row, outer)]
    rows = tuple((str(name), str(took_s)) for name, took_s in stages.rows)
    return InnerStatements(_describe_inside(inside), rows)


def _find_outer(rows: Sequence[Sequence[str | None]], back: int) -> Sequence[str | None] | None:
    """The statement itself: of those that no other holds the last but what ends its transaction."""
    outer = [row for row in rows if not int(row[2] or 0)]
    return outer[-back] if len(outer) >= back else None


def _is_inside(row: Sequence[str | None], outer: Sequence[str | None]) -> bool:
    first, last = int(outer[0] or 0), int(outer[1] or 0)
    return int(row[2] or 0) > 0 and first < int(row[0] or 0) <= last


def _describe_inside(rows: Sequence[Sequence[str | None]]) -> tuple[str, ...]:
    """`inside: 12 statements, 340 µs`, and the longest."""
    if not rows:
        return ()
    by_text: dict[str, list[Sequence[str | None]]] = {}
    for row in rows:
        text = " ".join(str(row[4]).split()) if row[4] else str(row[3]).rpartition("/")[2]
        by_text.setdefault(text, []).append(row)
    longest = sorted(by_text, key=lambda text: -_sum(by_text[text], 5))
    return tuple(
        f"inside, the last {len(by_text[text])} times {_shorten(text)}:"
        f" {_sum(by_text[text], 5):,.0f} µs, {_sum(by_text[text], 6):,.0f} rows examined"
        for text in longest[:TOLD]
    )


def _sum(rows: Sequence[Sequence[str | None]], at: int) -> float:
    return sum(float(row[at] or 0.0) for row in rows)


def _shorten(text: str) -> str:
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
