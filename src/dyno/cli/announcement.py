"""What is said before a run: what is compared, how long it takes, and what it can detect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dyno.cli import screen

if TYPE_CHECKING:
    from dyno.conduct import Forecast, Prepared
    from dyno.folder import Folder
    from dyno.record import Observation


def announce(prepared: Prepared, forecast: Forecast, made: Folder) -> None:
    """One short paragraph: what, how long, how much, where, and what it can detect."""
    run, design = prepared.run, prepared.run.design
    names = [candidate.name for candidate in run.candidates]
    on = " and ".join(workload.name for workload in run.workloads)
    looks = " and ".join(", ".join(map(str, design.looks)).rsplit(", ", 1))
    sentences = (
        f"{'QUICK: ' if design.quick else ''}Is {' or '.join(names[1:])} slower than {names[0]} "
        f"on {on}?",
        builds(prepared),
        f"Blocks of {len(names)} restarts, judged at {looks} blocks, margin "
        f"{design.margin_percent:g} %, α {design.alpha * 100:g} %.",
        cost(forecast),
        detects(forecast, design.looks[-1]),
        against(run.survey or ()),
    )
    screen.paragraph(" ".join(filter(None, sentences)))
    click.echo(f"run folder: {made.path}\n")


def against(survey: Sequence[Observation]) -> str:
    """What of this host is poor for a measurement; the rest is for `dyno doctor` to say."""
    poor = [f"{o.name} ({o.found})" for o in survey if o.mark == "poor"]
    return f"Against this host: {', '.join(poor)}; see dyno doctor." if poor else ""


def builds(prepared: Prepared) -> str:
    """What each candidate resolved to, where that says more than its name."""
    found = [
        f"{name} is {build.engine} {build.version}"
        for name, build in prepared.builds.items()
        if build.program.is_file() and build.version not in name
    ]
    return f"({'; '.join(found)}.)" if found else ""


def cost(forecast: Forecast) -> str:
    """Time and disk."""
    expected, worst = map(screen.spelled_duration, (forecast.expected_s, forecast.worst_s))
    disk = screen.spelled_bytes(forecast.disk_bytes)
    time = f"about {expected}" if expected == worst else f"about {expected}, at worst {worst}"
    return f"It takes {time}, and needs {disk} of free disk."


def detects(forecast: Forecast, blocks: int) -> str:
    """The smallest slowdown seen in four runs of five, by how noisy blocks turn out."""
    found = sorted(forecast.detectable.items())
    if not found:
        return ""
    cases = ", ".join(f"{effect:.2g} % where blocks vary by {sd:g} %" for sd, effect in found)
    return f"With {blocks} blocks it finds, four times in five, a slowdown of {cases}."
