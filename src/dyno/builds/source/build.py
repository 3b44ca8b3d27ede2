"""A build from source, planned before: made by its recipe's steps, or found in the cache.

The prefix is put in the cache whole, by one rename; a build that fails leaves only its work, for
the next build of the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dyno.builds import Say, cache
from dyno.builds.source.plan import BUILDING, BUILT, BuildPlan
from dyno.builds.source.steps import Watch
from dyno.builds.source.toolchain import check_space
from dyno.builds.source.work import FACTS, BuildWork
from dyno.errors import HostError


@dataclass(frozen=True)
class Built:
    """A build in the cache: its folder, version and label, and how it was made."""

    prefix: Path
    version: str
    label: str
    facts: Mapping[str, str]


def build_planned(
    plan: BuildPlan, say: Say, watch: Watch | None = None, *, fix: bool = False
) -> Built:
    """The build, from the cache or made now; `fix` lets remedies be applied that are safe.

    `BuildFailed` with its diagnosis where a step fails; the work stays for who goes on.
    """

    def make(folder: Path) -> None:
        alone = cache.hold_lock(cache.find_root() / cache.LOCKS / BUILDING, say_waiting)
        with alone, cache.hold_resumed_folder(BUILT, plan.entry) as work:
            check_space(work, plan.recipe.cost)
            BuildWork(plan, work, say, watch or (lambda _: None)).build(folder, fix)

    def say_waiting() -> None:
        say("waiting for another build from source to end")

    prefix = cache.ensure_entry(BUILT, plan.entry, make, say)
    return read_built(prefix)


def read_built(prefix: Path) -> Built:
    """A build that is in the cache; `HostError` where its facts are gone."""
    try:
        told = json.loads((prefix / FACTS).read_text(encoding="utf-8"))
        return Built(prefix, told["version"], told["label"], told["facts"])
    except (OSError, ValueError, KeyError) as damaged:
        hint = f"`dyno engines remove {prefix.name}`, then build it again"
        raise HostError(f"the build {prefix.name} is damaged", cause=damaged, hint=hint) from None
