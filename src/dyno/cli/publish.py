"""`dyno publish`: the pages over some runs as files for others, without names and secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli.options import RUN, add_option
from dyno.cli.runs import find_place, unpack
from dyno.cli.terminal import screen
from dyno.errors import InternalError, UsageError

if TYPE_CHECKING:
    from dyno.pages.site import WrittenSite
    from dyno.runs.run_summary import RunPlace


@click.command("publish")
@click.argument("runs", nargs=-1, required=True, type=RUN, metavar="RUN...")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@add_option("--unscrubbed", "Hide nothing: for readers who may see it all.")
@add_option("--hide WORD ...", "Hide this word, too; may be repeated.")
@add_option(
    "--pair RUN,RUN ...",
    "Put these two side by side; may be repeated.  [default: every two of ten runs or fewer]",
    name="pairs",
)
def command(runs: tuple[str, ...], folder: Path, **words: Any) -> None:
    """Write the pages of RUNs into DIR: a site that opens from a file or any web server.

    It has the list of runs, their reports and heat maps, the history, and runs side by side. A RUN
    is one of `dyno show runs`, a folder with runs in it, or a file of `dyno pack`. Passwords, this
    account, this host, home folders, private addresses, and the users and hosts of servers'
    addresses have words in their place, as in `dyno pack`, and words of others `?`. DIR is a new
    folder, or one that this command made, which is replaced in one step.

    \b
    dyno publish last site
    dyno publish runs /srv/www/benchmarks --hide acme
    """
    from dyno.numbers import format_count
    from dyno.pages.site import SiteOptions, list_named, write_site
    from dyno.runs.pack.archive import PackOptions
    from dyno.runs.pack.hidden import list_own_names

    if words["unscrubbed"] and words["hide"]:
        raise UsageError("--hide and --unscrubbed contradict each other", hint="leave one out")
    places = [place for word in runs for place in find_places(word)]
    own = dict.fromkeys(places)
    pairs = tuple(
        (name_place(one, own), name_place(other, own)) for one, other in list_named(words["pairs"])
    )
    hidden = PackOptions(frozenset(list_own_names()), words["hide"])
    asked = SiteOptions(None if words["unscrubbed"] else hidden, pairs)
    site = write_site(list(own), folder, asked)
    screen.print_line(f"{format_count(site.pages, 'page')}: {folder / 'index.html'}")
    if words["unscrubbed"]:
        screen.print_line("note: they show all that the records hold", err=True)
    require_no_fault(site)


def require_no_fault(site: WrittenSite) -> None:
    """`InternalError` for a site that tells one of ours in the place of a run."""
    from dyno.numbers import format_count

    if site.faults:
        told = f"{format_count(len(site.faults), 'run')} could not be shown, and the page says so"
        raise InternalError(told, cause=site.faults[0])


def find_places(word: str) -> list[RunPlace]:
    """The run that a word means, or all of a folder; profiles of servers stay out."""
    from dyno.runs.run_summary import RunPlace, list_run_places

    word = unpack(word)
    if Path(word).is_dir() and (found := list_run_places(Path(word))):
        return [RunPlace(it.kind, it.path.resolve()) for it in found if not it.instrument.is_file]
    place = find_place(word)
    return [RunPlace(place.kind, place.path.resolve())]


def name_place(word: str, places: dict[RunPlace, None]) -> str:
    """The folder's name of a run among those that are published."""
    (place,) = find_places(word)
    if place not in places:
        raise UsageError(f"--pair names {word}, which is not among the runs", hint="name it too")
    return place.name
