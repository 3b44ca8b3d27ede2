"""What a command line of sysbench's or pgbench's may have beside its own words, with `--compare`:
options of `dyno compare`, by which its hints can be followed.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.errors import UsageError

#: Options of `compare` that mean the same here; those with a value are marked.
TAKEN = {
    **dict.fromkeys(("--quick", "--strict", "--aa"), False),
    **dict.fromkeys(("--limit", "--control", "--blocks", "--budget", "--precision"), True),
    **dict.fromkeys(("--margin", "--seed", "--json", "--format", "--inconclusive"), True),
}


def split_comparison(words: Sequence[str]) -> tuple[list[str], tuple[str, ...], list[str]]:
    """The line without `--compare`, the builds behind it, and the comparison's own options; no
    builds where the line is none.
    """
    if "--compare" not in words:
        return [*words], (), []
    at = list(words).index("--compare")
    builds = tuple(words[at + 1 : at + 3])
    if len(builds) < 2 or any(build.startswith("-") for build in builds):
        raise UsageError("--compare needs two builds", hint="--compare BASE CANDIDATE")
    line: list[str] = []
    own: list[str] = []
    rest = iter([*words[:at], *words[at + 3 :]])
    for word in rest:
        name, sign, _ = word.partition("=")
        if name not in TAKEN:
            line.append(word)
            continue
        own.append(word)
        if TAKEN[name] and not sign:
            if (value := next(rest, None)) is None:
                raise UsageError(f"{name} needs a value", hint="`dyno compare --help` shows it")
            own.append(value)
    return line, builds, own
