"""What the optimiser weighed, by its own trace (MySQL from 5.6, MariaDB from 10.4 on): a line for
each table, with the cost of each way of reading it.

`optimizer_trace` is a switch of the session, and EXPLAIN is traced as an execution is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dyno import numbers
from dyno.engines.mysql.plans import SPOKEN

TRACED_FROM = {"mysql": (5, 6), "mariadb": (10, 4)}
#: Around the EXPLAIN. Before 8.0 long traces are cut by default.
BEFORE = ("SET optimizer_trace = 'enabled=on'", "SET optimizer_trace_max_mem_size = 1048576")
AFTER = ("SET optimizer_trace = 'enabled=off'",)
TRACE = (
    "SELECT TRACE, MISSING_BYTES_BEYOND_MAX_MEM_SIZE, INSUFFICIENT_PRIVILEGES"
    " FROM information_schema.OPTIMIZER_TRACE"
)
#: Of tables, and of ways of reading one, that are told.
TABLES_TOLD, WAYS_TOLD = 3, 3
_NAME = re.compile(r"`([^`]+)`|([^\s`]+)")


def describe_weighed(
    traces: Sequence[Sequence[str | None]], plan: Sequence[Sequence[str | None]]
) -> tuple[str, ...]:
    """`orders: cost 7 by ref of customer, 1,044 by full table scan`, the chosen way first; nothing
    where no trace is whole, or the user may not see it. `plan` are EXPLAIN's rows.
    """
    if not traces or any(str(it or 0) != "0" for it in traces[0][1:3]):
        return ()
    try:
        trace = json.loads(str(traces[0][0]))
    except ValueError:
        return ()
    order = [str(row[2]) for row in plan if row[2]]
    told = [_describe_table(trace, name, order[:at]) for at, name in enumerate(order)]
    found = [it for it in dict.fromkeys(told) if it]
    more = [f"{len(found) - TABLES_TOLD} further tables"] if len(found) > TABLES_TOLD else []
    return (*found[:TABLES_TOLD], *more)


def _describe_table(trace: Any, table: str, before: Sequence[str]) -> str:
    """The ways that were weighed for a table behind those that the plan reads before it."""
    entries = [it for it in _list_entries(trace, ()) if it[0] == table]
    behind = [it for it in entries if set(it[1]) == set(before)] or entries[:1]
    if not behind:
        return ""
    ways = [it for it in behind[-1][2] if "access_type" in it]
    chosen = next((it for it in reversed(ways) if it.get("chosen")), None)
    costed = [it for it in ways if "cost" in it]
    if chosen is None or "cost" not in chosen:
        return ""
    others = sorted((it for it in costed if it is not chosen), key=lambda it: float(it["cost"]))
    kept = [chosen, *others][:WAYS_TOLD]
    return f"{table}: cost {', '.join(f'{_format_cost(it)} by {_name_way(it)}' for it in kept)}"


def _list_entries(
    node: Any, prefix: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...], list[Mapping[str, Any]]]]:
    """Each table that was weighed, the tables before it, and the ways of reading it."""
    if isinstance(node, list):
        for each in node:
            yield from _list_entries(each, prefix)
    elif isinstance(node, Mapping):
        own = _read_prefix(node["plan_prefix"]) if "plan_prefix" in node else prefix
        path = node.get("best_access_path")
        if isinstance(path, Mapping):
            name = _read_name(str(node.get("table") or path.get("table") or ""))
            ways = [it for it in path.get("considered_access_paths", ()) if isinstance(it, Mapping)]
            yield name, own, ways
        for each in node.values():
            yield from _list_entries(each, own)


def _read_prefix(words: Any) -> tuple[str, ...]:
    """MySQL has a list of names, MariaDB a text with commas."""
    names = words if isinstance(words, list) else str(words).split(",")
    return tuple(filter(None, (_read_name(str(it)) for it in names)))


def _read_name(text: str) -> str:
    """The alias, where there is one behind the name."""
    found = _NAME.findall(text)
    return next(filter(None, found[-1])) if found else ""


def _name_way(way: Mapping[str, Any]) -> str:
    kind = str(way["access_type"])
    details = way.get("range_details")
    index = way.get("index") or (details.get("used_index") if isinstance(details, Mapping) else "")
    said = "full table scan" if kind in ("scan", "ALL") else SPOKEN.get(kind, kind)
    return f"{said} of {index}" if index else said


def _format_cost(way: Mapping[str, Any]) -> str:
    return numbers.format_digits(float(way["cost"]))
