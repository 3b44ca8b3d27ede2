"""A knob of the host: a file of the kernel's, with one value of several in it.

All of them are reached through `at`, so that a test may lay a tree of its own in their place.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

#: What stands before `/sys` and `/proc`: nothing, but in tests.
ROOT = "DYNO_KNOBS"
#: The kernel's own name for the time between two starts of the host (random(4)).
BOOT = "/proc/sys/kernel/random/boot_id"


class Refused(Exception):
    """The host does not let a knob be set; the text says why, in a clause."""


def at(path: str) -> Path:
    """Where the kernel's file `path` lies."""
    return Path(os.environ.get(ROOT, "/") + path)


def shown(knob: Path) -> str:
    """The path as the kernel has it, whatever stands before it."""
    return "/" + str(knob).removeprefix(os.environ.get(ROOT, "/")).lstrip("/")


def line(knob: Path) -> str:
    """What the file holds; empty where there is none, or it cannot be read."""
    with suppress(OSError):
        return knob.read_text().strip()
    return ""


def value(knob: Path) -> str:
    """The value that holds: the one in brackets, where the file lists them all."""
    text = line(knob)
    chosen = re.search(r"\[(\S+)\]", text)
    return chosen[1] if chosen else text


def offered(knob: Path) -> list[str]:
    """The values that the file itself lists; none where it lists none."""
    text = line(knob)
    return text.replace("[", "").replace("]", "").split() if "[" in text else []


def refusal(knob: Path, wanted: str) -> str:
    """Why `wanted` cannot be written there, as far as looking tells; empty where it can."""
    if not value(knob):
        return f"no {shown(knob)}"
    if (known := offered(knob)) and wanted not in known:
        return f"{shown(knob)} offers {', '.join(known)}"
    if value(knob) == wanted or os.access(knob, os.W_OK):
        return ""
    return "needs root" if os.geteuid() else f"{shown(knob)} is read-only"


def write(knob: Path, wanted: str) -> None:
    """Sets the knob; `Refused` where the kernel does not take the value, or not keep it."""
    try:
        with os.fdopen(os.open(knob, os.O_WRONLY | os.O_TRUNC), "wb", buffering=0) as file:
            file.write(wanted.encode())
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise Refused(f"{shown(knob)} does not take {wanted} ({why})") from error
    if (now := value(knob)) != wanted:
        raise Refused(f"{shown(knob)} was set to {wanted} and holds {now}")


def boot() -> str:
    """Which start of the host this is; a value set before an earlier one is gone."""
    return line(at(BOOT))
