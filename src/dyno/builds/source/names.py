"""Names of builds from source: what `ENGINE@source:NAME` means.

A name is a file in the cache's `names/`: the entry's name, and the place that it was built from.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from dyno import private_files
from dyno.builds import cache
from dyno.builds.source.plan import BUILT
from dyno.errors import HostError, UsageError, build_unknown_error

FORM = re.compile(r"[A-Za-z0-9][\w.+-]*")


@dataclass(frozen=True)
class Named:
    """A name of an engine's build: the entry in the cache, and the place that it was built from."""

    entry: str
    place: str


def name_build(engine: str, name: str, named: Named) -> None:
    """Gives a build its name; who had it before has it no more."""
    check_name(name)
    file = _find_file(engine, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    private_files.write_whole(file, json.dumps(asdict(named)))


def check_name(name: str) -> None:
    """`UsageError` where a build cannot be called so."""
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
    """The names of an engine's builds."""
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
