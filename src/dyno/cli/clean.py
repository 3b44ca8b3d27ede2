"""`dyno clean`: lists what runs, cached builds and killed Dynos take on the disk; frees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli.options import DURATION, SIZE, Word, add_option
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.disk_use import list_within
from dyno.errors import HostError, build_unknown_error

if TYPE_CHECKING:
    from dyno.builds.cache import CacheEntry
    from dyno.runs.run_folder import RunFolder
    from dyno.runs.run_summary import RunPlace


@dataclass(frozen=True)
class Item:
    """Something that may be freed: a run, an entry of the cache, or what a killed Dyno left among
    temporary things; `age_s` since its last use.

    `stays` says why it may not be just now: a run that is being played, or what such a run uses.
    `free` returns False if it came into use meanwhile.
    """

    kind: str
    name: str
    size_bytes: int
    age_s: float
    free: Callable[[], object]
    stays: str = ""


@click.command("clean")
@click.argument(
    "names",
    nargs=-1,
    type=Word("name", lambda: [item.name for item in list_items()]),
    metavar="[NAME]...",
)
@add_option("--runs", "Runs only.", name="kind", flag_value="run")
@add_option("--cache", "Cached sources and builds only.", name="kind", flag_value="cache")
@add_option(
    "--temporary", "Temporary folders of killed Dynos only.", name="kind", flag_value="temporary"
)
@add_option("--older", "Only what is older, e.g. 30d.", DURATION, default=0.0)
@add_option("--larger", "Only what is larger, e.g. 500M.", SIZE, default=0)
@add_option("--yes", "Free what is listed; otherwise nothing is deleted.")
def command(names: tuple[str, ...], kind: str | None, older: float, larger: int, yes: bool) -> None:
    """List the disk that runs and cached builds take; free it with --yes.

    NAME selects runs or cache entries by the names that `dyno clean` lists. A run that is being
    played stays, and so do the builds that it uses. Temporary folders of killed Dynos are listed
    too.
    """
    from dyno.builds import cache

    cache.read_limit_bytes()  # a limit that is no size is refused here too
    items = choose_items(names, kind)
    items = [i for i in items if i.age_s >= older and i.size_bytes >= larger]
    for item in items:
        if item.stays:
            screen.print_line(f"{item.name} {item.stays} and stays")
    items = [item for item in items if not item.stays]
    if not items:
        screen.print_line("nothing to free")
        return
    rows = [
        # an age in its largest unit: a list needs no more
        (
            *(i.kind, i.name, screen.format_bytes(i.size_bytes)),
            " ".join(screen.format_duration(max(i.age_s, 1)).split()[:2]),
        )
        for i in items
    ]
    screen.print_table(("what", "name", "size", "age"), rows, right=(2, 3))
    total = screen.format_bytes(sum(i.size_bytes for i in items))
    if not yes:
        screen.print_lines(f"\n{total} in all; nothing was freed, --yes frees what is listed")
        return
    freed = [item for item in items if free_or_say(item)]
    screen.print_lines(f"\nfreed {screen.format_bytes(sum(i.size_bytes for i in freed))}")


def free_or_say(item: Item) -> bool:
    """Free an item; if it came into use meanwhile, say so and return False."""
    try:
        if item.free() is not False:
            return True
    except OSError as error:
        hint = "remove it with the rights of its owner, then dyno clean again"
        why = error.strerror or str(error)
        raise HostError(f"{item.name} could not be removed", cause=why, hint=hint) from None
    screen.print_line(f"{item.name} is in use and stays")
    return False


def choose_items(names: tuple[str, ...], kind: str | None) -> list[Item]:
    """Everything at hand of `kind`, or what `names` pick of it, largest first."""
    items = [item for item in list_items() if kind in (None, item.kind)]
    known = {item.name for item in items}
    for name in names:
        if name not in known:
            raise build_unknown_error("run, cache entry or temporary folder", name, known)
    picked = [item for item in items if not names or item.name in names]
    return sorted(picked, key=lambda item: -item.size_bytes)


def list_items() -> list[Item]:
    """Each run of whatever kind, each entry of the cache, and what lies among temporary things, but
    for the data of those runs, which go with them.
    """
    from dyno import scratch
    from dyno.builds import cache
    from dyno.runs.run_folder import list_every_run
    from dyno.runs.run_summary import list_run_places

    runs = list_every_run(find_runs_home())
    profiles = [it for it in list_run_places(find_runs_home()) if it.instrument.is_file]
    homes = {run.find_homes().resolve() for run in runs}
    items = [describe_run(run) for run in runs]
    items += [describe_file(place) for place in profiles]
    items += [describe_entry(entry) for entry in cache.list_entries()]
    items += [describe_unfinished(path) for path in cache.list_unfinished()]
    return items + [
        describe_temporary(path) for path in scratch.list_leftovers() if path not in homes
    ]


def describe_entry(entry: CacheEntry) -> Item:
    from dyno.builds import cache

    age_s = time.time() - entry.used_s
    stays = "is used by a run" if cache.is_used(entry.path) else ""
    free = partial(cache.remove, entry)
    return Item("cache", entry.name, entry.size_bytes, age_s, free, stays)


def describe_unfinished(path: Path) -> Item:
    """What a build or a download that was interrupted would go on with."""
    from dyno.builds import cache

    stays = "is being made" if cache.is_under_way(path) else ""
    size_bytes, age_s = measure_disk_use(path)
    free = partial(cache.remove_unfinished, path)
    return Item("cache", path.name, size_bytes, age_s, free, stays)


def describe_run(run: RunFolder) -> Item:
    """A run with the disk it takes (blocks, not lengths) and the time since it was written.

    What a killed one left of its engines' data goes with it, wherever that lies.
    """
    size_bytes, age_s = measure_disk_use(run.path, run.find_homes())
    stays = "is being played" if run.is_played() else ""
    return Item("run", run.path.name, size_bytes, age_s, partial(free_item, run), stays)


def describe_file(place: RunPlace) -> Item:
    """A profile of a server, with its page."""
    files = [place.path, place.path.with_suffix(".html")]
    size_bytes, age_s = measure_disk_use(*files)
    free = partial(remove_files, files)
    return Item("run", place.name, size_bytes, age_s, free)


def describe_temporary(path: Path) -> Item:
    from dyno import scratch

    stays = "is in use" if scratch.is_held(path) else ""
    size_bytes, age_s = measure_disk_use(path)
    return Item("temporary", path.name, size_bytes, age_s, partial(scratch.clear, path), stays)


def measure_disk_use(*places: Path) -> tuple[int, float]:
    """The disk that all in these places takes, and the seconds since any of it was written.

    What goes meanwhile takes none.
    """
    files = {file.absolute() for place in places for file in (place, *list_within(place))}
    stats = []
    for file in files:
        with suppress(OSError):
            stats.append(file.lstat())
    age_s = time.time() - max((stat.st_mtime for stat in stats), default=time.time())
    return sum(stat.st_blocks * 512 for stat in stats), age_s


def remove_files(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def free_item(run: RunFolder) -> None:
    import shutil

    if said := run.clear_homes():
        raise HostError(said, hint="remove it with the rights of its owner, then dyno clean again")
    shutil.rmtree(run.path)
