"""Causes that are known, played as a user would: is the first one that is named the right one, is
its size within a fifth of the truth, and does its interval hold it?

A truth is arithmetic (an index that is gone reads every row), the kernel's count, the driver's own
clock, or what the injected code counted of itself (`known_causes.c`).
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from compared import compare
from paired import BENCH

from dyno.builds.compiler import Recipe, compile_library
from dyno.host.controls import inject
from dyno.judge.analysis.measures import count_operations
from dyno.record import Cause, PhaseRecord, Trial
from dyno.runs.run_folder import RunFolder

QUIET = ("--quick", "--limit", "foreign_percent=100", "--limit", "steal_percent=100")
#: Of the truth, that a size may be away from it.
WITHIN = 0.2
CONTROLS = inject.SOURCE.parent


class NamedCause(NamedTuple):
    """What is named first, with its size and interval: counts, µs of waiting or ns of CPU time."""

    name: str
    size: float
    low: float
    high: float


@dataclass(frozen=True)
class KnownCause:
    """A comparison whose cause is known.

    `first` is what the cause named first must begin with. `truth` computes the size from the trials
    of base and candidate; `counter` holds it where a plan, which has no size, is named.
    """

    name: str
    words: Sequence[str]
    first: str
    truth: Callable[[Sequence[Trial], Sequence[Trial]], float]
    counter: str = ""
    library: int = 0


def find_first(cause: Cause, counter: str) -> NamedCause:
    """The first clause that tells of a difference; a plan's size is that of `counter`."""
    for clause in cause.clauses:
        plans = [each for each in cause.plan_changes if each.kind in ("between", "both")]
        if clause.table == "plans" and plans and "has another plan" in clause.text:
            (row,) = [each for each in cause.counters if each.counter == counter]
            return NamedCause(f"plan: {plans[0].step}", row.difference, row.low, row.high)
        if clause.table == "counters" and cause.counters[0].differs:
            first = cause.counters[0]
            return NamedCause(first.counter, first.difference, first.low, first.high)
        if clause.table == "waits":
            kinds = [each for each in cause.waits if each.differs and each.kind != "running"]
            wait = kinds[0]
            name = f"{wait.kind}: {next(iter(wait.events or {}), 'counted')}"
            return NamedCause(name, wait.difference_us, wait.low_us, wait.high_us)
        named = [it for cpu in cause.cpu[:1] for it in cpu.layers if "c" in it.word[:1]]
        if clause.table == "layers" and named:
            layer = named[0]
            function = layer.functions[0].name if layer.functions else ""
            ends = layer.difference_ns, layer.low_ns, layer.high_ns
            return NamedCause(f"{layer.layer}: {function}", *ends)
    return NamedCause("nothing", 0.0, 0.0, 0.0)


def _find_last(trial: Trial) -> PhaseRecord:
    return trial.phases[-1]


def _measure(reading: str) -> Callable[[Sequence[Trial], Sequence[Trial]], float]:
    """The difference in a probe's reading an operation."""

    def compute(trials: Sequence[Trial]) -> float:
        records = [_find_last(trial) for trial in trials]
        return mean(
            sum(it.value for it in record.readings if it.name == reading) / count_operations(record)
            for record in records
        )

    return lambda base, other: compute(other) - compute(base)


def _be(size: float) -> Callable[[Sequence[Trial], Sequence[Trial]], float]:
    return lambda base, other: size


def _compute_users_wait(base: Sequence[Trial], other: Sequence[Trial]) -> float:
    """µs an operation that the two users which update wait longer, by the driver's clock."""

    def compute(trial: Trial) -> float:
        record = _find_last(trial)
        (stream,) = record.streams
        whole_us = stream.latency.mean_ns * stream.latency.count / 1e3
        return (whole_us - record.duration_s * 1e6) / count_operations(record)

    return mean(map(compute, other)) - mean(map(compute, base))


def _compute_latency(base: Sequence[Trial], other: Sequence[Trial]) -> float:
    """µs that an operation takes longer, by the driver's clock."""

    def compute(trial: Trial) -> float:
        (stream,) = _find_last(trial).streams
        return stream.latency.mean_ns / 1e3

    return mean(map(compute, other)) - mean(map(compute, base))


def _delay(server: str, library: int, layer: str, *more: str) -> KnownCause:
    kinds = {1: "a loop in recv(2)", 2: "a comment to scan", 3: "a text to search"}
    words = server, "--factor", "inject=0ns,20000ns", "-w", "oltp_point_select"
    options = "--set", "table_size=5000", "--set", "time=1", "--set", "threads=1", *more
    truth = _measure("injected_ns")
    return KnownCause(
        f"{server}: {kinds[library]}", (*words, *options), layer, truth, library=library
    )


def _held(server: str, held: str, first: str) -> KnownCause:
    words = server, "--factor", f"held=no,{held}", "-w", str(BENCH / "held_lock.lua")
    options = "--set", "threads=3", "--set", "time=2", "--set", "warmup_time=0", "--sequential"
    return KnownCause(f"{server}: a lock held", (*words, *options), first, _compute_users_wait)


def _sides(server: str, *settings: str) -> tuple[str, ...]:
    return tuple(f"{side}={server}?{each}" for side, each in zip("ab", settings, strict=True))


