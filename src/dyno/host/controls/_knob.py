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


class KnobRefused(Exception):
    """The host does not let a knob be set; the text says why, in a clause."""


def find_path(path: str) -> Path:
    return Path(os.environ.get(ROOT, "/") + path)


def strip_root(knob: Path) -> str:
    """Return the path as the kernel has it, without the prefix of a test's tree."""
    return "/" + str(knob).removeprefix(os.environ.get(ROOT, "/")).lstrip("/")


def read_text(knob: Path) -> str:
    with suppress(OSError):
        return knob.read_text().strip()
    return ""


def read_current_value(knob: Path) -> str:
    """Return the current value: the one in brackets, if the file lists them all."""
    text = read_text(knob)
    chosen = re.search(r"\[([^\s\[\]]+)\]", text)
    return chosen[1] if chosen else text


def find_refusal(knob: Path, value: str) -> str:
    """Return why `value` cannot be written there, as far as looking shows, or ""."""
    if not read_current_value(knob):
        return f"no {strip_root(knob)}"
    text = read_text(knob)
    known = text.replace("[", "").replace("]", "").split() if "[" in text else [value]
    if value not in known:
        return f"{strip_root(knob)} offers {', '.join(known)}"
    if read_current_value(knob) == value or os.access(knob, os.W_OK):
        return ""
    return "needs root" if os.geteuid() else f"{strip_root(knob)} is read-only"


def set_value(knob: Path, value: str) -> None:
    """Set the knob; `KnobRefused` if the kernel refuses or does not keep the value."""
    try:
        with os.fdopen(os.open(knob, os.O_WRONLY | os.O_TRUNC), "wb", buffering=0) as file:
            file.write(value.encode())
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise KnobRefused(f"{strip_root(knob)} does not take {value} ({why})") from error
    if (now := read_current_value(knob)) != value:
        raise KnobRefused(f"{strip_root(knob)} was set to {value} and holds {now}")


def read_boot_id() -> str:
    """Which start of the host this is; a value set before an earlier one is gone."""
    return read_text(find_path(BOOT))
