"""What convicts a nomination, or acquits it: a fresh paired comparison of the two builds."""

from __future__ import annotations

import shlex

from dyno import workloads
from dyno.controls import controls
from dyno.history.series import Nomination

#: Where both sides are one program, no comparison of builds can tell: something else changed.
SAME_PROGRAM = "the same program on both sides, so no build is accused: `dyno doctor`"
#: Where the builds differ and the words that name them do not.
SAME_WORDS = "another program under the same name: compare it with a copy of the old one"


def conviction(nomination: Nomination) -> tuple[str, str]:
    """The command to give to a shell, else empty; and where there is none, why not."""
    before, after = nomination.before, nomination.after
    if before.build == after.build:
        return "", SAME_PROGRAM
    if before.candidate.spec == after.candidate.spec:
        return "", SAME_WORDS
    played, design = after.workload, after.run.design
    own = workloads.every().get(played.name.split()[0])
    words = ["dyno", "compare", before.candidate.spec, after.candidate.spec]
    words += ["-w", own.stem if own and own.name == _file(played.script) else played.script]
    for name, value in (played.options | after.candidate.options).items():
        words += ["--set", f"{name}={value}"]
    room = controls()
    for name, value in design.controls.items():
        if name not in room or value != room[name].default:
            words += ["--control", f"{name}={value}"]
    return shlex.join(words), ""


def _file(script: str) -> str:
    return script.rpartition("/")[2]
