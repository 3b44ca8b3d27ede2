"""`dyno doctor`: how far this host can be trusted with a measurement, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli.options import DURATION, add_option
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from dyno.record import Observation

STYLES = {"poor": "bold red", "fair": "yellow", "unknown": "dim", "good": "green"}
#: The exit code of `--gate` where something is poor.
POOR_EXIT = 1


@click.command("doctor")
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[FOLDER]")
@add_option(
    "--watch", "How long to count steal and other load.", DURATION, default=2.0, show_default="2s"
)
@add_option("--all", "Also show what is good, and why it matters.", name="everything")
@add_option("--gate", f"Exit with {POOR_EXIT} where something is poor.")
@add_option("--json", "Print everything as JSON instead.", name="as_json")
def command(folder: Path | None, watch: float, everything: bool, gate: bool, as_json: bool) -> int:
    """Check this host for what disturbs measurements.

    It changes nothing and needs no root. FOLDER is where the data will lie; default: where runs put
    them.
    """
    from dyno.host.checks import Machine, survey_host
    from dyno.runs.run_folder import make_run_to_come

    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    data = folder.absolute() if folder else make_run_to_come().find_homes()
    found = survey_host(Machine(data=data, watch_s=watch))
    if as_json:
        screen.print_lines(format_survey_json(found))
    else:
        print_survey(found, everything)
    return choose_exit_code(found) if gate else 0


def choose_exit_code(found: Sequence[Observation]) -> int:
    return POOR_EXIT if any(o.mark == "poor" for o in found) else 0


def print_survey(observations: tuple[Observation, ...], everything: bool) -> None:
    """The score, then what is not good with its remedy, then the rest in a line."""
    from dyno.host.checks import grade
    from dyno.record import compute_host_score

    screen.print_line(f"{compute_host_score(observations)} of 100, {grade(observations)}")
    screen.print_gap()
    shown = [o for o in observations if everything or o.mark in ("poor", "fair")]
    if shown:
        screen.draw(build_survey_table(shown))
    for mark in () if everything else ("unknown", "good"):
        names = [o.name for o in observations if o.mark == mark]
        if names:
            screen.print_paragraph(f"{mark}: {', '.join(names)}")
    if not everything:
        screen.print_lines("\n--all says what each of them is, and why it counts")


def build_survey_table(observations: Sequence[Observation]) -> Table:
    """A row each: the mark, what was found with why and what to do below it, the points."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for o in observations:
        said = Text(f"{o.name}: {o.found}").append(f"\n{o.why}", style="dim")
        said.append(f"\ndo: {o.hint}\n" if o.hint else "\n")
        points = f"−{o.points}" if o.points else ""
        made.add_row(Text(o.mark, style=STYLES[o.mark]), said, Text(points, style="dim"))
    return made


def format_survey_json(observations: tuple[Observation, ...]) -> str:
    from dyno.host.checks import grade
    from dyno.record import compute_host_score
    from dyno.record.decode import encode

    told = {"score": compute_host_score(observations), "grade": grade(observations)}
    return json.dumps(told | {"observations": [encode(o) for o in observations]}, indent=1)
