"""The same restart logs judged by five rules: false alarms and slowdowns found, side by side.

Logs with known variance components first; then those that `dyno calibrate` stored on this host
(`--quick` makes fewer up). Nothing is played and nothing is written. Each cell is the percentage
called *slower*, with its 95 % Clopper-Pearson interval; n stands in front.

Stored logs are of the blocks that Dyno kept, up to where it stopped: what it dropped as noise is
spared the other rules too. Where both are the same build, every *slower* is a false alarm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from made_up import KINDS, Made, made_up
from paired import quick, report
from rules import RULES, Floats, Log

from dyno import calibration
from dyno.calibration import Entry
from dyno.resolve.experiment import host_here
from dyno.stats.simulate import clopper_pearson

RUNS = 2000
#: What is truly planted in the made-up logs, in percent.
TRUTHS = (0.0, 2.0, 5.0)
HEADS = ("called slower, %", "n", "Dyno", *RULES)


def stored() -> dict[tuple[str, str], list[Made]]:
    """Every comparison of rates that was calibrated here and had a verdict, by engine and kind."""
    found: dict[tuple[str, str], list[Made]] = defaultdict(list)
    for entry in calibration.entries(calibration.store_file(host_here())):
        if entry.better == "higher" and entry.restarts:
            found[entry.engine, entry.what].append(Made("slower" in entry.words, _log(entry)))
    return found


def _log(entry: Entry) -> Log:
    """Times per operation: of the windows, or of the whole trial where there are none."""
    least = min(len(restart.windows) for restart in entry.restarts)

    def times(side: str) -> Floats:
        rates = [r.windows[:least] or (r.value,) for r in entry.restarts if r.candidate == side]
        return np.asarray(1.0 / np.array(rates))

    return Log(times("base"), times("candidate"))


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
    runs = 100 if quick("verdict-bakeoff") else RUNS
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
