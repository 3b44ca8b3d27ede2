"""A recipe: how a tree of one engine and era is built, read from TOML.

Words of steps hold `{source}`, `{build}`, `{prefix}`, `{staged}`, `{jobs}`, `{cc}`, `{cxx}`,
`{cflags}`, `{cxxflags}`; the word `{options}` stands for what the user, or a remedy, adds.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dyno.errors import UsageError


@dataclass(frozen=True)
class Edit:
    """A search and replacement in one file of the tree's copy, with its reason.

    `find` is a regular expression, `replace` its replacement. A file without it stays as it is.
    """

    file: str
    find: str
    replace: str
    reason: str


@dataclass(frozen=True)
class BuildStep:
    """A program of the build: its words, and the folders it runs in, one after the other.

    A folder that is a pattern means those that have a Makefile; behind a `!` stands one that is
    left out. `units` is about how many lines of progress the whole step prints; 0 where it tells a
    share itself, or is short.
    """

    name: str
    run: tuple[str, ...]
    within: tuple[str, ...] = ("{build}",)
    units: int = 0


@dataclass(frozen=True)
class BuildCost:
    """What a build takes, generously: processor time in s, memory of one job and disk in MB, and
    how many jobs can be at work at once.
    """

    cpu_s: float
    memory_mb: int
    disk_mb: int
    jobs_most: int = 1024


@dataclass(frozen=True)
class BuildRecipe:
    """One engine's era: versions from `since` up to, not including, `before` (empty: no limit).

    `marks` are files by which a tree is known, `version` files and patterns that tell its version;
    a file of either may be a pattern.
    `needs` are programs; `tools` the Debian packages that bring one where this machine has none,
    and `headers` those that bring a header with its library.
    `debian` names the source package of a suite. `program` is what the build is for, below its
    prefix, and `drop` patterns of what is not kept.
    """

    name: str
    engine: str
    title: str
    since: str
    before: str
    marks: tuple[str, ...]
    version: tuple[tuple[str, str], ...]
    steps: tuple[BuildStep, ...]
    program: str
    cost: BuildCost
    cflags: str
    always: str
    cxxflags: str = ""
    defines: str = ""
    needs: tuple[str, ...] = ()
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    debian: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    drop: tuple[str, ...] = ()

    @property
    def deciding(self) -> str:
        names = ("steps", "always", "cxxflags", "defines", "edits", "drop")
        told = asdict(self)
        return json.dumps([told[name] for name in names])

    @property
    def is_cxx(self) -> bool:
        return any("{cxx" in word for step in self.steps for word in step.run)

    def read_version(self, tree: Path) -> str:
        """Return the version that the tree's files have, or ""."""
        parts = []
        for file, pattern in self.version:
            place = next(iter(sorted(tree.glob(file))), tree / file)
            found = re.search(pattern, _read(place), re.MULTILINE)
            if found is None:
                return ""
            parts += [part for part in found.groups() if part]
        return ".".join(parts)

    def matches(self, tree: Path) -> bool:
        if not all(any(tree.glob(mark)) for mark in self.marks):
            return False
        version = self.read_version(tree)
        return bool(version) and is_within(version, self.since, self.before)


def is_within(version: str, since: str, before: str) -> bool:
    """Return whether `version` is from `since` up to, not including, `before`. An empty limit is
    none.
    """
    number = parse_version(version)
    above = not since or number >= parse_version(since)
    return above and (not before or number < parse_version(before))


def parse_version(version: str) -> tuple[int, ...]:
    """A version to compare by: its numbers, up to the first part that is none."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def choose_recipe(recipes: Sequence[BuildRecipe], tree: Path, place: str) -> BuildRecipe:
    """Return the recipe whose tree this is; `UsageError` if there is none."""
    for recipe in recipes:
        if recipe.matches(tree):
            return recipe
    titles = "; ".join(recipe.title for recipe in recipes)
    versions = {v for recipe in recipes if (v := recipe.read_version(tree))}
    told = f"its files say version {min(versions)}" if versions else "it names no version"
    raise UsageError(
        f"no recipe builds {place}", cause=told, hint=f"there are recipes for {titles}"
    )


@cache
def read_recipes(folder: Path, engine: str) -> tuple[BuildRecipe, ...]:
    """The recipes of an engine, by the names of their files."""
    found = (read_recipe(file) for file in sorted(folder.glob("*.toml")))
    return tuple(recipe for recipe in found if recipe.engine == engine)


def read_recipe(file: Path) -> BuildRecipe:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return BuildRecipe(
        name=file.stem,
        engine=table["engine"],
        title=table["title"],
        since=table.get("since", ""),
        before=table.get("before", ""),
        marks=tuple(table["marks"]),
        version=tuple((file, pattern) for file, pattern in table["version"]),
        steps=tuple(_read_step(each) for each in table["steps"]),
        program=table["program"],
        cost=BuildCost(**table["cost"]),
        cflags=table.get("cflags", "-O2"),
        always=table["always"],
        cxxflags=table.get("cxxflags", ""),
        defines=table.get("defines", ""),
        needs=tuple(table.get("needs", ())),
        tools={name: tuple(packages) for name, packages in table.get("tools", {}).items()},
        headers={name: tuple(found) for name, found in table.get("headers", {}).items()},
        debian=table.get("debian", {}),
        edits=tuple(read_edit(each) for each in table.get("edits", ())),
        drop=tuple(table.get("drop", ())),
    )


def _read_step(table: Mapping[str, Any]) -> BuildStep:
    within = tuple(table.get("within", ("{build}",)))
    return BuildStep(table["name"], tuple(table["run"]), within, table.get("units", 0))


def read_edit(table: Mapping[str, str]) -> Edit:
    return Edit(table["file"], table["find"], table["replace"], table["reason"])


def apply_edits(edits: Sequence[Edit], tree: Path) -> list[str]:
    """Make the edits in the copy `tree`; return those that found their place, by file and reason.

    An edit's file may be a pattern. An edit is applied to a file once.
    """
    done = []
    for edit in edits:
        changed = False
        for file in sorted(tree.glob(edit.file)):
            before = _read(file)
            after = re.sub(edit.find, edit.replace, before, flags=re.MULTILINE)
            if after != before:
                file.write_text(after, encoding="utf-8", errors="surrogateescape")
                changed = True
        if changed:
            done.append(f"{edit.file}: {edit.reason}")
    return done


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
