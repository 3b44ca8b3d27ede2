"""The runs of some folders, each under a key of its own, and what is known of each; read again
where something changed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno.errors import UsageError, build_unknown_error
from dyno.pages.summaries import Known, keep, read_kept
from dyno.pages.waiting import ReadProgress, start_aside, wait_for_promise
from dyno.record import RunSummary
from dyno.runs.run_folder import RunFolder
from dyno.runs.run_summary import RunPlace, has_run, list_run_places, summarize_run

#: How old a listing may be: a second, or so many times what reading one takes.
FRESH_S, FRESH_TIMES = 1.0, 5.0


@dataclass(frozen=True)
class ListedRun:
    """A run of the list: `key` names it in addresses, the folder's name where only one has that."""

    key: str
    place: RunPlace
    summary: RunSummary


class Library:
    """The runs in or below `homes`, newest first."""

    def __init__(self, homes: Sequence[Path]) -> None:
        self.homes = [home.resolve() for home in homes]
        self._lock = threading.Lock()
        self._known: Known | None = None
        self._listed: list[ListedRun] = []
        self._due_s = 0.0
        self._first: Future[list[ListedRun]] | None = None
        self._progress = ReadProgress("What is read is kept for the next time.")

    def begin(self) -> None:
        """Read them for the first time, beside requests."""
        self._first = start_aside(self.list_runs)

    def wait_for_list(self) -> None:
        """Waits for the first list, that of many runs for a moment: `StillReading` then."""
        if self._first is not None:
            wait_for_promise(self._first, self._progress)

    def list_runs(self) -> list[ListedRun]:
        """All of them; a run that is played is asked again whether it still is."""
        with self._lock:
            began_s = time.monotonic()
            if began_s >= self._due_s:
                self._listed = self._read()
                ended_s = time.monotonic()
                self._due_s = ended_s + max(FRESH_S, FRESH_TIMES * (ended_s - began_s))
            return self._listed

    def find(self, key: str) -> ListedRun:
        """The run of that key; `UsageError` where there is none."""
        for run in self.list_runs():
            if run.key == key:
                return run
        raise build_unknown_error("run", key, [run.key for run in self.list_runs()])

    def require_any(self) -> None:
        """`UsageError` where there is no folder, or no run in any."""
        for home in self.homes:
            if not home.is_dir():
                hint = "name a folder with runs in it; `dyno compare` makes one"
                raise UsageError(f"there is no folder {home}", hint=hint)
        if not any(has_run(home) for home in self.homes):
            named = ", ".join(map(str, self.homes))
            raise UsageError(f"there is no run under {named}", hint="`dyno compare` makes one")

    def _read(self) -> list[ListedRun]:
        seen: dict[Path, RunPlace] = {}
        for home in self.homes:
            seen |= {place.path: place for place in list_run_places(home)}
        before = read_kept(self.homes) if self._known is None else self._known
        known = {path: it for path, it in before.items() if path in seen}
        self._known = dict(known)
        runs: dict[str, ListedRun] = {}
        self._progress.total = len(seen)
        for place in seen.values():
            self._progress.read = len(runs)
            key, number = place.name, 1
            while key in runs:
                number += 1
                key = f"{place.name}~{number}"
            runs[key] = ListedRun(key, place, self._summarize(place))
        if self._known != known:
            keep(self.homes, self._known)
        return sorted(
            runs.values(), key=lambda run: (run.summary.created_utc, run.key), reverse=True
        )

    def _summarize(self, place: RunPlace) -> RunSummary:
        changed = place.find_changed_ns()
        assert self._known is not None
        known = self._known.get(place.path)
        if known is None or known[0] != changed:
            made = summarize_run(place)
            self._known[place.path] = changed, made
            return made
        if not known[1].complete and not known[1].damage:
            return replace(known[1], is_playing=is_played(place))
        return known[1]


def is_played(place: RunPlace) -> bool:
    """Does a Dyno play it just now? Not, where its folder is gone."""
    try:
        return RunFolder(place.path).is_played()
    except OSError:
        return False
