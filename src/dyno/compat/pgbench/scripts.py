"""The scripts that a command line of pgbench's names: files and builtins, with weights."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dyno.errors import UsageError

SCRIPTS_MAX = 128
WEIGHT_MAX = 2**31 - 1
#: pgbench's own scripts, and what its report calls them.
BUILTINS = {
    "tpcb-like": "<builtin: TPC-B (sort of)>",
    "simple-update": "<builtin: simple update>",
    "select-only": "<builtin: select only>",
}


@dataclass(frozen=True)
class ScriptWord:
    """A script as it was named: its file, what a report calls it, its weight."""

    path: Path
    shown: str
    weight: int = 1

    @property
    def is_builtin(self) -> bool:
        """Is it one of pgbench's own, which needs its tables?"""
        return self.shown in BUILTINS.values()


def parse_weight(text: str) -> tuple[str, int]:
    """`NAME@WEIGHT` or `NAME`; a sign of a folder's name is no weight's."""
    found = re.fullmatch(r"(.+)@([^@/]*)", text)
    if found is None:
        return text, 1
    name, weight = found.groups()
    if not re.fullmatch(r"-?\d+", weight):
        raise UsageError(f"invalid weight specification: @{weight}")
    if not 0 <= int(weight) <= WEIGHT_MAX:
        raise UsageError(f"weight specification out of range (0 .. {WEIGHT_MAX}): {weight}")
    return name, int(weight)


def find_builtin(name: str) -> str:
    """The builtin that begins so."""
    fits = [each for each in BUILTINS if each.startswith(name)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise UsageError(f'ambiguous builtin name: {len(fits)} builtin scripts found for "{name}"')
    hint = "\n".join(list_builtins())
    raise UsageError(f'no builtin script found for name "{name}"', hint=hint)


def list_builtins() -> list[str]:
    """The builtins, one a line."""
    shown = [f"  {name:>13}: {text}" for name, text in BUILTINS.items()]
    return ["Available builtin scripts:", *shown]


def make_builtin_word(name: str, weight: int) -> ScriptWord:
    """The builtin that begins so, as a script."""
    whole = find_builtin(name)
    return ScriptWord(find_builtin_file(whole), BUILTINS[whole], weight)


def find_builtin_file(whole: str) -> Path:
    """The file of the builtin of this name."""
    from dyno.workloads import find_workload  # which few command lines need

    return find_workload(f"pgbench_{whole.replace('-', '_')}")
