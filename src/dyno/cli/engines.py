"""`dyno engines`: fetches and builds engines ahead of time, lists them, frees them."""

from __future__ import annotations

from copy import copy

import click

from dyno.cli.engines_build import command as build
from dyno.cli.engines_build import print_named
from dyno.cli.judged_run import print_progress
from dyno.cli.options import ENGINE, Word
from dyno.cli.terminal import screen
from dyno.errors import UsageError, unknown


@click.group("engines")
def command() -> None:
    """Fetch and build engines ahead of time, list them, free them."""


@command.command("install")
@click.argument("engines", nargs=-1, required=True, type=ENGINE, metavar="ENGINE@BUILD...")
def install(engines: tuple[str, ...]) -> None:
    """Fetch or compile each ENGINE@BUILD into the cache; `compare` does so when it needs to."""
    from dyno.compare.experiment.candidates import parse_candidate
    from dyno.compare.resolve.candidates import control_values, resolve_candidates
    from dyno.compare.resolve.workloads import CandidateRequest

    for text in engines:
        ((_, _, build),) = resolve_candidates(
            [CandidateRequest(parse_candidate(text))], control_values({}), print_progress
        )
        screen.line(f"{build.engine} {build.version}  {build.program}")


#: What other tools call it.
fetch = copy(install)
fetch.hidden = True
command.add_command(fetch, "fetch")
command.add_command(build)


@command.command("list")
def list_() -> None:
    """List the engines, the builds of each that can be had, and those in the cache."""
    from dyno.builds import cache
    from dyno.plugins import things

    rows = [
        (name, ", ".join(kind.versions) or "-")
        for name, kind in things("dyno.engines", "Engine").items()
    ]
    screen.table(("engine", "builds that can be fetched (a path works too)"), rows)
    entries = sorted(cache.entries(), key=lambda entry: (entry.kind, entry.name))
    cached = [(e.name, e.kind, screen.format_bytes(e.size_bytes)) for e in entries]
    screen.gap()
    screen.line(f"in the cache, {cache.root()}:" if cached else "nothing in the cache yet")
    if cached:
        screen.table(("name", "kind", "size"), cached, right=(2,))
    print_named()


def cached_names() -> list[str]:
    """Every entry of the cache."""
    from dyno.builds import cache

    return [entry.name for entry in cache.entries()]


@command.command("remove")
@click.argument("names", nargs=-1, required=True, type=Word("name", cached_names))
def remove(names: tuple[str, ...]) -> None:
    """Free entries of the cache by the names that `dyno engines list` shows.

    `engine@version` names all builds of a version, whatever their flags.
    """
    from dyno.builds import cache

    found = {entry.name: entry for entry in cache.entries()}
    doomed = [name for word in names for name in entries_named(word, list(found))]
    for name in dict.fromkeys(doomed):
        if not cache.remove(found[name]):
            hint = "wait for the end of the run, or interrupt it"
            raise UsageError(f"{name} is used by a run", hint=hint)
        screen.line(f"freed {name}, {screen.format_bytes(found[name].size_bytes)}")


def entries_named(word: str, cached: list[str]) -> list[str]:
    """The cache's entries that `word` names: itself, or every build of `engine@version`."""
    if word in cached:
        return [word]
    stem = f"{word.replace('@', '-')}-"
    builds = [name for name in cached if "@" in word and name.startswith(stem)]
    if not builds:
        raise unknown("cached build", word, cached)
    return builds
