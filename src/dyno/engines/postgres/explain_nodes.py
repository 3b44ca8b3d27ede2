"""The nodes of a plan that PostgreSQL executed, of what `EXPLAIN (ANALYZE, FORMAT JSON)` says; and
the statements inside the functions and triggers that a statement calls.

Times and pages of a node include its children's, times are a mean of its loops, and below a Gather
each of the processes is a loop: here all is a node's own, and times are those that passed.

Inner statements `auto_explain` tells as notices to the session that has loaded it. What is set is
the session's, and `log_level` sends a plan to its client and not into the server's log, unless that
has notices, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dyno.driver.events import ServerNotice, TimedAnswer
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.errors import TrialFailed
from dyno.record.explanation import InnerStatement, NodeReading

#: A block of the server's, unless it was built otherwise.
BLOCK_KB = 8
_GATHERS = ("Gather", "Gather Merge")


def read_nodes(plan: Mapping[str, Any]) -> Iterator[NodeReading]:
    subplans = {str(it["Subplan Name"])[4:]: it for it in _walk(plan) if _is_cte(it)}
    yield from _read_node(plan, 0, 1.0, subplans)


def _walk(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _walk(child)


def _is_cte(plan: Mapping[str, Any]) -> bool:
    """Return whether it is executed by the scans of it, and not by its parent node."""
    return str(plan.get("Subplan Name", "")).startswith("CTE ")


def _read_node(
    plan: Mapping[str, Any], depth: int, processes: float, subplans: Mapping[str, Any]
) -> Iterator[NodeReading]:
    below = processes
    if plan["Node Type"] in _GATHERS:
        below *= 1 + float(plan.get("Workers Launched", 0))
    children = [it for it in plan.get("Plans", ()) if not _is_cte(it)]
    told = [(it, below) for it in children]
    if (scanned := subplans.get(str(plan.get("CTE Name", "")))) is not None:
        told.append((scanned, processes))
    own_us = _sum_us(plan, processes) - sum(_sum_us(it, among) for it, among in told)
    pages = _count_pages(plan) - sum(_count_pages(it) for it, _ in told)
    loops = float(plan.get("Actual Loops", 0))
    yield NodeReading(
        depth,
        _name_node(plan),
        us=max(0.0, own_us) if "Actual Total Time" in plan else None,
        rows=float(plan.get("Actual Rows", 0)),
        loops=loops,
        pages=max(0.0, pages),
        facts=tuple(_list_node_facts(plan)),
    )
    for child in plan.get("Plans", ()):
        yield from _read_node(child, depth + 1, below, subplans)


def _sum_us(plan: Mapping[str, Any], processes: float) -> float:
    total = float(plan.get("Actual Total Time", 0.0)) * float(plan.get("Actual Loops", 0))
    return 1000 * total / processes


def _count_pages(plan: Mapping[str, Any]) -> float:
    return float(plan.get("Shared Hit Blocks", 0)) + float(plan.get("Shared Read Blocks", 0))


def _name_node(plan: Mapping[str, Any]) -> str:
    name = str(plan["Node Type"])
    if operation := plan.get("Operation"):
        name = str(operation)
    if plan.get("Parallel Aware"):
        name = f"Parallel {name}"
    if index := plan.get("Index Name"):
        name += f" using {index}"
    if relation := plan.get("Relation Name") or plan.get("Function Name") or plan.get("CTE Name"):
        name += f" on {relation}"
    if subplan := plan.get("Subplan Name"):
        name += f" ({subplan})"
    return name


def _list_node_facts(plan: Mapping[str, Any]) -> Iterator[str]:
    if method := plan.get("Sort Method"):
        space = f" {plan['Sort Space Used']} kB" if "Sort Space Used" in plan else ""
        yield f"{method},{space} {str(plan.get('Sort Space Type', '')).lower()}".strip()
    if float(plan.get("Hash Batches", 1)) > 1:
        yield f"{plan['Hash Batches']} batches on disk"
    for name, what in (
        ("Rows Removed by Filter", "rows filtered out"),
        ("Rows Removed by Index Recheck", "rows rechecked away"),
        ("Heap Fetches", "heap fetches"),
        ("Shared Read Blocks", "pages read, with children"),
        ("Temp Written Blocks", "temporary pages written, with children"),
        ("Workers Launched", "workers"),
    ):
        if value := plan.get(name):
            yield f"{value:g} {what}" if isinstance(value, int | float) else f"{value} {what}"


def sum_io_us(plan: Mapping[str, Any]) -> float:
    """Return all nodes' time in reads and writes of tables' pages, in µs, if the plan has it."""
    names = [
        f"{kind}I/O {what} Time" for kind in ("", "Shared ", "Local ") for what in ("Read", "Write")
    ]
    return 1000 * sum(float(plan.get(name, 0.0)) for name in names)


def list_facts(clocked: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    plan, planning = clocked["Plan"], clocked.get("Planning", {})
    facts = {
        "optimise": (
            *_list_pages(planning),
            *(f"{used} kB of memory" for used in [planning.get("Memory Used")] if used),
            *(f"{name} = {value}" for name, value in clocked.get("Settings", {}).items()),
        ),
        "storage engine": _list_pages(plan),
        "execute": tuple(
            f"{BLOCK_KB * plan[name]} kB of temporary files {what}"
            for name, what in (("Temp Written Blocks", "written"), ("Temp Read Blocks", "read"))
            if plan.get(name)
        ),
        "log": _list_wal(plan),
        "reply": tuple(
            f"{volume} kB"
            for volume in [clocked.get("Serialization", {}).get("Output Volume")]
            if volume is not None
        ),
    }
    return {name: them for name, them in facts.items() if them}


def _list_pages(plan: Mapping[str, Any]) -> tuple[str, ...]:
    words = (
        ("Shared Hit Blocks", "pages hit"),
        ("Shared Read Blocks", "pages read"),
        ("Shared Dirtied Blocks", "pages dirtied"),
    )
    return tuple(f"{plan[name]} {what}" for name, what in words if plan.get(name))


def _list_wal(plan: Mapping[str, Any]) -> tuple[str, ...]:
    words = (
        ("WAL Records", "records"),
        ("WAL FPI", "full pages"),
        ("WAL Bytes", "bytes"),
    )
    return tuple(f"{plan[name]} {what}" for name, what in words if plan.get(name))


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
    """Return the statements after which a session reports inner statements; none, and the server's
    reason, if it refuses this user.
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
    def __init__(self, us: float, told: dict[str, Any], context: str) -> None:
        self.us, self.plan = us, told["Plan"]
        self.sql = " ".join(str(told.get("Query Text", "")).split())
        found = _FUNCTION.search(context)
        self.place = found[0].strip() if found else "a constraint"
        self.rows = float(self.plan.get("Actual Rows", 0)) * float(self.plan.get("Actual Loops", 1))


