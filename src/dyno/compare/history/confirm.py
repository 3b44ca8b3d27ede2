"""The command that measures both sides of a flagged change afresh."""

from __future__ import annotations

import re
import shlex

from dyno import workloads
from dyno.compare.history.points import Point
from dyno.host.controls import load_controls

#: What a build from git says of its source: the repository, and the commit.
GIT = re.compile(r"git (.+) \S+ \(([0-9a-f]{12})\)")
#: A name before a spec, which two nights may share.
NAME = re.compile(r"\A[^@=?&/:]+=")
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
    specs = [_name_build(before), _name_build(after)]
    if specs[0] == specs[1]:
        return "", SAME_WORDS
    played = after.played
    own = workloads.list_workloads().get(played.name.split()[0])
    is_own = own and _find_file(played.script) in (own.name, "")
    words = ["dyno", played.command, *specs]
    words += ["-w", own.stem if own and is_own else played.script or played.name, *played.words]
    for name, value in played.options:
        words += ["--set", f"{name}={value}"]
    known = load_controls()
    for name, value in played.controls:
        if name not in known or value != known[name].default:
            words += ["--control", f"{name}={value}"]
    if series := dict(after.conditions.alike).get("series"):
        words += ["--series", series]
    return shlex.join(words), ""


def _name_build(point: Point) -> str:
    """The spec without its name; of a commit with its hash, since `HEAD` soon is another one."""
    spec, asks, keys = NAME.sub("", point.spec, count=1).partition("?")
    engine, source, place = spec.partition("@source:")
    built = GIT.fullmatch(dict(point.origin).get("source", ""))
    if built and "@" in place:
        spec = f"{engine}{source}{built[1]}@{built[2]}"
    return f"{spec}{asks}{keys}"


def _find_file(script: str) -> str:
    return script.rpartition("/")[2]
