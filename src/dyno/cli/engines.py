"""`dyno engines`: fetches and builds engines ahead of time, lists them, frees them."""

from __future__ import annotations

from copy import copy

import click

from dyno.cli.engines_build import command as build
from dyno.cli.engines_list import command as list_
from dyno.cli.engines_list import list_builds, list_engine_names
from dyno.cli.headings import HeadedGroup
from dyno.cli.judged_run import print_progress
from dyno.cli.options import ENGINE, Word
from dyno.cli.terminal import screen
from dyno.errors import UsageError, build_unknown_error


@click.group("engines", cls=HeadedGroup)
def command() -> None:
    """Fetch and build engines ahead of time, list and remove them."""


@command.command("install")
@click.argument("engines", nargs=-1, required=True, type=ENGINE, metavar="ENGINE@BUILD...")
def install(engines: tuple[str, ...]) -> None:
    """Fetch or compile each ENGINE@BUILD into the cache, as `compare` does when it needs one.

    `dyno engines list` names them.
    """
    from dyno.compare.experiment.candidates import parse_candidate
    from dyno.compare.resolve.candidates import resolve_candidates, resolve_control_values
    from dyno.compare.resolve.workloads import CandidateRequest

    for text in engines:
        ((_, _, build),) = resolve_candidates(
            [CandidateRequest(parse_candidate(text))], resolve_control_values({}), print_progress
        )
        screen.print_line(f"{build.engine} {build.version}  {build.program}")


#: What other tools call it.
fetch = copy(install)
fetch.hidden = True
command.add_command(fetch, "fetch")
command.add_command(build)
command.add_command(list_)


def list_cached_names() -> list[str]:
    """Every entry of the cache."""
    from dyno.builds import cache

    return [entry.name for entry in cache.list_entries()]


@command.command("remove")
@click.argument("names", nargs=-1, required=True, type=Word("name", list_cached_names))
def remove(names: tuple[str, ...]) -> None:
    """Remove entries of the cache by the names that `dyno engines list` shows.

    `engine@version` means all builds of a version, with any flags, and their archives.
    """
    from dyno.builds import cache

    found = {entry.name: entry for entry in cache.list_entries()}
    doomed = [name for word in names for name in find_entries(word, list(found))]
    for name in dict.fromkeys(doomed):
        if not cache.remove(found[name]):
            hint = "wait for the end of the run, or interrupt it"
            raise UsageError(f"{name} is used by a run", hint=hint)
        screen.print_line(f"freed {name}, {screen.format_bytes(found[name].size_bytes)}")


def find_entries(word: str, cached: list[str]) -> list[str]:
    """The cache's entries that `word` names: itself, or every build of `engine@version`."""
    if word in cached:
        return [word]
    engine = word.partition("@")[0]
    stem = f"{word.replace('@', '-')}-"
    builds = [name for name in cached if "@" in word and name.startswith(stem)]
    if engine in list_engine_names():
        for build in list_builds([engine]):
            builds += (
                build.entries if word in (build.candidate, f"{engine}@{build.version}") else ()
            )
    if not builds:
        raise build_unknown_error("cached build", word, cached)
    return builds
