"""The runs below a folder, of each kind, and what a list tells of each (`record/run_summary.py`).

Links are not followed: what is listed lies in the folder of runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno import scratch
from dyno.errors import describe_damage
from dyno.record import Candidate, Comparison, Run, RunSummary
from dyno.record.build_facts import find_commit
from dyno.record.run_summary import BuildOutcome
from dyno.record.verdict import Verdict, find_overall
from dyno.runs.run_folder import SERVER_PROFILES, Instrument, RunFolder, load_instruments

#: How deep below a folder a run may lie.
DEPTH_MAX = 4
#: So much of a commit's hash names a build in a list.
BUILD_HASH = 8
#: What is said of a run whose trials nothing has judged yet.
NOT_JUDGED = "not judged since its last trial; its report does that"


@dataclass(frozen=True)
class RunPlace:
    """Where a run lies: its folder, of a profile its file."""

    kind: str
    path: Path

    @property
    def instrument(self) -> Instrument:
        """What it was measured with."""
        return load_instruments()[self.kind]

    @property
    def name(self) -> str:
        """That of the folder, of a file without its ending."""
        return self.path.stem if self.instrument.is_file else self.path.name

    def find_changed_ns(self) -> int:
        """Return when anything that its summary is made of was last written."""
        return max(_find_changed_ns(self.path / name) for name in self.instrument.changing)


def _find_changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def list_run_places(home: Path) -> list[RunPlace]:
    """The runs in or below `home`, by name; none of those that lie behind links."""
    return sorted(_walk_places(home, 0), key=lambda place: place.name)


def has_run(home: Path) -> bool:
    """Return whether a run of any kind lies in or below `home`."""
    return next(_walk_places(home, 0), None) is not None


def _walk_places(folder: Path, depth: int) -> Iterator[RunPlace]:
    try:
        entries = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError:
        return
    files = {each.name for each in entries if each.is_file(follow_symlinks=False)}
    known = load_instruments().values()
    if own := next((each.name for each in known if each.record in files), ""):
        yield RunPlace(own, folder)
        return
    if scratch.OURS.fullmatch(folder.name):  # staged, and not whole yet
        return
    names = {each.name for each in entries}
    if own := next((each.name for each in known if each.begun in names), ""):
        with suppress(OSError):
            if RunFolder(folder).is_played():  # one that was killed has nothing to tell
                yield RunPlace(own, folder)
        return
    if folder.name == SERVER_PROFILES:
        own = next(each.name for each in known if each.is_file)
        yield from (RunPlace(own, folder / n) for n in files if n.endswith(".json"))
        return
    for each in entries:
        if depth < DEPTH_MAX and each.is_dir(follow_symlinks=False) and each.name[0] != ".":
            yield from _walk_places(folder / each.name, depth + 1)


def summarize_run(place: RunPlace) -> RunSummary:
    """What a list tells of a run; one that cannot be read says why, and nothing is raised."""
    plain = RunSummary(place.name, str(place.path), place.kind)
    try:
        return place.instrument.summarize(plain, place.path)
    except Exception as error:  # whatever one record holds, the others are listed
        return replace(plain, damage=describe_damage(error))


def is_judged(path: Path) -> bool:
    """Return whether the verdict in a run's folder is newer than its trials."""
    judged = _find_changed_ns(path / "verdict.json")
    return judged > 0 and judged >= _find_changed_ns(path / "trials")


def take_run(plain: RunSummary, run: Run) -> RunSummary:
    """The summary with what a run says beforehand."""
    made = replace(
        plain,
        created_utc=run.created_utc,
        question=run.question,
        candidates=tuple(side.label for side in run.candidates),
        workloads=tuple(each.name for each in run.workloads),
        engines=tuple(dict.fromkeys(side.engine for side in run.candidates)),
    )
    return add_host(made, run.host)


def list_outcomes(
    sides: Sequence[Candidate], rows: Sequence[Comparison], measured: str = ""
) -> tuple[BuildOutcome, ...]:
    """What primary rows say of each build; `measured` stands behind the workload's name where it is
    not time.
    """
    by_name = {side.name: side for side in sides}
    own: dict[tuple[str, str], list[Comparison]] = {}
    for row in rows:
        if row.primary and row.candidate in by_name and len(row.levels) < 2:
            own.setdefault((row.metric.workload, row.candidate), []).append(row)
    return tuple(
        BuildOutcome(
            workload=f"{workload}{measured and f', {measured}'}",
            engine=by_name[name].engine,
            build=_name_build(by_name[name]),
            base=found[0].base,
            metric=found[0].metric,
            verdict=find_overall(found),
            is_doubtful=any(row.is_doubtful for row in found),
            version=by_name[name].build.get("version", ""),
            subject=by_name[name].build.get("subject", ""),
            committed=by_name[name].build.get("committed", ""),
        )
        for (workload, name), found in own.items()
    )


def _name_build(side: Candidate) -> str:
    """`1a2b3c4d`, or `3.54.1, journal_mode=wal`."""
    chosen = {**side.settings, **side.controls, **side.options}
    version = find_commit(side.build)[:BUILD_HASH] or side.build.get("version", "") or side.name
    return ", ".join((version, *(f"{key}={value}" for key, value in chosen.items())))


def add_verdict(made: RunSummary, verdict: Verdict, path: Path) -> RunSummary:
    """The summary with the verdict on what there is of a run, which may be played just now."""
    return replace(
        made,
        overall=verdict.overall,
        sentence=verdict.sentence,
        complete=verdict.complete,
        is_doubtful=bool(verdict.doubts),
        is_playing=not verdict.complete and RunFolder(path).is_played(),
    )


def add_host(made: RunSummary, host: Mapping[str, str]) -> RunSummary:
    """The summary with the host and the group that a record names."""
    return replace(made, host=host.get("id", ""), group=host.get("group", ""))
