"""`dyno show`: lists what there is, and shows one thing or one run in detail.

Of a run: what was asked, how much was played, the verdict, and where the spread comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from dyno.cli import show_details
from dyno.cli.options import Word
from dyno.cli.runs import (
    list_capacity_names,
    list_count_names,
    list_disk_names,
    list_run_names,
)
from dyno.cli.terminal import screen
from dyno.errors import DynoError, build_unknown_error
from dyno.former_names import AUDITS
from dyno.plugins import load_modules, load_things

Rows = list[tuple[str, str]]


def list_names(what: str) -> list[str]:
    """The names in a package, or of the runs and experiments at hand; none where there is no
    such.
    """
    return [name for name, _ in OVERVIEWS[what]()] if what in OVERVIEWS else []


def list_every_name() -> list[str]:
    """Every word that `dyno show` understands."""
    return [*OVERVIEWS, *(name for what in OVERVIEWS for name in list_names(what)), "last"]


def complete_name(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What a shell offers for NAME: the names in the package that was written before it."""
    package = ctx.params.get("what")
    return [name for name in list_names(package) if name.startswith(incomplete)] if package else []


@click.command("show")
@click.argument("what", required=False, type=Word("what", list_every_name))
@click.argument("name", required=False, shell_complete=complete_name)
def command(what: str | None, name: str | None) -> None:
    """Show engines, workloads, controls and the like, with their options.

    WHAT is engines, workloads, controls, probes, audits, experiments or runs, and NAME one of
    them: `dyno show engines`, `dyno show workloads insert`. WHAT may also be a name alone:
    `dyno show insert`, `dyno show last`.
    """
    if what is None:
        for package in OVERVIEWS:
            print_overview(package)
    elif what in OVERVIEWS and name is None:
        print_overview(what)
    elif what in OVERVIEWS and name is not None:
        print_detail(what, name)
    else:
        print_detail(find_kind(what), what)


def find_kind(word: str) -> str:
    """The package in which `word` is a name."""
    from dyno.compare.experiments import read_former_names

    for package in ("engines", "workloads", "controls", "probes", "audits", "experiments"):
        if word in list_names(package):
            return package
    if word in AUDITS:
        return "audits"
    if word in read_former_names():
        return "experiments"
    if Path(word).suffix in (".lua", ".sql", ".pgbench"):
        return "workloads"
    if word == "last" or any(name.startswith(word) for name in list_names("runs")) or "/" in word:
        return "runs"
    near = build_unknown_error("thing to show", word, list_every_name())
    if near.hint.startswith("known: "):  # a sorted list would begin with dozens of runs
        near.hint = f"known: {', '.join(OVERVIEWS)}, or a name in one of them"
    raise near


def print_overview(package: str) -> None:
    """A package's names with a line on each."""
    rows = OVERVIEWS[package]()
    screen.print_line(screen.style_bold(package))
    screen.print_table((), [(f"  {name}", said) for name, said in rows] or [("  (none)", "")])
    screen.print_gap()


def print_detail(package: str, name: str) -> None:
    """All there is to know of one thing."""
    show_details.DETAILS[package](name)


def extract_first_sentence(text: str) -> str:
    """What a docstring or comment says first."""
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].removesuffix(".")


def build_overview(package: str, attribute: str) -> Callable[[], Rows]:
    """The overview of a package of things that sum themselves up."""
    return lambda: [
        (name, extract_first_sentence(thing.summary))
        for name, thing in load_things(package, attribute).items()
    ]


def list_engines() -> Rows:
    """Each engine with what its module says of itself."""
    packages = load_modules("dyno.engines").items()
    return [(name, extract_first_sentence(module.__doc__ or "")) for name, module in packages]


def list_workloads() -> Rows:
    """Each workload with the first sentence of its script."""
    from dyno import workloads as known

    return [
        (name, extract_first_sentence(extract_opening_comment(script)))
        for name, script in known.list_workloads().items()
    ]


def extract_opening_comment(script: Path) -> str:
    """The comment that a Lua script begins with."""
    lines: list[str] = []
    for line in script.read_text(encoding="utf-8").splitlines():
        if not line.startswith("--"):
            break
        if not (told := line.lstrip("-").strip()).startswith("title:"):
            lines.append(told)
    return "\n".join(lines)


def list_experiments() -> Rows:
    """Each experiment with its question."""
    from dyno.compare.experiment import read_experiment
    from dyno.compare.experiments import list_experiments

    rows = []
    for name, file in list_experiments().items():
        try:
            said = read_experiment(file).question
        except DynoError as error:
            said = f"({error.message})"
        rows.append((name, " ".join(said.split())))
    return rows


def list_all_runs() -> Rows:
    """Each run, count of instructions, run of disks and capacity, oldest first."""
    counts = [(name, "instructions counted") for name in list_count_names()]
    disks = [(name, "disks measured") for name in list_disk_names()]
    rates = [(name, "capacity") for name in list_capacity_names()]
    return sorted([*((name, "") for name in list_run_names()), *counts, *disks, *rates])


OVERVIEWS: dict[str, Callable[[], Rows]] = {
    "engines": list_engines,
    "workloads": list_workloads,
    "controls": show_details.list_controls,
    "probes": build_overview("dyno.host.probes", "PROBE"),
    "audits": build_overview("dyno.judge.audits", "AUDIT"),
    "experiments": list_experiments,
    "runs": list_all_runs,
}
