"""Diagnoses a failed build or start: the first real error of its output, its cause, the
remedy, and whether Dyno can apply it. `catalogue/*.toml` lists the known failures.

A build's last line says that something failed; the first line that is an error says what. An entry
of the catalogue counts where it matches there or before. Entries that are *weak* (a clock that runs
ahead, a locale) explain a failure only where nothing else does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dyno.builds.source.recipe import Edit, is_within, read_edit

CATALOGUE = Path(__file__).with_name("catalogue")
#: Lines that are errors, whatever they mean; `LAST` is what make and ninja say of others' errors.
ERRORS = re.compile(
    r"^.*(?:(?<!-W)\b(?:fatal )?error: |^CMake Error|undefined reference to|cannot find -l"
    r"|\bcommand not found\b|: not found$|No such file or directory|No space left on device"
    r"|^ERROR: |: ERROR: |Can't locate \S+ in @INC|\bKilled\b|^error\b).*$",
    re.MULTILINE,
)
LAST = re.compile(r"^.*(?:\*\*\* |^ninja: (?:error|build stopped)|^FAILED: ).*$", re.MULTILINE)
#: Lines of compilers and of configure that only look like errors.
HARMLESS = re.compile(r"^(?:checking |-- |warning: |.*: warning: |.*: note: )", re.IGNORECASE)
#: How far from the first error's line an entry may match to explain it, in characters each way.
NEAR_BEFORE, NEAR_AFTER = 400, 1500


@dataclass(frozen=True)
class Fix:
    """What Dyno can do: edits in the tree's copy, words for configure, flags (of both compilers, of
    C's alone, of C++'s alone), variables, one job.

    `again` is the step to begin with; empty for the one that failed.
    """

    edits: tuple[Edit, ...] = ()
    options: tuple[str, ...] = ()
    cflags: str = ""
    c_only: str = ""
    cxxflags: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    one_job: bool = False
    again: str = ""


@dataclass(frozen=True)
class KnownFailure:
    """A kind of failure: its pattern, cause, remedy, where that is described, and its fix, if any.

    `when` limits it: `engine`, `since` and `before` of the tree's version, and `NAME_since` and
    `NAME_before` of a tool's (`openssl_since`). `produced_by` are the real tools that produce it in
    a test; empty: it is known by what they wrote elsewhere.
    """

    name: str
    pattern: re.Pattern[str]
    cause: str
    remedy: str
    source: str
    when: Mapping[str, str]
    fix: Fix | None
    weak: bool
    produced_by: Sequence[str] = ()


@dataclass(frozen=True)
class Failed:
    """What is known of a failure: what was written, of which engine and version, by which tools."""

    output: str
    engine: str = ""
    version: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Diagnosis:
    """The line that failed first and what it means; without an entry, it is only shown."""

    line: str
    entry: KnownFailure | None = None


def diagnose(failed: Failed) -> Diagnosis:
    first = _find_first_error(failed.output)
    start = first.start() if first else len(failed.output)
    end = first.end() if first else len(failed.output)
    entries = [entry for entry in list_build_entries() if _applies(entry, failed)]
    around = max(0, start - NEAR_BEFORE), end + NEAR_AFTER
    chosen = [
        (found.start(), entry)
        for entry in entries
        if not entry.weak and (found := entry.pattern.search(failed.output, *around))
    ] or [
        (found.start(), entry)
        for entry in entries
        if entry.weak and (found := entry.pattern.search(failed.output))
    ]
    if chosen:
        # of several in a line the first in the catalogue: what is special stands before
        at, entry = min(
            chosen,
            key=lambda each: failed.output.count("\n", min(each[0], start), max(each[0], start)),
        )
        return Diagnosis(_read_line(failed.output, at), entry)
    return Diagnosis(_read_line(failed.output, start) if first else "")


def diagnose_start(output: str, engine: str = "", version: str = "") -> Diagnosis | None:
    """Return the diagnosis of a server that did not start, or None if the failure is unknown."""
    failed = Failed(output, engine, version)
    for entry in read_entries("start"):
        if _applies(entry, failed) and (found := entry.pattern.search(output)):
            return Diagnosis(_read_line(output, found.start()), entry)
    return None


def _find_first_error(output: str) -> re.Match[str] | None:
    for pattern in (ERRORS, LAST):
        for found in pattern.finditer(output):
            if not HARMLESS.match(found[0]):
                return found
    return None


def _read_line(output: str, at: int) -> str:
    """Return the line at a place; of a heading of cmake's, with the words below it."""
    begin = output.rfind("\n", 0, at) + 1
    line, _, rest = output[begin:].partition("\n")
    if line.startswith("CMake Error"):
        more = (words.strip() for words in rest.splitlines()[:4])
        line = f"{line.strip()} {next(filter(None, more), '')}"
    return line.strip()


def _applies(entry: KnownFailure, failed: Failed) -> bool:
    when = dict(entry.when)
    if (engine := when.pop("engine", "")) and failed.engine and failed.engine not in engine.split():
        return False
    if not is_within(failed.version or "0", when.pop("since", ""), when.pop("before", "")):
        return False
    for limit, value in when.items():
        tool, _, side = limit.rpartition("_")
        version = failed.versions.get(tool, "")
        within = is_within(version, value, "") if side == "since" else is_within(version, "", value)
        if not version or not within:
            return False
    return True


def list_build_entries() -> Sequence[KnownFailure]:
    kinds = sorted(file.stem for file in CATALOGUE.glob("*.toml"))
    return [entry for kind in kinds if kind != "start" for entry in read_entries(kind)]


@cache
def read_entries(kind: str) -> tuple[KnownFailure, ...]:
    """The entries of one file of the catalogue, in its order."""
    table = tomllib.loads((CATALOGUE / f"{kind}.toml").read_text(encoding="utf-8"))
    return tuple(_read_entry(name, each) for name, each in table.items())


def _read_entry(name: str, table: Mapping[str, Any]) -> KnownFailure:
    return KnownFailure(
        name=name,
        pattern=re.compile(table["pattern"], re.MULTILINE),
        cause=table["cause"],
        remedy=table["remedy"],
        source=table["source"],
        when=table.get("when", {}),
        fix=_read_fix(table["fix"]) if "fix" in table else None,
        weak=table.get("weak", False),
        produced_by=table.get("produced_by", ()),
    )


def _read_fix(table: Mapping[str, Any]) -> Fix:
    return Fix(
        edits=tuple(read_edit(each) for each in table.get("edits", ())),
        options=tuple(table.get("options", ())),
        cflags=table.get("cflags", ""),
        c_only=table.get("c_only", ""),
        cxxflags=table.get("cxxflags", ""),
        environment=table.get("environment", {}),
        one_job=table.get("one_job", False),
        again=table.get("again", ""),
    )