POINT = "-w", "oltp_point_select", "--set", "threads=1", "--set", "time=0.6"
UPDATE = "-w", "oltp_update_non_index", "--set", "threads=1", "--set", "time=1"
NO_INDEX = "enable_indexscan=off&enable_bitmapscan=off&enable_indexonlyscan=off"
UNPREPARED = "--set", "db_ps_mode=disable"
CAUSES = (
    KnownCause(
        "sqlite: an index gone",
        ("sqlite", "--factor", "indexed=true,false", "-w", str(BENCH / "lookup.lua")),
        "plan: SCAN item",
        _be(2999),
        "scanned_rows",
    ),
    KnownCause(
        "postgres@18: an index gone",
        (*_sides("postgres@18", "", NO_INDEX), *POINT, "--set", "table_size=5000"),
        "plan: Seq Scan",
        _be(4999),
        "rows_read",
    ),
    KnownCause(
        "postgres@18: 1 MB of buffers",
        (
            *_sides("postgres@18", "", "shared_buffers=1MB"),
            *POINT,
            "--set",
            "table_size=20000",
        ),
        "pages_read",
        _measure("read_calls"),
    ),
    KnownCause(
        "postgres@18: no fsync",
        (
            *_sides("postgres@18", "synchronous_commit=on", "synchronous_commit=on&fsync=off"),
            *UPDATE,
        ),
        "fsyncs",
        _be(-1.0),
    ),
    KnownCause(
        "mysql@8.0.33: flush at commit 1, 2",
        (
            *_sides(
                "mysql@8.0.33",
                "innodb_flush_log_at_trx_commit=1",
                "innodb_flush_log_at_trx_commit=2",
            ),
            *UPDATE,
        ),
        "fsyncs",
        _be(-1.0),
    ),
    _held("postgres@18", "rows", "locks: transactionid"),
    _held("mysql@8.0.33", "rows", "locks: counted"),
    _held("mariadb@10.11", "tables", "locks: waiting for table metadata lock"),
    _held("sqlite", "file", "locks: counted"),
    _delay("postgres@18", 2, "parser and analysis", *UNPREPARED),
    _delay("postgres@18", 1, "libraries and extensions: recv"),
    _delay("mysql@8.0.33", 3, "character sets"),
    _delay("mysql@8.0.33", 1, "libraries and extensions: recv"),
    KnownCause(
        "mysql@8.0.33: a routine that sleeps",
        (
            "mysql@8.0.33",
            "--factor",
            "sleep=0,0.005",
            "-w",
            str(BENCH / "routine.lua"),
            "--sequential",
        ),
        "other: user sleep",
        _compute_latency,
    ),
)


def ensure_library(kind: int) -> str:
    """The injected code, compiled."""
    flags = f"-O2 -I{CONTROLS}"
    recipe = Recipe("known-cause", BENCH / "known_causes.c", flags, f"WORK={kind}", ("dl",))
    return str(compile_library(recipe, lambda _: None).program)


def play(known: KnownCause, place: Path) -> RunFolder:
    """The run of a known cause, in a folder of its own."""
    if known.library:
        inject.CONTROL.ensure_library = lambda: ensure_library(known.library)
    return compare([*known.words, *QUIET], place)


def describe(known: KnownCause, run: RunFolder) -> tuple[bool, str]:
    """A row of the table, and whether all of it is right."""
    verdict = run.read_verdict()
    if verdict is None or not verdict.causes:
        return False, f"| {known.name} | nothing was looked at | | | |"
    (cause,) = verdict.causes
    named = find_first(cause, known.counter)
    trials = [it for it in run.read_trials() if it.status == "ok" and it.block is not None]
    sides = (
        [trial for trial in trials if (trial.candidate == cause.candidate) == is_other]
        for is_other in (False, True)
    )
    truth = known.truth(*sides)
    is_first = named.name.startswith(known.first)
    is_near = abs(named.size - truth) <= WITHIN * abs(truth)
    miss = 100 * max(named.low - truth, truth - named.high) / abs(truth)
    words = [f"{each:.4g}" for each in (named.size, named.low, named.high, truth)]
    marks = ", ".join(
        word for word, right in (("another", is_first), ("size", is_near)) if not right
    )
    row = (
        known.name,
        named.name,
        f"{words[0]} [{words[1]}, {words[2]}]",
        words[3],
        (marks or "right") + (f", interval misses by {miss:.1f} %" if miss >= 0.1 else ""),
    )
    return is_first and is_near, f"| {' | '.join(row)} |"


def main() -> None:
    parser = ArgumentParser(prog="bench/run known-causes")
    parser.add_argument("--only", default="", help="causes whose name holds this text")
    parser.add_argument(
        "--quick", action="store_true", help="the first of them; shows that it runs"
    )
    words = parser.parse_args()
    chosen = [known for known in CAUSES if words.only in known.name]
    rows = []
    with TemporaryDirectory(prefix="dyno-known-") as place:
        for at, known in enumerate(chosen[: 1 if words.quick else None]):
            rows.append(describe(known, play(known, Path(place) / str(at))))
            print(rows[-1][1], file=sys.stderr, flush=True)
    print("| known cause | named first | difference | truth | |\n|---|---|---|---|---|")
    for _, row in rows:
        print(row)
    print(f"{sum(right for right, _ in rows)} of {len(rows)} right")


if __name__ == "__main__":
    main()
