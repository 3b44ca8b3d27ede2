"""The nodes of a plan that MySQL or MariaDB executed: `EXPLAIN ANALYZE`'s tree, and the JSON of
`ANALYZE FORMAT=JSON`; a plan's shape; what the optimiser weighed, by its own trace (MySQL from 5.6,
MariaDB from 10.4 on); and whether a rollback left something in small tables, by their checksums.

MySQL's times include a node's children and are a mean of its loops; here all is a node's own.
A leaf reads a table or an index: its time is the storage engine's, with the handler between.
`optimizer_trace` is a switch of the session, and EXPLAIN is traced as an execution is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dyno import numbers
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql.attached import quote_name
from dyno.engines.mysql.reach import Reach
from dyno.errors import TrialFailed
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
    """Return what MariaDB measured in the storage engine, over all tables, in µs."""
    if isinstance(told, list):
        return sum(sum_engine_us(it) for it in told)
    if not isinstance(told, Mapping):
        return 0.0
    own = 1000 * float(told.get("r_table_time_ms") or 0.0)
    return own + sum(sum_engine_us(it) for it in told.values())


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


#: Bytes of tables whose checksums are compared: a tenth of a second, before and after.
SUMMED_BYTES_MOST = 16 << 20


class Remains:
    """The tables' checksums before the runs; not read for a statement that only reads."""

    def __init__(self, ask: Ask, session: Session, reach: Reach) -> None:
        self._session = session
        self._tables = list(reach.tables.values()) if reach.writes else []
        self._size = sum(it.size_bytes for it in self._tables)
        self._sums, self._missing = self._read_sums(ask)

    def _read_sums(self, ask: Ask) -> tuple[dict[str, str | None], str]:
        if self._size > SUMMED_BYTES_MOST:
            size, most = self._size >> 20, SUMMED_BYTES_MOST >> 20
            return {}, f"their checksums would read {size:,} MiB, and {most} MiB is the most"
        if not self._tables:
            return {}, "there are none"
        named = ", ".join(f"{quote_name(it.schema)}.{quote_name(it.name)}" for it in self._tables)
        try:
            # a table that another session locks is left alone
            _, rows = ask(self._session, ["SET lock_wait_timeout = 1", f"CHECKSUM TABLE {named}"])
        except TrialFailed as refused:
            return {}, refused.sentence
        if unread := [str(name) for name, total in rows if total is None]:
            return {}, f"no checksum of {', '.join(unread)} (locked by others, or gone)"
        return {str(name): total for name, total in rows}, ""

    def describe(self, ask: Ask) -> str:
        """Return what the checksums say now, in a clause; "" if nothing could be left."""
        if not self._tables:
            return ""
        now, missing = ({}, self._missing) if self._missing else self._read_sums(ask)
        if missing:
            return f"tables reached: not checked: {missing}"
        if changed := [name for name, total in self._sums.items() if now.get(name) != total]:
            return (
                f"tables reached: checksums DIFFER: {', '.join(changed)}: other sessions wrote "
                "there meanwhile, or the rollback left something"
            )
        return f"tables reached: checksums equal: {', '.join(self._sums)}"


#: Ways of reading a table whose name does not say it.
SPOKEN = {"ALL": "full table scan", "index": "full index scan"}
#: The optimizer looked for the row of the values, and found none.
NOTHING_PLANNED = ("impossible where noticed", "no matching", "const row not found")
#: Rows of values need no plan: 5.6 says `No tables used` of an INSERT, later servers name the table
#: that it goes to and call it a scan (type ALL), which is not made.
VALUES = "rows of values"
WRITTEN_TO = ("INSERT", "REPLACE")
NO_TABLES = "No tables used"


def plan_shape(rows: Sequence[Sequence[str | None]]) -> str:
    """A line per table: `item: ref by name (Using index, Using where)`.

    5.7 added the columns partitions and filtered to the ten of 5.6.
    """
    if any(any(word in (row[-1] or "").lower() for word in NOTHING_PLANNED) for row in rows):
        return ""
    read = [row for row in rows if row[1] not in WRITTEN_TO and row[-1] != NO_TABLES]
    return "\n".join(filter(None, map(_format_table, read))) if read else VALUES


def _format_table(row: Sequence[str | None]) -> str:
    places = (2, 4, 6, 11) if len(row) > 10 else (2, 3, 5, 9)
    table, way, key, extra = (row[at] or "" for at in places)
    beside = ", ".join(sorted(part.strip() for part in extra.split(";") if part.strip()))
    read = " by ".join(filter(None, (SPOKEN.get(way, way), key)))
    told = ": ".join(filter(None, (table, read)))
    return " ".join(filter(None, (told, f"({beside})" if beside else "")))
