"""What `compare`, `run` and `resume` share: say what will happen, play, judge, tell."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import screen
from dyno.cli.arguments import DURATION, runs_home
from dyno.cli.live import watching
from dyno.errors import DynoError

if TYPE_CHECKING:
    from dyno.conduct import Forecast, Prepared
    from dyno.conduct.watch import Watch
    from dyno.experiment import Experiment
    from dyno.folder import Folder
    from dyno.record import Run, Verdict
    from dyno.report import Book

#: HOUSE.md's codes of a comparison.
EXITS = {"not slower": 0, "faster": 0, "slower": 1, "inconclusive": 2, "invalid": 3}


class OutputFile(click.Path):
    """A file to be written at the end of a long run: its folder must be there at the start."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path."""
        path = Path(str(super().convert(value, param, ctx)))
        if not path.absolute().parent.is_dir():
            self.fail(f"there is no folder {path.parent}", param, ctx)
        return path


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

BUDGET: Decorator = click.option(
    "--budget", type=DURATION, metavar="TIME", help="Fit the blocks to a time, e.g. 10m."
)
QUICK: Decorator = click.option(
    "--quick", is_flag=True, help="One look at 5 blocks of a shortened workload; marked QUICK."
)
BLOCKS: Decorator = click.option(
    "--blocks", type=int, metavar="MAX", help="Blocks at the last look.  [default: 24]"
)
JSON: Decorator = click.option(
    "--json",
    "json_file",
    type=OutputFile(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write a row per comparison.",
)


@dataclass(frozen=True)
class Wanted:
    """What a user asked of a run beside the experiment itself."""

    budget_s: float | None = None
    json_file: Path | None = None


def spelled_command() -> str:
    """The command that is being played, as one would type it again."""
    return shlex.join(["dyno", *sys.argv[1:]])


def play(experiment: Experiment, wanted: Wanted) -> Verdict:
    """Resolves, announces, plays and judges `experiment`."""
    from dyno import conduct, folder

    prepared = conduct.resolve(experiment, said)
    if wanted.budget_s is not None:
        prepared = conduct.fit(prepared, wanted.budget_s)
    forecast = conduct.forecast(prepared)
    made = folder.create(prepared.run, runs_home())
    announce(prepared, forecast, made)
    watched(lambda watch: conduct.play(prepared, made, watch), made, forecast)
    return tell(made, wanted.json_file)


def said(clause: str) -> None:
    """What preparing is at, on stderr: it belongs to nobody's output."""
    click.echo(f"{clause} …", err=True)


def watched(work: Callable[[Watch], Run], made: Folder, forecast: Forecast | None) -> None:
    """Plays under the live display; whatever stops it, what was measured stays and can go on."""
    name = made.path.name
    try:
        with watching(forecast) as watch:
            work(watch)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"what was measured stays in {made.path}; `dyno resume {name}` goes on, "
            f"`dyno report {name}` judges what there is"
        ) from None
    except DynoError as error:
        stays = f"what was measured stays in {made.path}"
        error.hint = f"{error.hint}; {stays}" if error.hint else stays
        raise


def announce(prepared: Prepared, forecast: Forecast, made: Folder) -> None:
    """One short paragraph: what, how long, how much, where, and what it can detect."""
    run, design = prepared.run, prepared.run.design
    names = [candidate.name for candidate in run.candidates]
    on = " and ".join(workload.name for workload in run.workloads)
    looks = ", ".join(map(str, design.looks))
    sentences = (
        f"{'QUICK: ' if design.quick else ''}Is {' or '.join(names[1:])} slower than {names[0]} "
        f"on {on}?",
        builds(prepared),
        f"Blocks of {len(names)} restarts, judged at {looks} blocks, margin "
        f"{design.margin_percent:g} %, α {design.alpha * 100:g} %.",
        cost(forecast),
        detects(forecast, design.looks[-1]),
    )
    screen.paragraph(" ".join(filter(None, sentences)))
    click.echo(f"run folder: {made.path}\n")


def builds(prepared: Prepared) -> str:
    """What each candidate resolved to, where that says more than its name."""
    found = [
        f"{name} is {build.engine} {build.version}"
        for name, build in prepared.builds.items()
        if build.version and build.version not in name
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


def tell(made: Folder, json_file: Path | None) -> Verdict:
    """Judges what is in the folder, writes what is derived, prints table and sentence."""
    from dyno.report import text

    book = derive(made)
    if json_file:
        write_rows(book.verdict, json_file)
    click.echo()
    screen.console().print(text.table(book.run, book.verdict))
    click.echo(f"\nreport: {made.path / 'report.html'}")
    if not book.verdict.complete:
        click.echo(f"to go on: dyno resume {made.path.name}")
    elif book.run.command:
        click.echo(f"to repeat: {book.run.command}")
    return book.verdict


def derive(made: Folder) -> Book:
    """Makes verdict.json, report.html and trials.csv anew from what was measured."""
    from dyno.judge import judge
    from dyno.report import Book, page, trials

    run, played = made.run(), made.trials()
    verdict = judge(run, played)
    made.write_verdict(verdict)
    book = Book(made.path, run, played, verdict)
    trials.write(book)
    page.write(book)
    return book


def write_rows(verdict: Verdict, file: Path) -> None:
    """`--json`: a list with a row per comparison."""
    from dyno.report.rows import rows

    file.write_text(json.dumps(rows(verdict), indent=1) + "\n", encoding="utf-8")
