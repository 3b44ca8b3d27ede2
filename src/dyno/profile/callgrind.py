"""Files of callgrind's: instructions by function, and by call.

The format is that of the Callgrind manual ("Callgrind Format Specification", version 1): names are
numbered on their first use, lines are relative, and the costs of a call are inclusive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dyno.errors import HostError

#: A name, with its number and, on first use, itself.
NAMED = re.compile(r"(c?)(fn|fl|fi|fe|ob)=(?:\((\d+)\))? ?(.*)")
#: `fi` and `fe` name the file of lines that were inlined into a function.
KINDS = {"fn": "function", "fl": "file", "fi": "file", "fe": "file", "ob": "object"}
#: What callgrind writes where it knows no name.
UNKNOWN = "???"


class CodeFunction(NamedTuple):
    """A function by its name, source file (`???` where unknown) and the file it was loaded from."""

    name: str
    file: str
    object: str


#: A call: who calls, and who is called.
Call = tuple[CodeFunction, CodeFunction]


@dataclass
class InstructionProfile:
    """Instructions of `own` code by function, and of `calls` with all that they call in turn."""

    own: Counter[CodeFunction] = field(default_factory=Counter)
    calls: Counter[Call] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Instructions in all."""
        return self.own.total()

    def add(self, other: InstructionProfile) -> None:
        """Adds another profile's counts."""
        self.own.update(other.own)
        self.calls.update(other.calls)


def read_profile(paths: Iterable[Path]) -> InstructionProfile:
    """The sum of some files; `HostError` for one that is not callgrind's."""
    profile = InstructionProfile()
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as lines:
            profile.add(parse_profile(lines, str(path)))
    return profile


def parse_profile(lines: Iterable[str], name: str = "a profile") -> InstructionProfile:
    """The profile that a file's lines hold; `HostError` where they are of another kind."""
    reader = _Reader()
    try:
        for line in lines:
            reader.read(line.rstrip("\n"))
    except (ValueError, KeyError) as error:
        raise HostError(f"{name} is no file of callgrind's", cause=str(error)) from None
    if not reader.counts_instructions:
        raise HostError(f"{name} is no file of callgrind's", cause="it counts no instructions (Ir)")
    return reader.profile


class _Reader:
    """What stands at a line of the file: whose costs follow, and whom a call went to."""

    def __init__(self) -> None:
        self.profile = InstructionProfile()
        self.counts_instructions = False
        self._names: dict[tuple[str, str], str] = {}
        self._here = {"function": UNKNOWN, "file": UNKNOWN, "object": UNKNOWN}
        self._home = UNKNOWN
        self._callee: dict[str, str] = {}
        self._is_call = False

    def read(self, line: str) -> None:
        """A line of it."""
        if line[:1].isdigit() or line[:1] in "+-*":
            words = line.split()
            self._read_cost(int(words[1]) if len(words) > 1 else 0)
        elif line.startswith("calls="):
            self._is_call = True
        elif line.startswith("events:"):
            self.counts_instructions = line.split()[1:2] == ["Ir"]
        elif found := NAMED.match(line):
            self._read_name(*found.groups())

    def _read_name(self, callee: str, word: str, number: str | None, text: str) -> None:
        kind = KINDS[word]
        if number and text:
            self._names[kind, number] = text
        name = self._names[kind, number] if number else text
        if callee:
            self._callee[kind] = name
            return
        self._here[kind] = name
        if word == "fl":
            self._home = name

    def _read_cost(self, instructions: int) -> None:
        here = CodeFunction(self._here["function"], self._home, self._here["object"])
        if self._is_call:
            at = {"file": self._here["file"], "object": self._here["object"]} | self._callee
            called = CodeFunction(at["function"], at["file"], at["object"])
            self.profile.calls[here, called] += instructions
            self._callee, self._is_call = {}, False
        else:
            self.profile.own[here] += instructions
