"""What `dyno show` says of the controls: the values of each, and whether they can be held here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli import screen
from dyno.errors import unknown

if TYPE_CHECKING:
    from dyno.controls import Control, Subject

Rows = list[tuple[str, str]]


def overview() -> Rows:
    """Each control with its values, and what of it this host does not allow."""
    from dyno.controls import controls

    return [(name, said(control)) for name, control in controls().items()]


def said(control: Control) -> str:
    """`sets this or that (keep, on, off); not controllable here: why`."""
    values = ", ".join(
        f"{value} (default)" if value == control.default else value for value in control.values
    )
    whys = {value: why for value in control.values if (why := refusal(control, value))}
    barred = len(whys) == len(control.values) - 1
    told = ", ".join(dict.fromkeys(whys.values())) if barred else ""
    few = "" if barred else ", ".join(f"{value}: {why}" for value, why in whys.items())
    return f"{control.summary}\n{values}" + here(told or few)


def here(why: str) -> str:
    """What stands in the way on this host, on a line of its own."""
    from dyno.controls import NOT_HERE

    return f"\n{NOT_HERE}: {why}" if why else ""


def show(name: str) -> None:
    """A control's values, each with what stands in its way here."""
    from dyno.controls import controls
    from dyno.plugins import modules

    if name not in controls():
        raise unknown("control", name, controls())
    control = controls()[name]
    click.echo(click.style(name, bold=True) + "\n")
    click.echo((modules("dyno.controls")[name].__doc__ or control.summary).strip() + "\n")
    rows = [
        (value, "default" if value == control.default else "", refusal(control, value), meaning)
        for value, meaning in control.values.items()
    ]
    screen.table(("value", "", "not controllable here", "meaning"), rows)
    click.echo(
        f"\nwritten as --control {name}=VALUE for all candidates, as ENGINE@BUILD?{name}=VALUE "
        "for one,\nor under [controls] of an experiment"
    )


def refusal(control: Control, value: str) -> str:
    """Why this host cannot hold `value` for an engine that could; empty where it can."""
    return control.refusal(value, anybody())


def anybody() -> Subject:
    """An engine of no kind: what a control needs of one is there."""
    from dyno.controls import Subject, controls
    from dyno.folder import Folder

    home = Folder(Path(os.environ.get("DYNO_RUNS") or "runs") / "any").homes()
    settings = {name: {value: {"": ""} for value in c.values} for name, c in controls().items()}
    return Subject(embedded=False, home=home, settings=settings, preloads=True)
