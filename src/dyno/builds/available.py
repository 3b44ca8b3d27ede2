"""Builds that can be had of an engine, and which of them are here: what `dyno engines list` shows.

Nothing is fetched or asked: an engine's tables say what there is, the cache what is here, and the
programs on the path which sources this host can reach.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from dyno.builds import cache, suite_tree
from dyno.builds.abilities import Abilities, read_abilities
from dyno.builds.cache import CacheEntry
from dyno.builds.source.build import Named, read_built
from dyno.builds.source.plan import BUILT
from dyno.builds.source.recipe import parse_version
from dyno.errors import HostError

#: What each source's builds are fetched and made with.
TOOLS = {
    "maven": ("mvn",),
    "npm": ("npm",),
    "crate": ("cargo", "cc"),
    "Debian": ("apt-get", "dpkg-deb"),
}
#: A file that is so much older than its place on this disk was made before it was fetched, in s.
FETCHED_LATER_S = 86_400.0
#: Before 2000 no file of an engine was made: registries' clients give such a time in the place of a
#: date (cargo's is of 1973, npm's of 1985), and cargo this one too; in s since 1970.
DATED_FROM_S, UNDATED_S = 946_684_800.0, 1_153_704_088.0

#: A kind of the cache's entries, and a pattern of their names.
EntryPattern = tuple[str, str]


@dataclass(frozen=True)
class Offer:
    """A build that can be fetched: its `name` stands behind the `@`, `source` is a key of `TOOLS`.

    `entries` are those of the cache that it is, once fetched. `machines` are the processors that it
    is made for, as Python calls them; empty for all.
    """

    name: str
    version: str
    line: str
    source: str
    suite: str = ""
    entries: tuple[EntryPattern, ...] = ()
    machines: frozenset[str] = frozenset()


@dataclass(frozen=True)
class AvailableBuild:
    """A build as it is listed: `candidate` is what a comparison takes, `date` the day of its newest
    file (`2026-10-20`; empty if unknown), `entries` those of the cache, `refusal` why this host
    cannot have it. `size_bytes` is what it takes in the cache, `abilities` what its server said of
    itself, None if it was never started.
    """

    engine: str
    line: str
    version: str
    candidate: str
    source: str
    date: str
    size_bytes: int
    cached: bool
    entries: tuple[str, ...]
    refusal: str
    abilities: Abilities | None = None


@runtime_checkable
class OffersBuilds(Protocol):
    """An engine whose builds can be fetched by name."""

    def list_offers(self) -> list[Offer]:
        """Every build that can be fetched."""


Find = Callable[[str], str | None]


def list_available(
    engine: str, offers: Sequence[Offer], find: Find = shutil.which, machine: str = ""
) -> list[AvailableBuild]:
    """The engine's builds by release line, the oldest first. A suite's that is cached shows the
    version that it had then.
    """
    rows = [row for offer in offers for row in _build_rows(engine, offer, find, machine)]
    return sorted(rows, key=lambda row: (parse_version(row.line), parse_version(row.version)))


def list_built(engine: str, candidate: str, named: Named) -> AvailableBuild:
    """A build from source by its name, of a line of its own: `source`."""
    (entry,) = cache.find_entries(BUILT, named.entry)
    try:
        version = read_built(entry.path).version
        refusal = ""
    except HostError as damaged:
        version, refusal = "", damaged.message
    day = datetime.fromtimestamp(entry.path.joinpath("build.json").stat().st_mtime, UTC)
    return AvailableBuild(
        engine=engine,
        line="source",
        version=version,
        candidate=candidate,
        source=f"source: {named.place}",
        date=f"{day:%F}",
        size_bytes=entry.size_bytes,
        cached=not refusal,
        entries=(entry.name,),
        refusal=refusal,
        abilities=read_abilities(entry.name),
    )


def _build_rows(engine: str, offer: Offer, find: Find, machine: str) -> Iterator[AvailableBuild]:
    found = [each for pattern in offer.entries for each in cache.find_entries(*pattern)]
    groups = _group_by_version(found) if offer.suite else {offer.version: found}
    for version, entries in (groups or {offer.version: []}).items():
        yield AvailableBuild(
            engine=engine,
            line=offer.line,
            version=version,
            candidate=f"{engine}@{version if offer.name == offer.version else offer.name}",
            source=f"{offer.source} {offer.suite}".strip(),
            date=_find_newest_day(entries),
            size_bytes=sum(entry.size_bytes for entry in entries),
            cached=bool(entries),
            entries=tuple(entry.name for entry in entries),
            refusal="" if entries else _find_refusal(offer, find, machine or platform.machine()),
            abilities=next(filter(None, (read_abilities(each.name) for each in entries)), None),
        )


def _group_by_version(entries: Iterable[CacheEntry]) -> dict[str, list[CacheEntry]]:
    """A suite's entries by their authors' version: `bookworm_postgresql-15_15.18-0+deb12u1_key`."""
    groups: dict[str, list[CacheEntry]] = {}
    for entry in entries:
        version = suite_tree.strip_packaging(suite_tree.parse_entry_version(entry.name))
        groups.setdefault(version, []).append(entry)
    return groups


def _find_refusal(offer: Offer, find: Find, machine: str) -> str:
    """Return why this host cannot have it, or ""."""
    if offer.machines and machine not in offer.machines:
        return f"made for {' or '.join(sorted(offer.machines))}, this is {machine}"
    lacking = [tool for tool in TOOLS[offer.source] if find(tool) is None]
    return f"no {lacking[0]} on PATH" if lacking else ""


def _find_newest_day(entries: Iterable[CacheEntry]) -> str:
    """Return the day of the newest file that an archive dates."""
    files = (path.lstat() for entry in entries for path in _list_files(entry.path))
    dated = [
        found.st_mtime
        for found in files
        if DATED_FROM_S <= found.st_mtime < found.st_ctime - FETCHED_LATER_S
        and found.st_mtime != UNDATED_S
    ]
    return f"{datetime.fromtimestamp(max(dated), UTC):%F}" if dated else ""


def _list_files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
