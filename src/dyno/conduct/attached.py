"""A server that runs already: where a script may load data, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dyno.builds import Build
from dyno.engines import Attaches, Engine
from dyno.errors import UsageError
from dyno.record import PhaseRecord, WorkloadPlan

#: The script's commands that load and that drop.
PREPARE, CLEANUP = "prepare", "cleanup"


def check_empty(sides: Iterable[tuple[Engine, Build]], workloads: Sequence[WorkloadPlan]) -> None:
    """`UsageError` where a script would load data beside tables that are somebody's.

    After each trial the script's `cleanup` drops its tables, and a script may well load into, and
    drop, what was there before. One that loads nothing drops nothing either.
    """
    loading = [plan.name for plan in workloads if PREPARE in plan.commands]
    for engine, build in sides if loading else ():
        if not build.attached or not isinstance(engine, Attaches):
            continue
        if tables := engine.tables(build):
            cause = f"{loading[0]} loads its own tables and drops them, and {tables[0]} is there"
            hint = "name a database made for this; drop what a torn run left in it"
            raise UsageError(f"the database at {build.name} is not empty", cause=cause, hint=hint)


def is_loaded(phases: Sequence[PhaseRecord]) -> bool:
    """Did `prepare` come to its end, so that what it made is there and its own?"""
    loads = [phase for phase in phases if phase.phase == PREPARE and not phase.interrupted]
    return bool(loads) and not any(stream.failed for load in loads for stream in load.streams)
