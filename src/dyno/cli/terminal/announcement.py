"""The announcement before a run: what is compared, how long it takes, what it can detect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.errors import DynoError

if TYPE_CHECKING:
    from pathlib import Path

    from dyno.compare.forecast.estimate import Forecast
    from dyno.compare.resolve.draft import Prepared
    from dyno.compare.run_folder import RunFolder
    from dyno.record import Factor, Observation, Run


def announce(prepared: Prepared, forecast: Forecast, folder: RunFolder) -> None:
    """One short paragraph: what, where, how long, how much, where, and what it can detect."""
    from dyno.judge.analysis.sentence import pilot_words

    run, design = prepared.run, prepared.run.design
    on = " and ".join(workload.name for workload in run.workloads)
    analyses = " and ".join(", ".join(map(str, design.analyses)).rsplit(", ", 1))
    sentences = (
        f"{'QUICK: ' if design.quick else ''}{question_line(run, on)}",
        build_lines(prepared),
        f"A block starts each of the {len(run.candidates)} anew, {_order(run)}; the run is "
        f"judged at {analyses} blocks, with a margin of {_margins(run)} (a smaller "
        f"slowdown does not matter) and α {design.alpha * 100:g} % (how often an equal one may be "
        "called slower).",
        _precision(design.precision_percent),
        *pilot_words(run),
        cost_line(forecast),
        memory_line(prepared),
        detection_line(forecast, run),
        host_warnings(run.survey or ()),
    )
    screen.paragraph(" ".join(filter(None, sentences)))
    screen.line(f"run folder: {folder.path}")
    screen.gap()


def _precision(percent: float | None) -> str:
    """What lets the run go on beyond a verdict."""
    if percent is None:
        return ""
    return f"It goes on until each interval reaches no further than {percent:g} % to either side."


def _order(run: Run) -> str:
    """How a block's restarts are played."""
    from dyno.judge.analysis.sentence import slice_words

    slices = slice_words(run)
    return f"which then play interleaved in slices of {slices}" if slices else "in turn"


def _margins(run: Run) -> str:
    """`2 %`, or `2 or 5 %` where primaries have margins of their own."""
    from dyno.judge.analysis.margins import declared_primaries

    plans = run.workloads
    own = {primary.margin_percent for plan in plans for primary in declared_primaries(run, plan)}
    own = own or {run.design.margin_percent}
    return f"{' or '.join(f'{each:g}' for each in sorted(own))} %"


def host_warnings(survey: Sequence[Observation]) -> str:
    """What of this host is poor for a measurement; the rest is for `dyno doctor` to say."""
    poor = [f"{o.name} ({o.found})" for o in survey if o.mark == "poor"]
    return f"Against this host: {', '.join(poor)}; see dyno doctor." if poor else ""


def question_line(run: Run, on: str) -> str:
    """What is asked; where factors are crossed, of which cells."""
    if not run.factors:
        base, *others = (candidate.name for candidate in run.candidates)
        return f"Is {' or '.join(others)} slower than {base} on {on}?"
    asked = ", ".join(f"{f.name} ({_factor_kind(f)}{', '.join(f.levels)})" for f in run.factors)
    sizes = " × ".join(str(len(factor.levels)) for factor in run.factors)
    cells = f"{len(run.candidates)} cells"
    made = f"{sizes} = {cells}" if len(run.factors) > 1 else cells
    if run.design.crossing != "factorial":
        made = f"{cells}, one at a time"
    return f"What do these do to {on}: {asked}? {made}."


def cells_comment(file: Path) -> str:
    """A comment for the end of an experiment's file: its cells; empty without factors, and where
    the file cannot be read.
    """
    from dyno.compare import experiment
    from dyno.compare.experiment.factors import all_cells

    try:
        made = experiment.read_experiment(file)
        found = len(all_cells(made.candidates, made.crossed)) if made.crossed.levels else 0
    except DynoError:
        return ""
    blocks, at_most = made.measuring.blocks, "" if made.measuring.fixed else " at most"
    restarts = f", {blocks} blocks are {blocks * found}{at_most}" if blocks else ""
    return f"\n# {found} cells; a block is {found} restarts{restarts}\n" if found else ""


def _factor_kind(factor: Factor) -> str:
    """Whose word the factor is; a candidate's name says so itself."""
    return "" if factor.kind == factor.name else f"{factor.kind}: "


def build_lines(prepared: Prepared) -> str:
    """What each candidate resolved to, where that says more than its name, with the compiler and
    optimisation that its build tells.
    """
    from dyno.record.build_facts import read_build_facts

    made = {it.name: str(read_build_facts(it.build)) for it in prepared.run.candidates}
    if prepared.run.factors:
        programs = {f"{b.engine} {b.version}" for b in prepared.builds.values() if b.version}
        return f"(It is {' and '.join(sorted(programs))}.)" if len(programs) == 1 else ""
    found = []
    for name, build in prepared.builds.items():
        version = f"{build.engine} {build.version}" if build.version not in name else ""
        how = f"by {made[name]}" if made[name] else ""
        if build.program.is_file() and (version or how):
            found.append(f"{name} is {' '.join(filter(None, (version or 'built', how)))}")
    return f"({'; '.join(found)}.)" if found else ""


def cost_line(forecast: Forecast) -> str:
    """Time and disk."""
    expected, worst = map(screen.format_duration, (forecast.expected_s, forecast.worst_s))
    disk = screen.format_bytes(forecast.disk_bytes)
    time = f"about {expected}" if expected == worst else f"about {expected}, at worst {worst}"
    return f"It takes {time}, and needs {disk} of free disk."


def memory_line(prepared: Prepared) -> str:
    """What the engines take that are up at once, where they are."""
    if (found := prepared.memory) is None:
        return ""
    who = "both" if found.engines == 2 else f"all {found.engines}"
    need, have = found.needed_bytes / 1e9, found.available_bytes / 1e9
    return f"Interleaved: {who} engines are up at once, about {need:.1f} GB of {have:.1f} GB."


def detection_line(forecast: Forecast, run: Run) -> str:
    """The slowdown seen in four runs of five, in each primary, by how noisy blocks turn out."""
    found = [
        (sd, effect) for sd, effect in sorted(forecast.detectable.items()) if effect < math.inf
    ]
    if not found:
        return ""
    what = "two restarts in a block" if run.factors else "blocks"
    where = [f"where {what} vary by", *("by" for _ in found[1:])]
    cases = ", ".join(
        f"{effect:.2g} % {by} {sd:g} %" for by, (sd, effect) in zip(where, found, strict=True)
    )
    blocks = run.design.analyses[-1]
    return f"With {blocks} blocks it finds, four times in five, a slowdown of {cases}."
