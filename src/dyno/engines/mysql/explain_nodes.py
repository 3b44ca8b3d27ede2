"""The nodes of a plan that MySQL or MariaDB executed: `EXPLAIN ANALYZE`'s tree, and the JSON of
`ANALYZE FORMAT=JSON`.

MySQL's times include a node's children and are a mean of its loops; here all is a node's own.
A leaf reads a table or an index: its time is the storage engine's, with the handler between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dyno.record.explanation import NodeReading

_LINE = re.compile(r"^(?P<indent> *)-> (?P<name>.*)$")
_NUMBER = r"\d++(?:\.\d++)?(?:e[-+]?\d++)?"
_ACTUAL = re.compile(
    rf"(?<!\s)\s*+\(actual time={_NUMBER}\.\.(?P<ms>{_NUMBER}) rows=(?P<rows>{_NUMBER})"
    r" loops=(?P<loops>\d+)\)"
)
_COST = re.compile(r"(?<!\s)\s*+\((?:cost=[^()]*|never executed)\)")
INDENT = 4


@dataclass(frozen=True)
class _TreeLine:
    depth: int
    name: str
    total_us: float
    rows: float | None
    loops: float | None


def read_tree(text: str) -> list[NodeReading]:
    """Every node of EXPLAIN ANALYZE's tree, parents first."""
    lines = [_read_line(found) for it in text.splitlines() if (found := _LINE.match(it))]
    totals = [line.total_us for line in lines]
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].loops is None:  # a heading (Select #2) tells no time of its own
            totals[at] = sum(totals[child] for child in _list_children(lines, at))
    return [
        NodeReading(
            line.depth,
            line.name,
            us=max(0.0, totals[at] - sum(totals[it] for it in _list_children(lines, at))),
            rows=line.rows,
            loops=line.loops,
        )
        for at, line in enumerate(lines)
    ]


def _read_line(found: re.Match[str]) -> _TreeLine:
    actual = _ACTUAL.search(found["name"])
    name = _COST.sub("", _ACTUAL.sub("", found["name"])).strip()
    depth = len(found["indent"]) // INDENT
    if actual is None:
        return _TreeLine(depth, name, 0.0, None, None)
    loops = float(actual["loops"])
    return _TreeLine(depth, name, 1000 * float(actual["ms"]) * loops, float(actual["rows"]), loops)


def _list_children(lines: Sequence[_TreeLine], at: int) -> Iterator[int]:
    for child in range(at + 1, len(lines)):
        if lines[child].depth <= lines[at].depth:
            return
        if lines[child].depth == lines[at].depth + 1:
            yield child


def sum_leaves_us(nodes: Sequence[NodeReading]) -> float:
    """What the leaves that read a table took."""
    return sum(
        it.us or 0.0
        for it, after in zip(nodes, [*nodes[1:], None], strict=True)
        if after is None or after.depth <= it.depth
        if " on " in it.name and "<temporary>" not in it.name
    )


#: Parts of MariaDB's JSON that are nodes of the plan; others only hold some.
_NODES = {
    "filesort": "sort",
    "read_sorted_file": "read sorted rows",
    "temporary_table": "temporary table",
    "block-nl-join": "block nested loop join",
    "materialized": "materialized subquery",
    "query_block": "query block",
    "union_result": "union",
    "window_functions_computation": "window functions",
    "expression_cache": "subquery cache",
}


def read_json(told: Mapping[str, Any]) -> list[NodeReading]:
    """Every node of `ANALYZE FORMAT=JSON`, parents first."""
    return list(_walk(told, 0))


def _walk(told: Any, depth: int) -> Iterator[NodeReading]:
    if isinstance(told, list):
        for each in told:
            yield from _walk(each, depth)
        return
    for key, value in told.items() if isinstance(told, Mapping) else ():
        if key == "table" and isinstance(value, Mapping):
            yield _read_table(value, depth)
            yield from _walk(value, depth + 1)
        elif key in _NODES and isinstance(value, Mapping):
            yield _read_part(key, value, depth)
            yield from _walk(value, depth + 1)
        elif isinstance(value, Mapping | list):
            yield from _walk(value, depth)


def _read_table(told: Mapping[str, Any], depth: int) -> NodeReading:
    way = {"ALL": "table scan", "index": "index scan"}.get(
        str(told.get("access_type")), str(told.get("access_type", "table"))
    )
    by = f" by {told['key']}" if told.get("key") else ""
    stats = told.get("r_engine_stats") or {}
    times = [told.get(name) for name in ("r_table_time_ms", "r_other_time_ms")]
    known = [float(it) for it in times if it is not None]
    read = stats.get("pages_read_count")
    filtered = told.get("r_filtered")
    return NodeReading(
        depth,
        f"{way} of {told.get('table_name')}{by}",
        us=1000 * sum(known) if known else None,
        rows=_to_number(told.get("r_rows")),
        loops=_to_number(told.get("r_loops")),
        pages=_to_number(stats.get("pages_accessed")),
        facts=tuple(
            fact
            for fact in (
                f"{1000 * known[0]:.3g} µs in the storage engine" if known else "",
                f"{read} pages read" if read else "",
                f"{filtered:g} % left by the filter" if filtered not in (None, 100) else "",
            )
            if fact
        ),
    )


def _read_part(key: str, told: Mapping[str, Any], depth: int) -> NodeReading:
    facts = []
    if told.get("r_sort_passes"):
        facts.append(f"{told['r_sort_passes']} merge passes on disk")
    if told.get("r_buffer_size"):
        facts.append(f"sort buffer {told['r_buffer_size']}")
    # a query block's time includes all below it, which tell their own
    own_ms = told.get("r_total_time_ms") if key == "filesort" else None
    return NodeReading(
        depth,
        _NODES[key],
        us=None if own_ms is None else 1000 * float(own_ms),
        rows=_to_number(told.get("r_output_rows")),
        loops=_to_number(told.get("r_loops")),
        facts=tuple(facts),
    )


def _to_number(value: Any) -> float | None:
    return None if value is None else float(value)


def sum_engine_us(told: Any) -> float:
    """What MariaDB measured in the storage engine, over all tables, in µs."""
    if isinstance(told, list):
        return sum(sum_engine_us(it) for it in told)
    if not isinstance(told, Mapping):
        return 0.0
    own = 1000 * float(told.get("r_table_time_ms") or 0.0)
    return own + sum(sum_engine_us(it) for it in told.values())
