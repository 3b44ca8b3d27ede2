"""A build from source, planned before: made by its recipe's steps, or found in the cache.

The prefix is put in the cache whole, by one rename; a build that fails leaves only its work, for
the next build of the same. A build's name (`ENGINE@source:NAME`) is a file in the cache's `names/`:
the entry's name, and the place that it was built from.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dyno import private_files, subprocesses
from dyno.builds import Say, cache
from dyno.builds.source.plan import BUILDING, BUILT, BuildPlan
from dyno.builds.source.toolchain import check_space, read_available_mb
from dyno.builds.source.trees import COMMIT_FACTS
from dyno.builds.source.work import FACTS, BuildWork, Watch
from dyno.errors import HostError, UsageError, build_unknown_error
from dyno.locks import try_lock


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
    """Return the build, from the cache or made now; `fix` lets safe remedies be applied.

    `BuildFailed` with its diagnosis if a step fails; the work stays to be continued.
    """

    def make(folder: Path) -> None:
        with _hold_turn(plan, say), cache.hold_resumed_folder(BUILT, plan.entry) as work:
            check_space(work, plan.recipe.cost)
            BuildWork(plan, work, say, watch or (lambda _: None)).build(folder, fix)

    built = read_built(cache.ensure_entry(BUILT, plan.entry, make, say))
    # the same tree may have been built before, as another commit or of another repository
    plain = {name: it for name, it in built.facts.items() if name not in COMMIT_FACTS}
    return replace(built, facts={**plain, **plan.tree.commit, "source": plan.tree.source})


@contextmanager
def _hold_turn(plan: BuildPlan, say: Say) -> Iterator[None]:
    """Hold the turn of one build, or that of a second beside it while memory has room for twice
    its jobs: what either does by one job (configuring, linking) leaves cores to the other.
    """
    heed, folder = subprocesses.Heed(), cache.find_root() / cache.LOCKS
    needed_mb = 2 * plan.recipe.cost.memory_mb * plan.toolchain.jobs

    def take_turn() -> bool:
        has_room = len(os.sched_getaffinity(0)) > 1 and read_available_mb() >= needed_mb
        return try_lock(first.fileno()) or (has_room and try_lock(second.fileno()))

    with (
        (folder / BUILDING).open("w") as first,
        (folder / f"{BUILDING}-beside").open("w") as second,
    ):
        if not take_turn():
            say(f"{plan.entry}: waiting for another build from source to end")
            # a thread that the kernel keeps waiting hears of no interrupt
            while not take_turn():
                heed.pause(cache.PAUSE_S)
        yield


def read_built(prefix: Path) -> Built:
    """Return a build that is in the cache; `HostError` if its facts are gone."""
    try:
        told = json.loads((prefix / FACTS).read_text(encoding="utf-8"))
        return Built(prefix, told["version"], told["label"], told["facts"])
    except (OSError, ValueError, KeyError) as damaged:
        hint = f"`dyno engines remove {prefix.name}`, then build it again"
        raise HostError(f"the build {prefix.name} is damaged", cause=damaged, hint=hint) from None


FORM = re.compile(r"[A-Za-z0-9][\w.+-]*")


@dataclass(frozen=True)
class Named:
    entry: str
    place: str


def name_build(engine: str, name: str, named: Named) -> None:
    """Give a build its name, which an earlier build loses."""
    check_name(name)
    file = _find_file(engine, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    private_files.write_whole(file, json.dumps(asdict(named)))


def check_name(name: str) -> None:
    """Raise `UsageError` for an invalid name of a build."""
    if not FORM.fullmatch(name):
        hint = "letters, digits, and . + - _ after the first"
        raise UsageError(f"a build cannot be called '{name}'", hint=hint)


def find_named(engine: str, name: str) -> Path:
    """The folder of the build `name`; `UsageError` for a name that was never given, `HostError` for
    one whose build was removed.
    """
    try:
        told = Named(**json.loads(_find_file(engine, name).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        refused = build_unknown_error(f"{engine} build from source", name, list_names(engine))
        if not list_names(engine):
            refused.hint = f"none has a name yet: `dyno engines build {engine} PLACE --name {name}`"
        if Path(name).is_dir():
            refused.hint = f"a folder is named by its path: {engine}@source:./{name}"
        raise refused from None
    prefix = cache.find_root() / BUILT / told.entry
    if not prefix.is_dir():
        hint = f"build it again from {told.place}: `dyno engines build {engine} --name {name} …`"
        raise HostError(f"{engine}@source:{name} is no longer in the cache", hint=hint)
    return prefix


def list_names(engine: str) -> list[str]:
    folder = cache.find_root() / "names"
    files = folder.glob(f"{engine}-*.json") if folder.is_dir() else ()
    return sorted(file.stem.removeprefix(f"{engine}-") for file in files)


def list_named_builds() -> list[tuple[str, Named]]:
    """All names, as `ENGINE@source:NAME`, that still have their builds."""
    found = []
    for file in sorted((cache.find_root() / "names").glob("*.json")):
        engine, _, name = file.stem.partition("-")
        with suppress(OSError, ValueError, TypeError):
            told = Named(**json.loads(file.read_text(encoding="utf-8")))
            if (cache.find_root() / BUILT / told.entry).is_dir():
                found.append((f"{engine}@source:{name}", told))
    return found


def _find_file(engine: str, name: str) -> Path:
    return cache.find_root() / "names" / f"{engine}-{name}.json"
