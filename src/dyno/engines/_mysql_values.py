"""What a server of MySQL's family reports of its variables, held against what was asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from dyno.errors import TrialFailed

SIZE = re.compile(r"(\d+)([kmgt])", re.IGNORECASE)
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
#: Words for on and off; the last is what a server calls the scheduler that it may not have.
SWITCHES = {"on": 1.0, "true": 1.0, "yes": 1.0, "off": 0.0, "false": 0.0, "disabled": 0.0}
#: Differ from start to start, and from machine to machine, and say nothing of the server.
PASSING = frozenset({"hostname", "pid_file", "server_uuid", "server_uid", "socket", "timestamp"})


def agree(asked: str, told: str) -> bool:
    """Is `told` what was asked for? Sizes, switches, numbers, and lists in any order."""
    wanted, found = _number(asked), _number(told)
    if wanted is not None and found is not None:
        return wanted == found
    return _words(asked) == _words(told)


def held(
    name: str, told: Mapping[str, str], own: Mapping[str, str], table: Mapping[str, str]
) -> None:
    """`TrialFailed` where server `name` runs with other values than it was asked for.

    `own` are the user's settings, which it must have; of the `table`'s it may lack some.
    """
    for variable, value in {**table, **own}.items():
        found = told.get(variable)
        if found is None and variable in own:
            hint = "another version has it, or it belongs to a plugin that is not loaded"
            raise TrialFailed(f"{name} does not report a variable {variable}", hint=hint)
        if found is not None and not agree(value, found):
            message = f"{name} runs with {variable}={found}, though {value} was asked for"
            hint = f"write {variable}={found}, or another value that it takes (a switch as 1 or 0)"
            raise TrialFailed(message, hint=hint)


def lasting(told: Mapping[str, str], home: Path) -> dict[str, str]:
    """What two trials of the same build share: without what names this start or this place."""
    return {
        name: value
        for name, value in told.items()
        if name not in PASSING and str(home) not in value
    }


def _number(text: str) -> float | None:
    """A number, a size in bytes, or a switch as 1 or 0; None for anything else."""
    word = text.strip().lower()
    if word in SWITCHES:
        return SWITCHES[word]
    if size := SIZE.fullmatch(word):
        return float(int(size[1]) * UNITS[size[2].lower()])
    try:
        return float(word)
    except ValueError:
        return None


def _words(text: str) -> set[str]:
    return {word.strip().lower() for word in text.split(",")} - {""}
