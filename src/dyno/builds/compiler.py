"""Compiles C sources into a shared library, cached by the hash of all that went into it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
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

    `cflags` go to the compiler as they are ("-O2 -g"); `defines` are macros without their `-D`
    ("HAVE_USLEEP=1"); `libraries` are linked ("m").
    """

    name: str
    source: Path
    cflags: str
    defines: str
    libraries: Sequence[str] = ()


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
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    file = f"lib{recipe.name}.so"

    def make(folder: Path) -> None:
        say(f"compiling {recipe.name} ({recipe.cflags})")
        words = [*_split_words(recipe.cflags), *(f"-D{it}" for it in _split_words(recipe.defines))]
        words += [str(recipe.source), *(f"-l{library}" for library in recipe.libraries)]
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
