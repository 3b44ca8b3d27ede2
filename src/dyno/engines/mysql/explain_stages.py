"""What `SHOW PROFILE` calls a session's states, as stages of a statement's path."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.record.explanation import StageName

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