def _list_runs(notices: Sequence[ServerNotice]) -> Iterator[_Run]:
    """Yield each run; the statement itself is reported, too, outside any function."""
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


#: Lines that say how much, or that only some versions write.
_LEFT_OUT = re.compile(
    r"\s*(?:Workers Planned|Disabled|Planned Partitions|Query Identifier|Settings|Window|Storage"
    r"|JIT|Functions|Options|Single Copy|Planning|Batches)\b.*:"
)
_TEXT = re.compile(r"[EB]?'(?:[^']|'')*'")
_CAST = re.compile(
    r'::(?:"[^"]+"|[a-z_][\w.]*(?: varying| precision| with(?:out)? time zone)?)'
    r"(?:\(\d+(?:,\d+)?\))?(?:\[\])?"
)
#: A subquery's value: `$0` up to 16, `(InitPlan 1).col1` from 17 on.
_SUBQUERY = re.compile(r"\(InitPlan \d+\)\.col\d+|\$\d+")
_NUMBER = re.compile(r"(?<![\w\".])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w\".])")
_RETURNS = re.compile(r" \(returns [^)]*\)$")
_BRACKETED = re.compile(r"(?<!\w)\((\w+)\)")


_PARAMETER = re.compile(r"\$(\d+)")


class ExplainsPostgresGeneric:
    """The questions for a generic plan; before 12 it cannot be asked for."""

    def list_generic_questions(self, prepared: str) -> list[str]:
        """It is made for no values at all, so that NULL stands for each."""
        most = max((int(number) for number in _PARAMETER.findall(prepared)), default=0)
        values = f"({', '.join(['NULL'] * most)})" if most else ""
        return [
            "SET plan_cache_mode = force_generic_plan",
            f"PREPARE dyno_plan AS {prepared}",
            f"EXPLAIN (COSTS OFF) EXECUTE dyno_plan{values}",
            "DEALLOCATE dyno_plan",
        ]


def plan_shape(lines: Iterable[str]) -> str:
    """The lines of the tree; conditions have `?` for each value."""
    return "\n".join(_normalize_line(line) for line in lines if not _LEFT_OUT.match(line))


def _normalize_line(line: str) -> str:
    name, colon, condition = line.partition(": ")
    if not colon:
        return _RETURNS.sub("", line)
    for form, plain in ((_TEXT, "?"), (_CAST, ""), (_SUBQUERY, "?"), (_NUMBER, "?")):
        condition = form.sub(plain, condition)
    return f"{name}: {_BRACKETED.sub(lambda found: found[1], condition)}"
