"""The same restarts judged by Dyno's rule and by those of other tools, at equal machine time.

False alarms (no slowdown is injected) and slowdowns found (2, 5 and 10 %, multiplied into the
candidate's times), as percent called *slower*. Dyno's rule goes from analysis to analysis; each
other rule is given as many restarts of each side as Dyno's took on average until its word, told as
`restarts`.

Made-up logs with known variance components come first. `--logs FOLDER` adds real ones of one build
under two names, which `--play ENGINE` plays there, `--blocks` pairs of restarts at a time,
interleaved or `--sequential`ly. Comparisons are drawn from their pairs with replacement. Intervals
are 95 % Clopper-Pearson's, of the comparisons made; that a log's come of so many `pairs` is not in
them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from made_up import KINDS, Comparisons, made_up
from paired import table
from restart_logs import INTERLEAVED, SEQUENTIAL, play, stored
from rules import RULES

from dyno.judge.stats.simulate import compute_clopper_pearson

RUNS, QUICK_RUNS = 500, 60
#: What is injected, in percent.
TRUTHS = (0.0, 2.0, 5.0, 10.0)
DYNO = "Dyno"


@dataclass(frozen=True)
class Row:
    """How many of `n` comparisons of one truth a rule called slower."""

    log: str
    pairs: int
    rule: str
    truth_percent: float
    restarts: int
    n: int
    slower: int

    @property
    def percent(self) -> tuple[float, float, float]:
        """The share called slower, and the bounds of its interval."""
        low, high = compute_clopper_pearson(self.slower, self.n)
        return 100 * self.slower / self.n, 100 * low, 100 * high

    @property
    def cell(self) -> str:
        """`12.5 (4-28)`, in percent."""
        share, low, high = self.percent
        return f"{share:.1f} ({low:.0f}-{high:.0f})"

    @property
    def figures(self) -> dict[str, object]:
        """As a program reads it."""
        names = ("slower_percent", "low_percent", "high_percent")
        return vars(self) | {n: round(v, 1) for n, v in zip(names, self.percent, strict=True)}


def words() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench/run verdict-bakeoff")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="real logs, read or played")
    parser.add_argument("--play", metavar="ENGINE", help="adds pairs of its restarts to the logs")
    parser.add_argument("--blocks", type=int, default=24, help="pairs to play")
    parser.add_argument("--sequential", action="store_true", help="one restart after the other")
    asked = parser.parse_args()
    if asked.play and not asked.logs:
        parser.error("--play needs a folder: --logs FOLDER")
    return asked


def judged(name: str, same: Comparisons, truth: float) -> Iterator[Row]:
    """Every rule on the comparisons of one log, with so much injected."""
    made = same.injected(truth)
    found = made.judged()
    restarts = round(found.blocks.mean())
    logs = made.logs(restarts)
    counts = {DYNO: int((found.words == "slower").sum())}
    counts |= {rule: sum(map(is_slower, logs)) for rule, is_slower in RULES.items()}
    for rule, slower in counts.items():
        yield Row(name, same.pairs, rule, truth, restarts, len(logs), slower)


def show(name: str, rows: list[Row]) -> None:
    """A table: rules under one another, truths side by side."""
    print(f"\n{name}: percent called slower, {rows[0].n} comparisons of {rows[0].pairs} pairs")
    first = [row for row in rows if row.rule == DYNO]
    heads = [f"{row.truth_percent:g} %, {row.restarts} restarts" for row in first]
    lines = [("rule", *heads)]
    for rule in (DYNO, *RULES):
        lines.append((rule, *(row.cell for row in rows if row.rule == rule)))
    table(lines)


def main() -> None:
    asked = words()
    if asked.play:
        play(asked.logs, asked.play, SEQUENTIAL if asked.sequential else INTERLEAVED, asked.blocks)
    runs = QUICK_RUNS if asked.quick else RUNS
    logs = {f"made up, {kind.name}": made_up(kind, runs) for kind in KINDS}
    if asked.logs:
        real = stored(asked.logs, runs)
        logs |= {f"{engine}, {order}": made for (engine, order), made in real.items()}
    rows: list[Row] = []
    for name, same in logs.items():
        each = [row for truth in TRUTHS for row in judged(name, same, truth)]
        show(name, each)
        rows += each
    print(json.dumps({"bench": "verdict-bakeoff", "rows": [row.figures for row in rows]}))


if __name__ == "__main__":
    main()
