"""Runs of `dyno differ`, made up; and sides that play scripts with a fault."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno.instruments.differ.grammar import join_sides
from dyno.instruments.differ.play import (
    DifferPlan,
    DifferPlayer,
    make_differ_folder,
    make_differ_run,
    read_specs,
)
from dyno.instruments.differ.sides import EngineSide, PlayedScript, hold_pair, resolve_sides
from dyno.record import Candidate
from dyno.record.decode import encode
from dyno.record.differ import DifferCounts, DifferRun, ExplainedChange, FoundDifference


def make_run() -> DifferRun:
    """One difference that nothing explains, and one that a release note does."""
    sides = tuple(
        Candidate(name, name, "sqlite", True, {"version": name.partition("@")[2]}, {}, {})
        for name in ("sqlite@3.24.0", "sqlite@3.54.1")
    )
    script = ("CREATE TABLE t1 (id INTEGER)", "SELECT count(*) AS c1 FROM t1")
    find = FoundDifference(
        number=3,
        kind="rows differ",
        why="0 and 1 rows",
        script=script,
        ours=(),
        theirs=("'1'",),
        signature="rows differ: count",
        statements=40,
        trials=80,
    )
    known = FoundDifference(
        number=4,
        kind="values differ",
        why="1 row differs",
        script=script,
        ours=("'1.5'",),
        theirs=("'1.50'",),
        signature="values differ: count",
        explained=ExplainedChange("floats are written otherwise", "the release notes", "3.53"),
    )
    return DifferRun(
        name="sqlite@3.24.0 vs sqlite@3.54.1",
        created_utc="2026-01-13T00:00:00+00:00",
        command="dyno differ sqlite@3.24.0 sqlite@3.54.1",
        seed=1,
        for_s=600.0,
        sides=sides,
        scripts=12,
        played_s=600.0,
        counts=DifferCounts(same=500, differs=2),
        finds=(find, known),
    )


def write_differ_run(home: Path) -> Path:
    """A search that found a difference."""
    folder = home / "20260113T000000Z-differ"
    folder.mkdir(parents=True)
    (folder / "differ.json").write_text(json.dumps(encode(make_run())))
    return folder


@dataclass
class FaultySide:
    """An engine that is sent other statements than it is asked."""

    engine: EngineSide
    pattern: str
    instead: str

    @property
    def kind(self) -> str:
        return self.engine.kind

    @property
    def engine_name(self) -> str:
        return self.engine.engine_name

    def start(self) -> None:
        self.engine.start()

    def stop(self) -> None:
        self.engine.stop()

    def play(self, statements: Sequence[str]) -> PlayedScript:
        return self.engine.play([re.sub(self.pattern, self.instead, it) for it in statements])


class CrashingSide(FaultySide):
    """An engine that is gone when it is asked what matches the pattern; `instead` is how."""

    def play(self, statements: Sequence[str]) -> PlayedScript:
        end = next((at for at, it in enumerate(statements) if re.search(self.pattern, it)), None)
        played = self.engine.play(statements if end is None else statements[:end])
        if end is None:
            return played
        words = f"the server died of {self.pattern}"
        return PlayedScript(played.answers, "hang" if self.instead == "hang" else "crash", words)


#: Scripts that may be played until a fault is found.
SCRIPTS = 250


def make_both_sides(spec: str, folder: Path) -> list[EngineSide]:
    """A build beside itself, with homes below the folder."""
    (folder / "homes").mkdir()
    plan = DifferPlan([spec], 600.0, is_aa=True)
    return resolve_sides(read_specs(plan), folder / "homes", print)


def search(
    engines: list[EngineSide],
    other: FaultySide | EngineSide,
    folder: Path,
    scripts: int = SCRIPTS,
) -> list[FoundDifference]:
    """What a run until the first difference finds."""
    run = make_differ_run(DifferPlan([], 600.0, 7, scripts, 1), engines)
    path = make_differ_folder(folder, run)
    dialect = join_sides(engines[0].dialect, engines[1].dialect)
    with hold_pair(engines[0], other) as pair:
        made = DifferPlayer(run, pair, dialect, [], path, lambda _: None).play()
    assert made.counts.unsteady == 0
    return made.open_finds
