"""Small source trees with recipes for them: what builds from source are tested on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from stub_programs import SAID

from dyno.builds.source.build import Built, build_planned
from dyno.builds.source.plan import BuildPlan, BuildRequest, plan_build
from dyno.builds.source.recipe import BuildRecipe, read_recipe

RECIPE = """
engine = "small"
title = "a small engine"
since = "1"
before = "3"
marks = ["configure"]
version = [["VERSION", '^([0-9.]+)']]
program = "bin/small"
always = "-g -fno-omit-frame-pointer"
drop = ["share/doc"]
cost = { cpu_s = 5, memory_mb = 10, disk_mb = 1 }

[[steps]]
name = "configure"
run = ["{source}/configure", "CC={cc}", "CFLAGS={cflags}", "CXXFLAGS={cxxflags}", "{options}"]

[[steps]]
name = "compile"
run = ["make", "-j{jobs}", "-f", "{source}/Makefile", "SOURCE={source}"]

[[steps]]
name = "install"
run = ["make", "install", "-f", "{source}/Makefile", "SOURCE={source}", "INTO={staged}{prefix}"]
"""
#: `configure` leaves its words for the Makefile, as a real one leaves a Makefile.
CONFIGURE = '#!/bin/sh\nfor word; do echo "${word%%=*} = ${word#*=}"; done > settings.mk\n'
MAKEFILE = """include settings.mk
all: small.o
\t$(CC) $(CFLAGS) -o small small.o
small.o: $(SOURCE)/small.c
\t$(CC) $(CFLAGS) -c $(SOURCE)/small.c
install:
\tmkdir -p $(INTO)/bin $(INTO)/share/doc
\tcp small $(INTO)/bin/ && touch $(INTO)/share/doc/page
"""
PROGRAM = '#include <stdio.h>\nint main(void) { puts("small 1.2"); return 0; }\n'


def small_tree(folder: Path, **files: str) -> Path:
    """A tree that builds; `files` are other than usual, `Makefile` and `small_c` by these names."""
    content = {"configure": CONFIGURE, "Makefile": MAKEFILE, "small.c": PROGRAM, "VERSION": "1.2\n"}
    content |= {name.replace("_c", ".c"): text for name, text in files.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in content.items():
        (folder / name).write_text(text)
    (folder / "configure").chmod(0o755)
    return folder


def small_recipe(folder: Path, text: str = RECIPE) -> tuple[BuildRecipe, ...]:
    """The recipe for it, in a file of `folder`."""
    file = folder / "small.toml"
    file.write_text(text)
    return (read_recipe(file),)


def planned(place: object, recipes: tuple[BuildRecipe, ...], **own: object) -> BuildPlan:
    """The plan of a build of the tree at `place`."""
    wanted = BuildRequest("small", str(place), **own)  # type: ignore[arg-type]
    return plan_build(wanted, recipes, SAID.append)


def built(
    place: object, recipes: tuple[BuildRecipe, ...], *, fix: bool = False, **own: object
) -> Built:
    """A build of the tree at `place`."""
    return build_planned(planned(place, recipes, **own), SAID.append, fix=fix)


def git(folder: Path, *words: str) -> str:
    """What git answers in a repository of the test's own."""
    who = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit_all(folder: Path, message: str = "all") -> str:
    """Commits all of a folder, made a repository if it is none; the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD").strip()


#: What a library of SQLite must answer for Dyno to know it, and nothing of its work.
AMALGAMATION = """#include "sqlite3.h"
const char *sqlite3_libversion(void) { return SQLITE_VERSION; }
const char *sqlite3_sourceid(void) { return "a stand-in"; }
const char *sqlite3_compileoption_get(int n) { return n ? 0 : "THREADSAFE=1"; }
"""


def amalgamation(folder: Path) -> Path:
    """A stand-in for SQLite's amalgamation, of version 3.99.1."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sqlite3.h").write_text('#define SQLITE_VERSION "3.99.1"\n')
    (folder / "sqlite3.c").write_text(AMALGAMATION)
    return folder
