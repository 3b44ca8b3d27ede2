"""Whose instructions are an engine's: of an embedded engine its library's own, and what its calls
into other libraries take; of a server those of the process or thread that serves the user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from dyno.profile.callgrind import Call, CodeFunction, InstructionProfile

#: What compilers and linkers append to a function's name: copies of it, versions, recursion.
SUFFIX = re.compile(
    r"(\.(?:isra|part|constprop|cold|lto_priv|localalias)(?:\.\d{1,9}){0,9}"
    r"|@@?[^\s@]{1,200}|'\d{1,9}| \[clone [^]]{1,200}\]){1,9}$"
)
#: The parameters of a C++ function, which change from version to version: overloads are one row.
PARAMETERS = re.compile(r"(?<!operator)\((?!anonymous)[^()]*(?:\([^()]*\)[^()]*)*\)(?: const)?$")
#: Code without a symbol goes by its address, which is another one in each build.
ADDRESS = re.compile(r"0x[0-9a-f]+$")
UNNAMED = "(no symbol)"


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
    """The name of the profile of whoever serves the one user: the one that did the most."""
    return max(profiles, key=lambda name: profiles[name].total)


def tidy_function(function: CodeFunction, program: Path, engine: str) -> CodeFunction:
    """The function under the name that it has in other builds; its object is `engine` where it is
    the engine's own `program`, else a file's name.
    """
    own = function.object == str(program.resolve())
    name = UNNAMED if ADDRESS.match(function.name) else tidy_name(function.name)
    return CodeFunction(
        name or function.name, function.file, engine if own else Path(function.object).name
    )


def tidy_name(name: str) -> str:
    """A function's name without what compilers append, and without the parameters of C++."""
    return PARAMETERS.sub("", SUFFIX.sub("", name))
