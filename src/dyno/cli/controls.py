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
    """What it does; its values; and which of them cannot be held here, by the reason."""
    from dyno.controls import NOT_HERE

    others = [value for value in control.values if value != control.default]
    barred: dict[str, list[str]] = {}
    for value in control.values:
        if why := refusal(control, value):
            barred.setdefault(why, []).append(value)
    lines = [control.summary, ", ".join([f"{control.default} (default)", *others])]
    for why, values in barred.items():
        which = "" if values == others else f"{', '.join(values)}: "
        lines.append(f"{NOT_HERE}: {which}{why}")
    return "\n".join(lines)


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
