"""The shared libraries that the loader does not find for a program."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from dyno import subprocesses
from dyno.builds import keep_answers

#: The loader's words, at the start of a program and from `ldd`.
MISSING = re.compile(r"error while loading shared libraries: (\S+):|(?<!\S)(\S+) => not found")
#: What the loader may take to list a program's libraries, in s.
TIMEOUT_S = 60.0


def list_missing_libraries(program: Path, more: Mapping[str, str]) -> list[str]:
    """Return their names with `more` in the environment; none where the loader cannot be asked."""
    variables = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **more}
    try:
        said = MISSING.findall(_ask_loader(program, tuple(variables.items())))
    except (OSError, subprocess.TimeoutExpired):
        return []
    return list(dict.fromkeys(started or listed for started, listed in said))


@keep_answers
def _ask_loader(program: Path, variables: tuple[tuple[str, str], ...]) -> str:
    done = subprocesses.run(["ldd", str(program)], TIMEOUT_S, environment=dict(variables))
    return done.stdout + done.stderr
