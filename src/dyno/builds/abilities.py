"""What a cached build can do and what it cannot (compile expressions, TLS, …), as its server said
when it was first started: kept beside the cache's entries, whose programs never change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from dyno import private_files
from dyno.builds import Build, cache

FOLDER = "abilities"
#: By an ability's name (JIT, TLS, …), whether the build has it.
Abilities = Mapping[str, bool]


def keep_abilities(build: Build, ask: Callable[[], Abilities]) -> None:
    """Ask, if the build is the cache's and was never asked."""
    if entry := _find_entry(build):
        file = _find_file(entry)
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            private_files.write_whole(file, json.dumps(dict(ask())))


def list_uneven_abilities(builds: Mapping[str, Build]) -> Iterator[str]:
    """Yield which of these builds, by the candidate's name, lacks what another has, as far as each
    was started before.
    """
    asked = {name: read_abilities(_find_entry(build)) or {} for name, build in builds.items()}
    had = {ability for told in asked.values() for ability, has in told.items() if has}
    for name, told in asked.items():
        if lacking := [ability for ability, has in told.items() if ability in had and not has]:
            yield f"{name} lacks {', '.join(lacking)}, which another's build has"


def read_abilities(entry: str) -> Abilities | None:
    """Return what the build in the cache's `entry` said; None if it was never started."""
    with suppress(OSError, ValueError):
        told: dict[str, bool] = json.loads(_find_file(entry).read_text(encoding="utf-8"))
        return told
    return None


def _find_entry(build: Build) -> str:
    """Return the cache's entry that the build is; empty where it is none."""
    with suppress(ValueError):
        return build.program.resolve().relative_to(cache.find_root().resolve()).parts[1]
    return ""


def _find_file(entry: str) -> Path:
    return cache.find_root() / FOLDER / f"{entry}.json"
