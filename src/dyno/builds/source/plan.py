"""The plan of a build from source, before it starts: its tree, recipe, toolchain, and key.

The key is a hash of all that decides what comes out: the tree's content, the recipe, flags, patch,
compilers with their releases, packages fetched for the build, and machine. Where the tree lies and
what it is called are no part of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dyno.builds import Say, cache
from dyno.builds.source.recipe import BuildRecipe, choose_recipe
from dyno.builds.source.toolchain import Toolchain, find_toolchain
from dyno.builds.source.trees import COMMIT_FACTS, SourceTree, find_tree
from dyno.errors import UsageError

#: The cache's kinds of what was built, and of what is being built.
BUILT, BUILDING = "built", "building"


@dataclass(frozen=True)
class BuildRequest:
    """What is to be built: engine, place of the tree, flags of both compilers, more words for
    configure, macros, a patch of the user's (a file; None for none), and a compiler that is
    fetched by its name (empty: this machine's).
    """

    engine: str
    place: str
    cflags: str = ""
    options: str = ""
    defines: str = ""
    patch: Path | None = None
    compiler: str = ""


@dataclass(frozen=True)
class BuildPlan:
    """A build before it starts: what it is made of, its key, and the time it may take."""

    request: BuildRequest
    tree: SourceTree
    recipe: BuildRecipe
    toolchain: Toolchain
    version: str
    entry: str
    facts: Mapping[str, str]

    @property
    def alone_s(self) -> float:
        """Return about what it takes on idle processors, in s."""
        return self.recipe.cost.cpu_s / self.toolchain.jobs

    @property
    def limit_s(self) -> float:
        """Return about the longest that it takes here, in s, under the host's recent load."""
        _, lately, _ = os.getloadavg()
        return self.alone_s * (1 + lately / len(os.sched_getaffinity(0)))

    @property
    def label(self) -> str:
        """Return the name of a build that has none: version, tree, and its key if it has flags or a
        patch of its own.
        """
        request, tail = self.request, self.entry[-6:]
        own = request.cflags or request.options or request.patch or request.compiler
        return re.sub(r"[^\w.+-]", "-", f"{self.tree.label}-{tail}" if own else self.tree.label)

    @property
    def is_cached(self) -> bool:
        return (cache.find_root() / BUILT / self.entry).is_dir()


def plan_build(request: BuildRequest, recipes: Sequence[BuildRecipe], say: Say) -> BuildPlan:
    """Return the plan of a build: the tree is found and read, and only the cache is written.

    `UsageError` if there is no tree, recipe or patch; `HostError` if a tool is absent.
    """
    _check_words(request)
    debian = {suite: package for recipe in recipes for suite, package in recipe.debian.items()}
    tree = find_tree(request.place, debian, say)
    with cache.make_work_folder(BUILDING) as scratch:
        recipe, version = _recognise(tree, recipes, scratch / "source", request.place)
    toolchain = find_toolchain(recipe, say, request.compiler)
    facts = _collect_facts(request, tree, recipe, toolchain)
    telling = ("source", "patch", *COMMIT_FACTS)
    deciding = {name: value for name, value in facts.items() if name not in telling}
    key = hashlib.sha256(json.dumps([deciding, recipe.deciding]).encode()).hexdigest()[:16]
    entry = f"{request.engine}-{version}-{key}"
    return BuildPlan(request, tree, recipe, toolchain, version, entry, facts)


def _check_words(request: BuildRequest) -> None:
    """Refuse flags that no shell could split, and a cache path in which no Makefile works."""
    for words in (request.cflags, request.options, request.defines):
        try:
            shlex.split(words)
        except ValueError as unbalanced:
            raise UsageError(f"cannot read the flags '{words}'", cause=unbalanced) from None
    if any(sign.isspace() for sign in str(cache.find_root())):
        hint = "set DYNO_CACHE to a folder without"
        raise UsageError(f"make cannot build in {cache.find_root()}: it holds a blank", hint=hint)


def _recognise(
    tree: SourceTree, recipes: Sequence[BuildRecipe], copy: Path, place: str
) -> tuple[BuildRecipe, str]:
    """Return the recipe of a tree, and its version: read from a copy of the files that say so,
    since a commit has none yet.
    """
    telling = {*(m for r in recipes for m in r.marks), *(f for r in recipes for f, _ in r.version)}
    copy.mkdir()
    tree.put(copy, lambda name: any(fnmatchcase(name, pattern) for pattern in telling))
    recipe = choose_recipe(recipes, copy, place)
    return recipe, recipe.read_version(copy)


def _collect_facts(
    request: BuildRequest, tree: SourceTree, recipe: BuildRecipe, toolchain: Toolchain
) -> dict[str, str]:
    """Return how it is made, for the record: what is written here decides the key of the build."""
    chosen = request.cflags or recipe.cflags
    facts = {
        "source": tree.source,
        "source_sha256": tree.identity,
        **tree.commit,
        "recipe": recipe.name,
        "compiler": toolchain.compiler,
        "cxx_compiler": toolchain.cxx_compiler,
        "fetched": "; ".join(toolchain.fetched),
        "generators": "; ".join(toolchain.generators),
        "cflags": chosen,
        "always": recipe.always,
        "configure": request.options,
        "defines": request.defines or recipe.defines,
        "machine": platform.machine(),
    }
    if request.patch:
        facts["patch"] = str(request.patch)
        facts["patch_sha256"] = hashlib.sha256(_read_patch(request.patch)).hexdigest()
    return {name: value for name, value in facts.items() if value}


def _read_patch(patch: Path) -> bytes:
    try:
        return patch.read_bytes()
    except OSError as refused:
        raise UsageError(f"cannot read the patch {patch}", cause=refused.strerror) from None
