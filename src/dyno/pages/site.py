"""Writes the pages of some runs as files that any web server, or none, can hand out.

They are made of copies of the records without names and secrets (`runs/pack`), unless somebody
asks otherwise. A site appears whole or not at all: it is built beside its place, and put there in
one step. What was there before must be a site of ours and nothing else (`MARKER` lists its files).
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from dyno import private_files, scratch
from dyno.errors import OWN_FAULT, HostError, UsageError, describe_damage, find_fullest
from dyno.judge.analysis.judge import judge
from dyno.pages.beside import build_beside_page, build_choice_page, list_pairs
from dyno.pages.frame import SiteFrame, SitePage, build_problem_page
from dyno.pages.heat import build_heat_page
from dyno.pages.history import HistoryShelf, build_history_page, list_links
from dyno.pages.library import Library, ListedRun
from dyno.pages.matrix import build_matrix_page
from dyno.pages.reports import read_report
from dyno.pages.run_list import ListQuery, build_list_page
from dyno.report.accepted import AcceptedLoss, read_accepted
from dyno.runs.pack.archive import (
    PackOptions,
    check_hidden,
    make_hiding,
    read_records,
    write_scrubbed,
)
from dyno.runs.pack.hidden import Hiding
from dyno.runs.run_folder import RunFolder
from dyno.runs.run_summary import RunPlace

MARKER = ".dyno-site.json"
#: Of so many runs every two stand side by side; of more, those that were named.
RUNS_PAIRED = 10
#: Beside the site while it is written; what a killed Dyno left has such a name too.

Pair = tuple[ListedRun, ListedRun]


@dataclass(frozen=True)
class SiteOptions:
    """What is hidden (None: nothing), and which runs stand side by side, by their folders' names;
    none named: every two of `RUNS_PAIRED` runs or fewer. `read` makes a run's report.
    """

    hidden: PackOptions | None
    pairs: tuple[tuple[str, str], ...] = ()
    read: Callable[[RunPlace], str] = read_report


@dataclass(frozen=True)
class WrittenSite:
    """How many pages were written, and the faults of Dyno's own that some tell in a run's place."""

    pages: int
    faults: tuple[str, ...]


def write_site(runs: Sequence[RunPlace], out: Path, options: SiteOptions) -> WrittenSite:
    """Writes the site into `out`. `UsageError` where `out` holds something else, or a run cannot be
    read; then nothing is changed.
    """
    out = out.resolve()
    _check_target(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            scratch.make_folder("pack") as copies,
            scratch.make_staging("publish", out.parent) as staging,
        ):
            hiding, names = _copy_runs(runs, copies / "runs", options.hidden)
            site = staging / "site"
            site.mkdir()
            pairs = tuple((names[one], names[other]) for one, other in options.pairs)
            renamed = replace(options, pairs=pairs)
            files, faults = _write_pages(Library([copies / "runs"]), site, hiding, renamed)
            check_hidden(files if hiding else (), hiding or Hiding(()))
            _write(site / MARKER, json.dumps(sorted(str(it.relative_to(site)) for it in files)))
            _put_in_place(site, out)
    except OSError as error:
        cause = f"{error.strerror or error}{find_fullest(error, out.parent)}"
        raise HostError(f"cannot write {out}", cause=cause) from error
    return WrittenSite(len(files), faults)


def _check_target(out: Path) -> None:
    """`UsageError` where a folder is there that is no site of ours, or holds something else."""
    if not out.exists():
        return
    hint = "name a new folder, or one that `dyno publish` made"
    if not out.is_dir():
        raise UsageError(f"{out} is no folder", hint=hint)
    there = {
        str(it.relative_to(out)) for it in out.rglob("*") if it.is_symlink() or not it.is_dir()
    }
    if not there:
        return
    if foreign := sorted(there - set(_read_marker(out)) - {MARKER}):
        cause = f"it holds {foreign[0]}, which `dyno publish` did not write"
        raise UsageError(f"{out} is not overwritten", cause=cause, hint=hint)


def _read_marker(out: Path) -> list[str]:
    try:
        listed = json.loads((out / MARKER).read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return [it for it in listed if isinstance(it, str)] if isinstance(listed, list) else []


def _copy_runs(
    runs: Sequence[RunPlace], home: Path, hidden: PackOptions | None
) -> tuple[Hiding | None, dict[str, str]]:
    """Copies of the records, judged; what hid in them, and each run's name among the copies."""
    private_files.make_folder(home)
    records = [_read_records(place) for place in runs]
    hiding = make_hiding(records, hidden) if hidden else None
    names: dict[str, str] = {}
    for place, own in zip(runs, records, strict=True):
        plain = hiding.hide(place.name) if hiding else place.name
        name, number = plain, 1
        while (home / name).exists():
            number += 1
            name = f"{plain}-{number}"
        names[place.name] = name
        write_scrubbed(own, home / name, hiding)
        if place.instrument.has_trials:
            folder = RunFolder(home / name)
            with suppress(Exception):  # its page says what is wrong with it
                run, trials = folder.read_run(), folder.read_trials()
                folder.write_verdict(judge(run, trials, counts=folder.read_counts()))
    return hiding, names


