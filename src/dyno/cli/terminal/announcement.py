"""The announcement before a run: what is compared, how long it takes, what it can detect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.errors import DynoError

if TYPE_CHECKING:
    from pathlib import Path

    from dyno.record import Observation, Run
    from dyno.runs.forecast.estimate import Forecast
    from dyno.runs.resolve.draft import Prepared
    from dyno.runs.run_folder import RunFolder

#: Client hosts that are named.
HOSTS = 4


def announce(
    prepared: Prepared, forecast: Forecast, folder: RunFolder, verbose: bool = False
) -> None:
    if verbose:
        _announce_all(prepared, forecast, folder)
        return
    run = prepared.run
    *others, last = (workload.name for workload in run.workloads)
    on = " and ".join([*([", ".join(others)] if others else []), last])
    quick = "QUICK: " if run.design.quick else ""
    screen.print_paragraph(
        f"{quick}{run.question or format_question(run, on)}  {_format_effort(run, forecast)}",
        screen.choose_screen_columns(),
    )
    screen.print_gap()


def _format_effort(run: Run, forecast: Forecast) -> str:
    """`6 to 24 blocks, margin 2 %, about 1 min, at worst 2 min`."""
    if run.design.untimed:
        return "no time is measured"
    analyses = run.design.analyses
    least, most = analyses[0], analyses[-1]
    blocks = f"{least} blocks" if least == most else f"{least} to {most} blocks"
    expected, worst = map(screen.format_duration, (forecast.expected_s, forecast.worst_s))
    time = f"about {expected}" if expected == worst else f"about {expected}, at worst {worst}"
    clients = f", clients on {_name_clients(run)}" if run.client_hosts else ""
    return f"{blocks}, margin {_format_margins(run)}, {time}{clients}"


def _name_clients(run: Run, with_cores: bool = False) -> str:
    """`c1 and c2`, the first of many; with how many cores each has, if that is wanted. Names that
    lead to one machine are told: they share its cores.
    """
    hosts = run.client_hosts
    names = [f"{it.name} ({it.cores} cores)" if with_cores else it.name for it in hosts[:HOSTS]]
    if more := len(hosts) - len(names):
        names.append(f"{more} more")
    named = " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])
    if (machines := len({host.machine for host in hosts})) == len(hosts):
        return named
    return f"{named} ({machines} machine{'s' if machines > 1 else ''})"


def _announce_all(prepared: Prepared, forecast: Forecast, folder: RunFolder) -> None:
    """One short paragraph: what, where, how long, how much, where, and what it can detect."""
    from dyno.judge.analysis.layer_words import describe_cpu_sampling
    from dyno.judge.analysis.sentence import describe_pilot

    run, design = prepared.run, prepared.run.design
    on = " and ".join(workload.name for workload in run.workloads)
    analyses = " and ".join(", ".join(map(str, design.analyses)).rsplit(", ", 1))
    sentences = (
        f"{'QUICK: ' if design.quick else ''}{format_question(run, on)}",
        format_builds(prepared),
        f"A block starts each of the {len(run.candidates)} anew, {_describe_order(run)}; the run "
        "is "
        f"judged at {analyses} blocks, with a margin of {_format_margins(run)} (a smaller "
        f"slowdown does not matter) and α {design.alpha * 100:g} % (how often an equal one may be "
        "called slower).",
        f"The load comes from {_name_clients(run, with_cores=True)}." if run.client_hosts else "",
        "It goes on until each interval reaches no further than "
        f"{design.precision_percent:g} % to either side."
        if design.precision_percent is not None
        else "",
        *describe_pilot(run),
        format_cost(forecast),
        format_memory(prepared),
        format_detection(forecast, run),
        describe_cpu_sampling(run),
        list_host_warnings(run.survey or ()),
    )
    screen.print_paragraph(" ".join(filter(None, sentences)))
    screen.print_line(f"run folder: {folder.path}")
    screen.print_gap()


def _describe_order(run: Run) -> str:
    from dyno.judge.analysis.sentence import describe_slices

    slices = describe_slices(run)
    return f"which then play interleaved in slices of {slices}" if slices else "in turn"


def _format_margins(run: Run) -> str:
    """`2 %`, or `2 or 5 %` where primaries have margins of their own."""
    from dyno.judge.analysis.effects import list_declared_primaries

    plans = run.workloads
    own = {
        primary.margin_percent for plan in plans for primary in list_declared_primaries(run, plan)
    }
    own = own or {run.design.margin_percent}
    return f"{' or '.join(f'{each:g}' for each in sorted(own))} %"


def list_host_warnings(survey: Sequence[Observation]) -> str:
    """What of this host is poor for a measurement; the rest is for `dyno doctor` to say."""
    poor = [f"{o.name} ({o.found})" for o in survey if o.mark == "poor"]
    return f"Against this host: {', '.join(poor)}; see dyno doctor." if poor else ""


def format_question(run: Run, on: str) -> str:
    if not run.factors:
        base, *others = (candidate.name for candidate in run.candidates)
        return f"Is {' or '.join(others)} slower than {base} on {on}?"
    asked = ", ".join(
        f"{f.name} ({'' if f.kind == f.name else f'{f.kind}: '}{', '.join(f.levels)})"
        for f in run.factors
    )
    sizes = " × ".join(str(len(factor.levels)) for factor in run.factors)
    cells = f"{len(run.candidates)} cells"
    made = f"{sizes} = {cells}" if len(run.factors) > 1 else cells
    if run.design.crossing != "factorial":
        made = f"{cells}, one at a time"
    return f"What do these do to {on}: {asked}? {made}."


def format_cells_comment(file: Path) -> str:
    """A comment for the end of an experiment's file: its cells; empty without factors, and where
    the file cannot be read.
    """
    from dyno.runs import experiment
    from dyno.runs.experiment.candidates import list_cells

    try:
        made = experiment.read_experiment(file)
        found = len(list_cells(made.candidates, made.crossed)) if made.crossed.levels else 0
    except DynoError:
        return ""
    blocks, at_most = made.measuring.blocks, "" if made.measuring.fixed else " at most"
    restarts = f", {blocks} blocks are {blocks * found}{at_most}" if blocks else ""
    return f"\n# {found} cells; a block is {found} restarts{restarts}\n" if found else ""


def format_builds(prepared: Prepared) -> str:
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


def format_cost(forecast: Forecast) -> str:
    expected, worst = map(screen.format_duration, (forecast.expected_s, forecast.worst_s))
    disk = screen.format_bytes(forecast.disk_bytes)
    time = f"about {expected}" if expected == worst else f"about {expected}, at worst {worst}"
    return f"It takes {time}, and needs {disk} of free disk."


def format_memory(prepared: Prepared) -> str:
    """What the engines take that are up at once, where they are."""
    if (found := prepared.memory) is None:
        return ""
    who = "both" if found.engines == 2 else f"all {found.engines}"
    need, have = found.needed_bytes / 1e9, found.available_bytes / 1e9
    return f"Interleaved: {who} engines are up at once, about {need:.1f} GB of {have:.1f} GB."


def format_detection(forecast: Forecast, run: Run) -> str:
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
