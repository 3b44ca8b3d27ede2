"""Tries settings out on a server's own program, before any trial: does it know and take them?"""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from dyno.builds import Build
from dyno.engines import _process
from dyno.engines._mysql_asked import Asked
from dyno.engines._mysql_prefix import Prefix
from dyno.errors import TrialFailed, UsageError, unknown

#: The listing's head; below it, a variable to a line, with hyphens.
LISTING = "--------- "
REFUSED = re.compile(r"Error while setting value .*|unknown (?:variable|option) .*")


def try_out(build: Build, prefix: Prefix, asked: Asked) -> None:
    """`UsageError` where this build has no such variable, or refuses its value.

    The server lists what it knows, and reads its words before that; no data are needed. A value
    that only a storage engine can judge fails the first trial instead.
    """
    if not asked.own:
        return
    server = f"{build.engine} {build.version}"
    known = _names(_listed(build, prefix, replace(asked, own={})))
    for name in asked.own:
        if name not in known:
            raise unknown(f"variable of {server}", name, known)
    try:
        _listed(build, prefix, asked)
    except TrialFailed as failed:
        found = REFUSED.search(failed.cause)
        cause = found[0] if found else failed.cause.splitlines()[-1]
        raise UsageError(f"{server} does not take its settings", cause=cause) from None


def _listed(build: Build, prefix: Prefix, asked: Asked) -> str:
    with tempfile.TemporaryDirectory(prefix="dyno-") as scratch:
        words = [f"--datadir={scratch}", *prefix.arguments(), *asked.arguments(prefix)]
        command = [str(build.program), "--no-defaults", *words, "--verbose", "--help"]
        return _process.completed(command, Path(scratch), more=prefix.environment())


def _names(listing: str) -> set[str]:
    lines = listing.partition(LISTING)[2].splitlines()[1:]
    return {line.split()[0].replace("-", "_") for line in lines if line[:1].isalpha()}
