"""Reads from a program's file how it was built: compiler, flags, instrumentation.

Looked for, in this order of trust: the entry points that a sanitizer's or a coverage runtime gives
every program built with it (they stay in the dynamic symbols of a stripped file); what a program
says of itself (`compiled by gcc …`, and its flags as one text); the flags that GCC writes into
debug information (DW_AT_producer) and into `.GCC.command.line`; and the compilers that left their
names in `.comment`, which distributions take out. What tells nothing is not guessed.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from dyno.builds import keep_answers

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
#: A program's own words of its compiler, and of its flags, each a text of its own.
COMPILED_BY = re.compile(rb"compiled by ([^\0,\n]{3,100}),")
OWN_LEVEL = re.compile(rb" -O(?:[0-3sgz]|fast)?[ \0]")
#: How far a text may reach to either side of it.
REACH = 4000
#: Compilers as `.comment` names them, each with its release. A pattern that begins with its own
#: letters is looked for much faster than one of several.
COMMENTS = (
    re.compile(rb"GCC: \([^)\0]{1,60}\) (?P<release>\d+)[.\d]*"),
    re.compile(rb"clang version (?P<release>\d+)[.\d]*"),
)
#: From weak to strong, as `optimisation` answers them; what is not here is strong.
WEAK = ("-O0", "-Og", "-O", "-O1", "-Os", "-Oz")


def read_build_facts(program: Path) -> dict[str, str]:
    """Return `compiler`, `flags`, `instrumentation` and `optimisation`, each if the file has it;
    empty for an empty file.

    Of several flags (a library in it was built by others) the strongest optimisation counts, of
    several compilers the newest.
    """
    return dict(_read_facts(program)) if program.stat().st_size else {}


@keep_answers
def _read_facts(program: Path) -> dict[str, str]:
    with (
        program.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        found = [name for mark, name in RUNTIMES.items() if content.find(mark) >= 0]
        produced = {_decode(match) for match in PRODUCER.finditer(content)}
        told = {"compiler": _find_compiler(content), "flags": _find_own_flags(content)}
    levels = [find_optimisation(each) for each in ({told["flags"]} if told["flags"] else produced)]
    told |= {"instrumentation": ", ".join(found)}
    told |= {"optimisation": max(levels, key=_rank_level) if levels else ""}
    return {name: value for name, value in told.items() if value}


def _find_compiler(content: mmap.mmap) -> str:
    if said := COMPILED_BY.search(content):
        return _decode(said)
    named = [match for pattern in COMMENTS for match in pattern.finditer(content)]
    newest = max(named, key=lambda match: int(match["release"]), default=None)
    return newest[0].decode(errors="replace").replace("GCC: ", "gcc ") if newest else ""


def _find_own_flags(content: mmap.mmap) -> str:
    """The flags that a program keeps as one text, which begins and ends with them."""
    for match in OWN_LEVEL.finditer(content):
        begins = content.rfind(b"\0", max(0, match.start() - REACH), match.start()) + 1
        ends = content.find(b"\0", match.start(), match.start() + REACH)
        text = content[begins:ends] if 0 < begins < ends else b""
        if text.startswith(b"-") and b"\n" not in text:
            return text.decode(errors="replace")
    return ""


def _decode(match: re.Match[bytes]) -> str:
    return match[1].decode(errors="replace")


def find_optimisation(flags: str) -> str:
    """Return the level in a compiler's flags, the last of several; without one it is `-O0`."""
    levels = LEVEL.findall(flags)
    return f"-{levels[-1]}" if levels else "-O0"


def _rank_level(level: str) -> int:
    return WEAK.index(level) if level in WEAK else len(WEAK)
