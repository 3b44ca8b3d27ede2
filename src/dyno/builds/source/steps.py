"""A step of a build: a program with a log and a share of progress, ended with us.

It is guarded: `make` and its compilers are many processes, and none may outlive who builds.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from dyno import subprocesses
from dyno.errors import HostError

#: How cmake's files and ninja tell how far they are.
PERCENT, COUNT = re.compile(r"^\[ *(\d+)%\]"), re.compile(r"^\[(\d+)/(\d+)\]")


@dataclass(frozen=True)
class StepProgress:
    """How far a build is: a step's name, its place among `steps`, and its share done, if known."""

    step: str
    number: int
    steps: int
    share: float | None = None


#: Told of progress, at most once a percent.
Watch = Callable[[StepProgress], None]


@dataclass
class Meter:
    """The share of a step that its lines tell."""

    units: int = 0
    lines: int = 0
    share: float = field(default=0.0)

    def add(self, line: str) -> float | None:
        """The share after one more line; None where nothing tells it."""
        self.lines += 1
        if found := PERCENT.match(line):
            self.share = int(found[1]) / 100
        elif found := COUNT.match(line):
            self.share = int(found[1]) / max(1, int(found[2]))
        elif self.units:
            self.share = max(self.share, min(0.99, self.lines / self.units))
        else:
            return None
        return self.share


def run_program(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    log: IO[str],
    heard: Callable[[str], None],
) -> int:
    """The exit code of a program in `folder`; each line that it writes goes to `log` and `heard`.

    `HostError` where it cannot be started; an interrupt kills it with all that it started.
    """
    heed = subprocesses.Heed()
    try:
        process = subprocess.Popen(
            subprocesses.guard(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as refused:
        raise HostError(f"cannot run {words[0]} in {folder}", cause=refused.strerror) from None
    assert process.stdout is not None and process.stdin is not None
    try:
        with subprocesses.wait_for(process, heed):
            for line in process.stdout:
                log.write(line)
                log.flush()
                heard(line.rstrip("\n"))
            process.wait()
    except BaseException:
        subprocesses.kill(process)
        process.wait()
        raise
    finally:
        with suppress(OSError):
            process.stdin.close()
        process.stdout.close()
    return process.returncode
