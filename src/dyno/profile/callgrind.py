"""Files of callgrind's: instructions by function and by call, and which of them are an engine's.

The format is that of the Callgrind manual ("Callgrind Format Specification", version 1): names are
numbered on their first use, lines are relative, and the costs of a call are inclusive.

Of an embedded engine its library's own instructions count, and what its calls into other libraries
take; of a server those of the process or thread that serves the user. What a server's thread
executes while it waits for its client or by the clock does not count: whether a request is there
already when the server looks depends on the client's speed, and each further wait is further
instructions. Statistics that are updated once a second are more of an operation on a slow host.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
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
    """A function by its name, source file (`???` where unknown) and the file it was loaded from.

    `layer` is that of the functions around it, where it has no name.
    """

    name: str
    file: str
    object: str
    layer: str = ""


#: A call: who calls, and who is called.
Call = tuple[CodeFunction, CodeFunction]


@dataclass
class InstructionProfile:
    """Instructions of `own` code by function, and of `calls` with all that they call in turn."""

    own: Counter[CodeFunction] = field(default_factory=Counter)
    calls: Counter[Call] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.own.total()

    def add(self, other: InstructionProfile) -> None:
        self.own.update(other.own)
        self.calls.update(other.calls)


def read_profile(paths: Iterable[Path]) -> InstructionProfile:
    """Return the sum of some files; `HostError` for one that is not callgrind's."""
    profile = InstructionProfile()
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as lines:
            profile.add(parse_profile(lines, str(path)))
    return profile


def parse_profile(lines: Iterable[str], name: str = "a profile") -> InstructionProfile:
    reader = _Reader()
    try:
        for line in lines:
            reader.read(line.rstrip("\n"))
    except (ValueError, KeyError) as error:
        raise HostError(f"{name} is not a callgrind file", cause=str(error)) from None
    if not reader.counts_instructions:
        raise HostError(f"{name} is not a callgrind file", cause="it counts no instructions (Ir)")
    return reader.profile


class _Reader:
    """The state at a line of the file: whose costs follow, and whom a call went to."""

    def __init__(self) -> None:
        self.profile = InstructionProfile()
        self.counts_instructions = False
        self._names: dict[tuple[str, str], str] = {}
        self._here = {"function": UNKNOWN, "file": UNKNOWN, "object": UNKNOWN}
        self._home = UNKNOWN
        self._callee: dict[str, str] = {}
        self._is_call = False

    def read(self, line: str) -> None:
        if line[:1].isdigit() or line[:1] in "+-*":
            words = line.split()
            instructions = int(words[1]) if len(words) > 1 else 0
            here = CodeFunction(self._here["function"], self._home, self._here["object"])
            if self._is_call:
                at = {"file": self._here["file"], "object": self._here["object"]} | self._callee
                called = CodeFunction(at["function"], at["file"], at["object"])
                self.profile.calls[here, called] += instructions
                self._callee, self._is_call = {}, False
            else:
                self.profile.own[here] += instructions
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


#: What compilers and linkers append to a function's name: copies of it, versions, recursion.
SUFFIX = re.compile(
    r"(\.(?:isra|part|constprop|cold|lto_priv|localalias)(?:\.\d{1,9}){0,9}"
    r"|@@?[^\s@]{1,200}|'\d{1,9}| \[clone [^]]{1,200}\]){1,9}$"
)
#: The parameters of a C++ function, which change from version to version: overloads are one row.
PARAMETERS = re.compile(r"(?<!operator)\((?!anonymous)[^()]*(?:\([^()]*\)[^()]*)*\)(?: const)?$")
#: Code without a symbol goes by its address, which is another one in each build.
ADDRESS = re.compile(r"0x[0-9a-f]+$")


def count_library(profile: InstructionProfile, library: Path) -> Counter[CodeFunction]:
    """What a library executes itself, and all that it has others execute, by their first function.

    The driver that calls it is left out. A call back from another library (a comparison handed to
    a sort) counts twice.
    """
    home = str(library.resolve())
    counts = Counter({each: n for each, n in profile.own.items() if each.object == home})
    for (caller, callee), instructions in profile.calls.items():
        if caller.object == home and callee.object != home:
            counts[callee] += instructions
    return counts


def list_library_calls(profile: InstructionProfile, library: Path) -> Counter[Call]:
    """The calls that a library makes, with what each took in all."""
    home = str(library.resolve())
    return Counter({call: n for call, n in profile.calls.items() if call[0].object == home})


def find_serving(profiles: Mapping[str, InstructionProfile]) -> str:
    """Return the name of the profile that serves the one user: the one that did the most."""
    return max(profiles, key=lambda name: profiles[name].total)


def tidy_name(name: str) -> str:
    """A function's name without what compilers append, and without the parameters of C++."""
    return PARAMETERS.sub("", SUFFIX.sub("", name))


#: Calls within a wait are followed so deep.
DEEPEST = 20


def leave_out_waits(
    profile: InstructionProfile, waits: re.Pattern[str] | None
) -> tuple[InstructionProfile, int]:
    """The profile without functions whose names match `waits`, and without all that they call; and
    how many instructions that were.

    Of a function that others call as well, the waits' share goes: callgrind knows calls and no
    whole stacks.
    """
    if waits is None:
        return profile, 0
    spent: Counter[CodeFunction] = Counter()
    inclusive: Counter[CodeFunction] = Counter()
    callees: dict[CodeFunction, Counter[CodeFunction]] = {}
    for (caller, callee), instructions in profile.calls.items():
        inclusive[callee] += instructions
        callees.setdefault(caller, Counter())[callee] += instructions

    def follow(function: CodeFunction, share: float, path: tuple[CodeFunction, ...]) -> None:
        spent[function] += round(share * profile.own[function])
        if len(path) < DEEPEST:
            for callee, instructions in callees.get(function, Counter()).items():
                whole = inclusive[callee]
                if whole and callee not in path and not waits.match(tidy_name(callee.name)):
                    follow(callee, share * instructions / whole, (*path, callee))

    for function in list(profile.own):
        if waits.match(tidy_name(function.name)):
            follow(function, 1.0, (function,))
    own = Counter({function: n - min(spent[function], n) for function, n in profile.own.items()})
    calls = Counter(
        {
            call: n
            for call, n in profile.calls.items()
            if not any(waits.match(tidy_name(each.name)) for each in call)
        }
    )
    return InstructionProfile(own, calls), profile.total - own.total()
