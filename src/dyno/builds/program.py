"""What a program's own file tells of how it was built: instrumentation, and optimisation.

Looked for, in this order of trust: the entry points that a sanitizer's or a coverage runtime gives
every program built with it (they stay in the dynamic symbols of a stripped file), and the flags
that GCC writes into debug information (DW_AT_producer) and into `.GCC.command.line`. A stripped
program of another compiler tells nothing of its flags: then nothing is said.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

#: What stands in the file (symbols are ended by a zero byte) to what it means.
RUNTIMES = {
    b"\0__asan_init\0": "address sanitizer",
    b"\0__tsan_init\0": "thread sanitizer",
    b"\0__msan_init\0": "memory sanitizer",
    b"\0__ubsan_handle_": "undefined-behaviour sanitizer",
    b"\0__gcov_init\0": "coverage",
}
#: GCC's own words with its flags; before 4.7 it wrote none.
PRODUCER = re.compile(rb"GNU C[^\0]{1,100}? (-[^\0]{1,4000})")
LEVEL = re.compile(r"(?:^|\s)-(O\S*)")
#: From weak to strong, as `optimisation` answers them; what is not here is strong.
WEAK = ("-O0", "-Og", "-O", "-O1", "-Os", "-Oz")


def build_facts(program: Path) -> dict[str, str]:
    """`instrumentation` and `optimisation`, each where the file tells it; empty for an empty file.

    Of several flags (a library in it was built by another hand) the strongest optimisation counts.
    """
    with program.open("rb") as file:
        if not program.stat().st_size:
            return {}
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = [name for mark, name in RUNTIMES.items() if content.find(mark) >= 0]
            flags = {match[1].decode(errors="replace") for match in PRODUCER.finditer(content)}
    told = {"instrumentation": ", ".join(found)} if found else {}
    levels = [optimisation(each) for each in flags]
    return told | ({"optimisation": max(levels, key=_strength)} if levels else {})


def optimisation(flags: str) -> str:
    """The level in a compiler's flags, the last of several; without one it is `-O0`."""
    levels = LEVEL.findall(flags)
    return f"-{levels[-1]}" if levels else "-O0"


def _strength(level: str) -> int:
    return WEAK.index(level) if level in WEAK else len(WEAK)
