"""What a cached build can do and what it cannot (compile expressions, TLS, …), as its server said
when it was first started: kept beside the cache's entries, whose programs never change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from dyno import private_files
from dyno.builds import Build, cache

FOLDER = "abilities"
#: By an ability's name (JIT, TLS, …), whether the build has it.
Abilities = Mapping[str, bool]


def keep_abilities(build: Build, ask: Callable[[], Abilities]) -> None:
    """Ask, if the build is the cache's and was never asked."""
    with suppress(ValueError):
        place = build.program.resolve().relative_to(cache.find_root().resolve())
        file = _find_file(place.parts[1])
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            private_files.write_whole(file, json.dumps(dict(ask())))


def read_abilities(entry: str) -> Abilities | None:
    """Return what the build in the cache's `entry` said; None if it was never started."""
    with suppress(OSError, ValueError):
        told: dict[str, bool] = json.loads(_find_file(entry).read_text(encoding="utf-8"))
        return told
    return None


def _find_file(entry: str) -> Path:
    return cache.find_root() / FOLDER / f"{entry}.json"
