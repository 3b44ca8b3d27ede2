"""The command line: parse, call, print. Nothing else in Dyno prints, and nothing else exits.

Each command is one file here that offers `command`; what they share is how words are read
(`arguments`), how failures are said (`exits`) and how progress is shown (`live`).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

import click

import dyno
from dyno.cli import (
    calibrate,
    clean,
    compare,
    completion,
    doctor,
    engines,
    exits,
    history,
    plan,
    play,
    report,
    restore,
    resume,
    run,
    show,
)
from dyno.cli.hidden import hide_passwords

EPILOG = """\b
Exit codes of `compare`, `run --gate` and `history --gate`:
   0  not slower (or faster)     64  wrong word, number, file or host
   1  slower                     70  a fault of Dyno's own
   2  inconclusive              130  interrupted
   3  invalid
Without --gate, `run` ends with 0 once it is complete, and `history` whatever it nominates."""


@click.group(
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(dyno.__version__, prog_name="dyno")
def command() -> None:
    """Is this database build slower than that one, by how much, and can I trust the answer?

    Begin with `dyno play null@200us --workload oltp_point_select` (one trial, no verdict), then
    `dyno compare A B --workload W` (blocks of restarts, a verdict with its error rate).
    """


MEASURING = (play, compare, run, resume, calibrate)
READING = (plan, report, history, show, engines, doctor)
for module in (*MEASURING, *READING, restore, clean, completion):
    command.add_command(module.command)


def ended(words: Sequence[str] | None = None) -> int:
    """Plays the command line's words (those of the process if None): HOUSE.md's exit code."""
    return exits.guarded(lambda: command.main(words, prog_name="dyno", standalone_mode=False))


def main() -> None:
    """The program `dyno`. A SIGTERM ends it as SIGINT does: what was measured is written down."""
    hide_passwords()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(ended())
