"""A process that holds controls as a trial does: `hold_controls.py NAME=VALUE...`

It says `held` and what it found, as one line of JSON, waits for the end of its stdin, and lets go.
After `--before-write` it kills itself in the middle, as soon as the journal has its entry; after
`--as-nobody` it is an ordinary user, who need not be able to read this file.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dyno.host.controls import ControlTarget, _knob, load_controls

NOBODY = 65534


def die_before_write(event: str, given: tuple[Any, ...]) -> None:
    """Kills us where a knob is about to be opened for writing."""
    writes = event == "open" and isinstance(given[0], str | Path) and given[2] & os.O_WRONLY
    if writes and Path(given[0]).is_relative_to(os.environ[_knob.ROOT]):
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Holds, tells, waits."""
    words, known = sys.argv[1:], load_controls()
    if words[0] == "--before-write":
        sys.addaudithook(die_before_write)
    if words[0] == "--as-nobody":
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    words = [word for word in words if not word.startswith("--")]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as dyno itself does
    subject = ControlTarget(embedded=False, home=Path(os.environ.get(_knob.ROOT, "/")))
    with ExitStack() as stack:
        found = {}
        for word in words:
            name, _, value = word.partition("=")
            held = stack.enter_context(known[name].hold(value, subject))
            found[name] = held.found
        print(json.dumps(found), flush=True)  # noqa: T201 (its caller reads it)
        sys.stdin.read()


main()
