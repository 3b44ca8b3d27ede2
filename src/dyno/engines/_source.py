"""`ENGINE@source:…`: builds from source as candidates, by the recipes in `recipes/`.

What stands behind `source:` is a name that `dyno engines build` gave, or the place of a tree: a
folder `DIR`, a commit `DIR@REF`, a Debian package `deb:SUITE[:VERSION]`. Flags belong to what
is built here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dyno.builds import Say
from dyno.builds.source.build import Built, build_planned, find_named, read_built
from dyno.builds.source.plan import BuildPlan, BuildRequest, plan_build
from dyno.builds.source.recipe import read_recipes
from dyno.builds.source.trees import DEBIAN
from dyno.errors import UsageError

SOURCE = "source:"
RECIPES = Path(__file__).with_name("recipes")
#: What a user may choose of a build from source, with its default and meaning.
FLAGS = {
    "cflags": ("", "of a build from source: flags of the C and C++ compilers, instead of -O2"),
    "configure": ("", "of a build from source: more words for configure or cmake"),
    "patch": ("", "of a build from source: a file of git diff, applied to a copy of the tree"),
}


def is_source(build: str) -> bool:
    return build.startswith(SOURCE)


def is_place(text: str) -> bool:
    return "/" in text or "@" in text or text.startswith((".", "~", DEBIAN))


def check_source(engine: str, build: str, flags: Mapping[str, str]) -> None:
    """Raise `UsageError` for a name, place, patch or flag that cannot be; nothing is built."""
    text = build.removeprefix(SOURCE)
    if not is_place(text):
        find_named(engine, text)
        if flags:
            hint = "name the tree: source:/path/to/tree?cflags=-O3"
            raise UsageError(
                f"'{min(flags)}' is for a tree, and {text} is built already", hint=hint
            )
    elif (patch := flags.get("patch")) and not Path(patch).expanduser().is_file():
        raise UsageError(f"there is no patch {patch}", hint="a file that git diff wrote")


def refuse_flags(build: str, flags: Mapping[str, str]) -> None:
    """Raise `UsageError` if a flag of builds from source stands beside any other build."""
    if strange := [name for name in flags if name in FLAGS]:
        hint = "it belongs to source:/path/to/tree"
        raise UsageError(f"'{strange[0]}' is for builds from source, not for '{build}'", hint=hint)


def find_source(engine: str, build: str, flags: Mapping[str, str], say: Say) -> Built:
    """The build: by its name, or built from the tree that it names."""
    text = build.removeprefix(SOURCE)
    if not is_place(text):
        return read_built(find_named(engine, text))
    return build_planned(plan_source(engine, text, flags, say), say)


def plan_source(engine: str, place: str, flags: Mapping[str, str], say: Say) -> BuildPlan:
    """The plan of a build of the tree at `place`; `UsageError` where the engine has no recipe."""
    recipes = read_recipes(RECIPES, engine)
    if not recipes:
        raise UsageError(f"no recipe builds {engine}", hint="name your own build by its path")
    patch = Path(flags["patch"]).expanduser() if flags.get("patch") else None
    words = {name: flags.get(name, "") for name in ("cflags", "defines")}
    request = BuildRequest(engine, place, **words, options=flags.get("configure", ""), patch=patch)
    return plan_build(request, recipes, say)
