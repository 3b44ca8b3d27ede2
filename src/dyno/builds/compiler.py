"""Compiles C sources into a shared library, cached by the hash of all that went into it; and reads
from a program's file how it was built: compiler, flags, instrumentation.

Read in this order of trust: the entry points that a sanitizer's or a coverage runtime gives
every program built with it (they stay in the dynamic symbols of a stripped file); what a program
says of itself (`compiled by gcc …`, and its flags as one text); the flags that GCC writes into
debug information (DW_AT_producer) and into `.GCC.command.line`; and the compilers that left their
names in `.comment`, which distributions remove. Nothing is guessed.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Say, cache, compute_sha256, keep_answers
from dyno.errors import HostError, UsageError
from dyno.tails import extract_last_lines

#: How many of the compiler's last lines a failure shows.
TAIL_LINES = 15
#: What a compiler may take over its own name, and over a library.
VERSION_S, COMPILE_S = 60.0, 3600.0


@dataclass(frozen=True)
class Recipe:
    """What to compile: a name for people, one C file, and the flags as the user wrote them.

    `beside` are further C files, and headers that they include.
    `cflags` go to the compiler as they are ("-O2 -g"); `defines` are macros without their `-D`
    ("HAVE_USLEEP=1"); `libraries` are linked ("m").
    """

    name: str
    source: Path
    cflags: str
    defines: str
    libraries: Sequence[str] = ()
    beside: Sequence[Path] = ()


@dataclass(frozen=True)
class CompiledLibrary:
    program: Path
    facts: dict[str, str]


def compile_library(recipe: Recipe, say: Say) -> CompiledLibrary:
    """Return the recipe's library, from the cache or compiled now.

    `$CC` chooses the compiler (`cc`). `HostError` if there is none, `UsageError` with the
    compiler's last lines if it fails: its flags are the user's.
    """
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    facts = {
        "cflags": recipe.cflags,
        "defines": recipe.defines,
        "libraries": " ".join(recipe.libraries),
        "compiler": _read_version(compiler),
        "machine": platform.machine(),
        "source_sha256": compute_sha256(recipe.source),
    }
    if recipe.beside:
        facts["beside_sha256"] = " ".join(compute_sha256(each) for each in recipe.beside)
    sources = [str(it) for it in (recipe.source, *recipe.beside) if it.suffix == ".c"]
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    file = f"lib{recipe.name}.so"

    def make(folder: Path) -> None:
        say(f"compiling {recipe.name} ({recipe.cflags})")
        words = [*_split_words(recipe.cflags), *(f"-D{it}" for it in _split_words(recipe.defines))]
        words += [*sources, *(f"-l{library}" for library in recipe.libraries)]
        _run([*compiler, "-shared", "-fPIC", *words, "-o", str(folder / file)], recipe, folder)

    program = cache.ensure_entry("program", f"{recipe.name}-{key}", make, say) / file
    return CompiledLibrary(program, {**facts, "sha256": compute_sha256(program)})


def _split_words(flags: str) -> list[str]:
    try:
        return shlex.split(flags)
    except ValueError as unbalanced:
        raise UsageError(f"cannot read the flags '{flags}'", cause=unbalanced) from None


def _read_version(compiler: list[str]) -> str:
    try:
        said = _ask_version(Path(shutil.which(compiler[0]) or compiler[0]), tuple(compiler))
    except (OSError, subprocess.TimeoutExpired):
        hint = "install gcc or clang, or set CC to a compiler"
        raise HostError(f"no C compiler: {compiler[0]} does not run", hint=hint) from None
    return (said.strip().splitlines() or [compiler[0]])[0]


@keep_answers
def _ask_version(_: Path, compiler: tuple[str, ...]) -> str:
    return subprocesses.run([*compiler, "--version"], VERSION_S).stdout


def _run(command: list[str], recipe: Recipe, folder: Path) -> None:
    """Compile in `folder`, so that a killed compiler leaves its own files there, too."""
    try:
        own = {**os.environ, "TMPDIR": str(folder)}
        done = subprocesses.run_guarded(command, COMPILE_S, environment=own)
    except subprocess.TimeoutExpired:
        hint = "name another compiler in CC"
        raise HostError(f"compiling {recipe.name} took over {COMPILE_S:.0f} s", hint=hint) from None
    if done.returncode:
        tail = extract_last_lines(done.stderr, TAIL_LINES)
        cause = f"the compiler's last lines are\n{tail or f'(none; exit code {done.returncode})'}"
        hint = f"the flags were: {recipe.cflags} {recipe.defines}"
        raise UsageError(f"cannot compile {recipe.name}", cause=cause, hint=hint)


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
