"""A process that holds controls as a trial does: `holding_process.py NAME=VALUE...`

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

from dyno.controls import ControlTarget, _knob, controls

NOBODY = 65534


def main() -> None:
    """Holds, tells, waits."""
    words, known = sys.argv[1:], controls()
    if words[0] == "--before-write":
        _knob.set_value = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
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
