"""Which program `dyno-driver` is, and the environment that it runs in."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from dyno.errors import HostError

#: What a user may say to the driver: which way of waiting for sockets it takes.
OURS = ("DYNO_WIRE",)


def locate() -> Path:
    """The driver: ``$DYNO_DRIVER``, else beside the interpreter, else on the path."""
    if chosen := os.environ.get("DYNO_DRIVER"):
        if not os.access(chosen, os.X_OK):
            raise HostError(f"$DYNO_DRIVER names no program: {chosen}")
        return Path(chosen).absolute()
    beside = Path(sys.executable).with_name("dyno-driver")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("dyno-driver")
    if not found:
        raise HostError("dyno-driver is not installed", hint="make setup builds it")
    return Path(found).absolute()


def environment() -> dict[str, str]:
    """The environment of every driver process, as small as it can be, so that runs agree."""
    chosen = {name: os.environ[name] for name in OURS if name in os.environ}
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"} | chosen
