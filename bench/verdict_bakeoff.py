"""The same restart logs judged by five rules: false alarms and slowdowns found, side by side.

Logs with known variance components first (`--quick` makes fewer up); then those of this host, of
which `--play N` plays and keeps N more. Each cell is the percentage called *slower*, with its 95 %
Clopper-Pearson interval; n stands in front.

Stored logs are of the blocks that Dyno kept, up to where it stopped: what it dropped as noise is
spared the other rules too. Where both are the same build, every *slower* is a false alarm.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from made_up import KINDS, Made, made_up
from paired import report
from restart_logs import play, stored
from rules import RULES

from dyno.stats.simulate import clopper_pearson

RUNS = 2000
#: What is truly planted in the made-up logs, in percent.
TRUTHS = (0.0, 2.0, 5.0)
HEADS = ("called slower, %", "n", "Dyno", *RULES)


def words() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench/run verdict-bakeoff")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--play", type=int, default=0, metavar="N", help="comparisons to add")
    parser.add_argument("--engine", default="sqlite", help="which, with itself")
    return parser.parse_args()


def row(what: str, made: Iterable[Made]) -> tuple[object, ...]:
    """What each rule calls slower."""
    cases = list(made)
    counts = [sum(case.slower for case in cases)]
    counts += [sum(rule(case.log) for case in cases) for rule in RULES.values()]
    return (what, len(cases), *(cell(count, len(cases)) for count in counts))


def cell(hits: int, trials: int) -> str:
    """`12.5 (4-28)`, in percent."""
    low, high = clopper_pearson(hits, trials)
    return f"{100 * hits / trials:.1f} ({100 * low:.0f}-{100 * high:.0f})"


def main() -> None:
    asked = words()
    runs = 100 if asked.quick else RUNS
    for _ in range(asked.play):
        play(asked.engine)
    rows: list[tuple[object, ...]] = [HEADS]
    for kind in KINDS:
        for percent in TRUTHS:
            truth = f"{percent:g} % slower" if percent else "same build"
            rows.append(row(f"{truth}, {kind.name}", made_up(kind, percent, runs)))
    measured = stored()
    rows += [row(f"{engine}: {what}", made) for (engine, what), made in sorted(measured.items())]
    figures: dict[str, float | str] = {"bench": "verdict-bakeoff", "made_up": runs}
    figures["measured"] = sum(len(made) for made in measured.values())
    report(rows, figures)


if __name__ == "__main__":
    main()
