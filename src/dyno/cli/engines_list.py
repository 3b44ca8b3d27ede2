"""`dyno engines list`: builds by release line, where each comes from, and what is here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

import click

from dyno.cli.options import Word, add_option
from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from dyno.builds.available import AvailableBuild
    from dyno.builds.cache import CacheEntry

#: Kinds of the cache's entries that builds are made of; others belong to workloads and runs.
OF_BUILDS = ("built", "crate", "deb", "deb-src", "library", "maven", "npm", "program")
HEADS = ("engine, line", "ENGINE@…", "source", "newest file", "size", "here")
NUMBERS = (4,)


def list_engine_names() -> list[str]:
    """Every engine whose builds can be fetched."""
    from dyno.builds.available import OffersBuilds
    from dyno.plugins import load_things

    kinds = load_things("dyno.engines", "Engine").items()
    return [name for name, kind in kinds if issubclass(kind, OffersBuilds)]


@click.command("list")
@click.argument("engines", nargs=-1, type=Word("engine", list_engine_names), metavar="[ENGINE]...")
@add_option("--json", "Print everything as JSON instead.", name="as_json")
def command(engines: tuple[str, ...], as_json: bool) -> None:
    """List the builds of each ENGINE by release line: where each comes from, and what is cached.

    `dyno show engines` lists the engines.

    Nothing is fetched. A folder or a program of your own (ENGINE@/path) and the one that this
    system has (ENGINE@system) work too.
    """
    from dyno.builds import cache
    from dyno.errors import build_unknown_error

    for name in engines:
        if name not in list_engine_names():
            raise build_unknown_error("engine", name, list_engine_names())
    builds = list_builds(engines or list_engine_names())
    if as_json:
        screen.print_verbatim(json.dumps([asdict(build) for build in builds], indent=1))
        return
    screen.print_table(HEADS, format_rows(builds), right=NUMBERS)
    if not engines:
        print_cache(cache.list_entries(), builds)


def list_builds(engines: Sequence[str]) -> list[AvailableBuild]:
    """All builds of the engines: those to fetch, and those built from source."""
    from dyno.builds.available import OffersBuilds, list_available, list_built
    from dyno.builds.source.names import list_named_builds
    from dyno.driver import ask
    from dyno.engines import find_engine

    found = []
    for name in engines:
        engine = find_engine(name, ask)
        if isinstance(engine, OffersBuilds):
            found += list_available(name, engine.list_offers())
        own = [each for each in list_named_builds() if each[0].partition("@")[0] == name]
        found += [list_built(name, candidate, named) for candidate, named in own]
    return found


def format_rows(builds: Sequence[AvailableBuild]) -> Iterator[tuple[object, ...]]:
    """The table's rows: an engine's name, below it each line, told once, with its builds."""
    for engine, own in groupby(builds, key=lambda build: build.engine):
        yield (engine, *[""] * (len(HEADS) - 1))
        for line, alike in groupby(own, key=lambda build: build.line):
            for at, build in enumerate(alike):
                yield (
                    "" if at else f"  {line}",
                    build.candidate.partition("@")[2],
                    build.source,
                    build.date,
                    screen.format_bytes(build.size_bytes) if build.cached else "",
                    "cached" if build.cached else build.refusal,
                )


def print_cache(entries: Sequence[CacheEntry], builds: Sequence[AvailableBuild]) -> None:
    """What the cache holds beside those builds: what of it may be a build by name, all else by
    kinds.
    """
    from dyno.builds import cache

    listed = {name for build in builds for name in build.entries}
    screen.print_gap()
    if not entries:
        screen.print_line("nothing in the cache yet")
        return
    total = screen.format_bytes(sum(entry.size_bytes for entry in entries))
    screen.print_line(f"in the cache at {cache.find_root()}: {total}; beside the builds above")
    others = sorted((e for e in entries if e.name not in listed), key=lambda e: (e.kind, e.name))
    rows = []
    for kind, each in groupby(others, key=lambda entry: entry.kind):
        alike = list(each)
        if kind in OF_BUILDS:
            rows += [(kind, entry.name, screen.format_bytes(entry.size_bytes)) for entry in alike]
        else:
            size = screen.format_bytes(sum(entry.size_bytes for entry in alike))
            rows.append((kind, f"{len(alike)} of workloads and runs", size))
    screen.print_table(("kind", "name", "size"), rows, right=(2,))
