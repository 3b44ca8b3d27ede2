"""The command that measures both sides of a flagged change afresh."""

from __future__ import annotations

import shlex

from dyno import workloads
from dyno.compare.history.points import Point
from dyno.host.controls import load_controls

#: Where both sides are one program, no comparison of builds can tell: something else changed.
SAME_PROGRAM = "the same program on both sides, so no build is accused: `dyno doctor`"
#: Where there is no build: of a disk.
SAME_PLACE = "nothing but time lies between both levels: `dyno doctor`"
#: Where the builds differ and the words that name them do not.
SAME_WORDS = "another program under the same name: compare it with a copy of the old one"


def build_confirm_command(before: Point, after: Point) -> tuple[str, str]:
    """The command to give to a shell, else empty; and where there is none, why not."""
    if before.build == after.build:
        return "", SAME_PROGRAM if before.build else SAME_PLACE
    if before.spec == after.spec:
        return "", SAME_WORDS
    played = after.played
    own = workloads.list_workloads().get(played.name.split()[0])
    is_own = own and _find_file(played.script) in (own.name, "")
    words = ["dyno", played.command, before.spec, after.spec]
    words += ["-w", own.stem if own and is_own else played.script or played.name, *played.words]
    for name, value in played.options:
        words += ["--set", f"{name}={value}"]
    known = load_controls()
    for name, value in played.controls:
        if name not in known or value != known[name].default:
            words += ["--control", f"{name}={value}"]
    return shlex.join(words), ""


def _find_file(script: str) -> str:
    return script.rpartition("/")[2]
