"""The profile `packaged`: a server's own defaults, and what its distribution's package sets beside
them (`packaged.toml`). Such a file names paths and ports too, which a private server cannot have.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dyno.builds.source.recipe import is_within
from dyno.errors import UsageError

FILE = Path(__file__).with_name("packaged.toml")
STOCK, PACKAGED = "stock", "packaged"
#: Profiles that are the vendor's and not ours.
VENDORS = (STOCK, PACKAGED)


@dataclass(frozen=True)
class PackagedSettings:
    """What a package's file sets, and the names that are `left_out` here."""

    package: str
    settings: Mapping[str, str]
    left_out: tuple[str, ...]
    since: str
    before: str


def find_packaged(engine: str, version: str) -> PackagedSettings:
    """Return what the package of a version sets; `UsageError` if no package of it was read."""
    rows = _read_rows(engine)
    for row in rows:
        if is_within(version, row.since, row.before):
            filled = {n: it.replace("{version}", version) for n, it in row.settings.items()}
            return PackagedSettings(row.package, filled, row.left_out, row.since, row.before)
    raise UsageError(
        f"what a package of {engine} {version} sets is not known",
        cause="no package of that version was read",
        hint="profile=stock has the server's own defaults, config=FILE a file of yours; known are "
        + "; ".join(row.package for row in rows),
    )


def choose_packaged(engine: str, version: str, requested: Mapping[str, str]) -> Mapping[str, str]:
    """Return what the package sets where the profile is `packaged`; else nothing."""
    if requested.get("profile") != PACKAGED:
        return {}
    return find_packaged(engine, version).settings


def list_packaged_remarks(engine: str, version: str, requested: Mapping[str, str]) -> Iterator[str]:
    if requested.get("profile") == PACKAGED:
        found = find_packaged(engine, version)
        settings = ", ".join(f"{name}={value}" for name, value in found.settings.items())
        left_out = ", ".join(found.left_out)
        yield (
            f"{PACKAGED} is as in {found.package}: {settings or 'nothing beside paths'}; "
            f"left out: {left_out}"
        )


@cache
def _read_rows(engine: str) -> tuple[PackagedSettings, ...]:
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return tuple(
        PackagedSettings(
            package=row["package"],
            settings=row["settings"],
            left_out=tuple(row["left_out"]),
            since=row["since"],
            before=row.get("before", ""),
        )
        for row in table.get(engine, ())
    )
