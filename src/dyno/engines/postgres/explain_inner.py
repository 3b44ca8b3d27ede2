"""The statements inside the functions and triggers that a statement calls, with their plans and
times: `auto_explain` tells them as notices to the session that has loaded it.

What is set is the session's, and `log_level` sends a plan to its client and not into the server's
log, unless that has notices, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from dyno.driver.events import ServerNotice, TimedAnswer
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.postgres.explain_nodes import read_nodes
from dyno.errors import TrialFailed
from dyno.record.explanation import InnerStatement

#: Statements that are told, each with the plan of its longest run.
TOLD = 5
#: Before 12 its plans go into the server's log.
INNER_FROM = 120000
LOADED = "SELECT current_setting('auto_explain.log_analyze', true)"
_SETTINGS = {
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
    "auto_explain.sample_rate": "1",
    "client_min_messages": "notice",
    "auto_explain.log_min_duration": "0",
}
AFTER = ["RESET auto_explain.log_min_duration"]
#: A duration, and the plan as JSON.
_PLAN = re.compile(r"(?>[^{]*?(?<![\d.])([\d.]++) ms)[^{]*+(\{.*\})\s*+", re.DOTALL)
_FUNCTION = re.compile(r"^.*\bfunction .*$", re.MULTILINE)


def find_preparation(ask: Ask, session: Session) -> tuple[list[str], str]:
    """The statements that make a session tell what is inside; none, and the server's reason, where
    it does not let this user.
    """
    ((loaded,),) = ask(session, [LOADED])[0]
    load = [] if loaded else ["LOAD 'auto_explain'"]
    statements = [*load, *(f"SET {name} = '{value}'" for name, value in _SETTINGS.items())]
    try:
        ask(session, statements)
    except TrialFailed as refused:
        words = refused.message.partition("\n")[0]
        return [], words.partition(": ")[2] or words
    return statements, ""


def read_inner(answer: TimedAnswer) -> tuple[InnerStatement, ...]:
    """The longest statements inside, by the notices of one run."""
    by_text: dict[tuple[str, str], list[_Run]] = {}
    for run in _list_runs(answer.notices):
        by_text.setdefault((run.sql, run.place), []).append(run)
    told = [_join_runs(runs) for runs in by_text.values()]
    return tuple(sorted(told, key=lambda it: -it.us)[:TOLD])


class _Run:
    """One run of a statement inside."""

    def __init__(self, us: float, told: dict[str, Any], context: str) -> None:
        self.us, self.plan = us, told["Plan"]
        self.sql = " ".join(str(told.get("Query Text", "")).split())
        found = _FUNCTION.search(context)
        self.place = found[0].strip() if found else "a constraint"
        self.rows = float(self.plan.get("Actual Rows", 0)) * float(self.plan.get("Actual Loops", 1))


def _list_runs(notices: Sequence[ServerNotice]) -> Iterator[_Run]:
    """The statement itself is told, too, in no function."""
    for each in notices:
        found = _PLAN.fullmatch(each.message)
        if not found or not each.context:
            continue
        try:
            yield _Run(1000 * float(found[1]), json.loads(found[2]), each.context)
        except (ValueError, KeyError):
            continue


def _join_runs(runs: Sequence[_Run]) -> InnerStatement:
    longest = max(runs, key=lambda it: it.us)
    return InnerStatement(
        longest.sql,
        len(runs),
        sum(it.us for it in runs),
        sum(it.rows for it in runs),
        longest.place,
        tuple(read_nodes(longest.plan)),
    )