def _read_records(place: RunPlace) -> dict[str, object]:
    if place.instrument.is_file:
        told = f"{place.name} is {place.instrument.noun}"
        raise UsageError(told, hint="its page can be sent as it is")
    return read_records(place.path)


def _write_pages(
    library: Library, site: Path, hiding: Hiding | None, options: SiteOptions
) -> tuple[list[Path], tuple[str, ...]]:
    told = "without names and secrets" if hiding else "with all that the records hold"
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    frame = SiteFrame("published", f"Written by dyno publish on {day}, {told}.")
    runs = library.list_runs()
    files, shown = [], []
    for run in runs:
        address = site / f"runs/{run.key}.html"
        try:
            page = frame.add_bar(options.read(run.place), 1, run.key)
            heat = build_heat_page(run) if run.place.instrument.has_trials else None
        except Exception as error:  # whatever one record holds, the others are published
            told = describe_damage(error)
            run = replace(run, summary=structs.replace(run.summary, damage=told))
            page, heat = frame.build(build_problem_page(told, "", 1)), None
        files.append(_write(address, page))
        if heat:
            files.append(_write(site / f"heat/{run.key}.html", frame.build(heat)))
        shown.append(run)
    sound = [run for run in shown if not run.summary.damage]
    pairs = _choose_pairs(library, sound, options.pairs)
    losses = tuple(
        structs.replace(it, reason=hiding.hide(it.reason) if hiding else it.reason)
        for it in read_accepted(Path.cwd())
    )
    for name, made in _list_pages(shown, sound, pairs, losses):
        files.append(_write(site / name, frame.build(made)))
    damages = (run.summary.damage for run in shown)
    return files, tuple(told for told in damages if told.startswith(OWN_FAULT))


def _choose_pairs(
    library: Library, runs: Sequence[ListedRun], named: Sequence[tuple[str, str]]
) -> list[Pair]:
    if named:
        return [(library.find(one), library.find(other)) for one, other in named]
    return list_pairs(runs) if len(runs) <= RUNS_PAIRED else []


def _list_pages(
    shown: Sequence[ListedRun],
    runs: Sequence[ListedRun],
    pairs: Sequence[Pair],
    losses: tuple[AcceptedLoss, ...],
) -> Iterator[tuple[str, SitePage]]:
    yield "index.html", build_list_page(shown, ListQuery(), served=False)
    yield "matrix.html", build_matrix_page(runs)
    yield "beside.html", build_choice_page(runs, pairs)
    for one, other in pairs:
        yield f"beside/{one.key}/{other.key}.html", build_beside_page(one, other)
    history = HistoryShelf(lambda: losses).read(runs)
    links = list_links(runs, frozenset((one.key, other.key) for one, other in pairs))
    yield "history.html", build_history_page(history, links, served=False)


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


#: Of renameat2(2): both names exist, and change places in one step.
_CURRENT_FOLDER, _EXCHANGE = -100, 2


def _put_in_place(site: Path, out: Path) -> None:
    """Gives the site its name. What was there goes into the folder of the staging, which is removed
    with it.
    """
    private_files.sync_tree(site)
    if not out.exists():
        site.rename(out)
    elif not _swap_names(site, out):
        before = site.with_name("before")
        out.rename(before)
        site.rename(out)
    private_files.sync(out.parent)


def _swap_names(one: Path, other: Path) -> bool:
    """Did both change names? Not on a file system that cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(one), os.fsencode(other)
    return rename is not None and not rename(
        _CURRENT_FOLDER, names[0], _CURRENT_FOLDER, names[1], _EXCHANGE
    )


def list_named(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of words as `A,B`; `UsageError` for one that is none."""
    found = []
    for name in names:
        one, comma, other = name.partition(",")
        if not comma or not one or not other or one == other:
            raise UsageError(f"--pair {name} is not of the form RUN,RUN")
        found.append((one, other))
    return tuple(found)
