"""A server that runs already: scripts load only where nothing is, and drop what they made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from fakes import make_candidate, make_trial, make_workload
from msgspec import structs

from dyno.builds import Build
from dyno.engines import Engine
from dyno.errors import UsageError
from dyno.instruments.time.job import TrialJob
from dyno.instruments.time.leftovers import LoadedTables, drop_leftovers, is_prepared
from dyno.record import PhaseRecord
from dyno.runs.resolve.preconditions import check_no_tables
from dyno.runs.run_folder import RunFolder


class Theirs:
    """A database with these tables in it, of a server that runs already."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)

    def list_tables(self, build: Build) -> list[str]:
        return sorted(self.names)

    def drop(self, build: Build, tables: Sequence[str]) -> None:
        self.names -= set(tables)


def build(attached: bool = True) -> Build:
    return Build("any", "//joe@h/d", "1", Path("/dev/null"), attached=attached)


def side(*names: str, attached: bool = True) -> tuple[Engine, Build]:
    return cast(Engine, Theirs(*names)), build(attached)


def test_nothing_is_loaded_beside_somebodys_tables() -> None:
    loading, reading = (
        structs.replace(make_workload(), commands=commands)
        for commands in (("prepare", "run"), ("run",))
    )
    with pytest.raises(UsageError, match=r"//joe@h/d is not empty: .*, and theirs is there"):
        check_no_tables([side(), side("theirs")], [reading, loading])
    check_no_tables([side("theirs")], [reading])
    check_no_tables([side(), side("theirs", attached=False)], [loading])


def phase(name: str, failed: int = 0, interrupted: bool = False) -> PhaseRecord:
    (played,) = make_trial(1, "old", 0, 100.0).phases
    stream = played.streams[0]
    tally = structs.replace(stream, failed=failed, intended=stream.intended + failed)
    return structs.replace(played, phase=name, interrupted=interrupted, streams=(tally,))


def test_what_a_script_made_is_known_by_the_end_of_its_load() -> None:
    assert is_prepared([phase("prepare"), phase("run", failed=1)])
    assert not is_prepared([phase("run")]) and not is_prepared([])
    assert not is_prepared([phase("prepare", failed=1)])
    assert not is_prepared([phase("prepare", interrupted=True)])


def loaded(theirs: Theirs, folder: RunFolder) -> LoadedTables:
    """What trial 7 of a candidate `old` lists of its tables there."""
    engine, trial = cast(Engine, theirs), make_trial(7, "old", 0, 100.0)
    job = TrialJob(
        number=trial.number,
        block=0,
        attempt=1,
        order=0,
        seed=1,
        workload=make_workload(),
        candidate=make_candidate("old"),
        engine=engine,
        build=build(),
        controls={},
        home=folder.path,
        log=folder.log(7),
        loaded=folder.find_loaded_list(7),
    )
    return LoadedTables(job)


def test_what_appeared_during_the_load_is_listed_until_it_is_cleaned_up(tmp_path: Path) -> None:
    theirs = Theirs("before")
    list_of = loaded(theirs, RunFolder(tmp_path))
    list_of.begin()
    theirs.names |= {"two", "one"}
    list_of.note_tables()
    kept = json.loads((tmp_path / "loaded" / "0007.json").read_text())
    assert kept == {"candidate": "old", "tables": ["one", "two"]}
    list_of.drop()
    assert not [*tmp_path.rglob("*.json")] and theirs.names == {"before"}


def test_what_a_script_has_left_of_its_tables_is_dropped_and_nothing_else(tmp_path: Path) -> None:
    theirs = Theirs()
    list_of = loaded(theirs, RunFolder(tmp_path))
    list_of.drop()  # before anything was loaded
    list_of.begin()
    theirs.names |= {"one", "two"}
    list_of.note_tables()
    list_of.note_tables()  # as after a load that failed
    theirs.names = {"two", "made_since"}
    list_of.drop()
    assert theirs.names == {"made_since"}


def test_a_torn_run_drops_what_it_listed_and_nothing_else(tmp_path: Path) -> None:
    theirs, said = Theirs(), list[str]()
    list_of = loaded(theirs, RunFolder(tmp_path))
    list_of.begin()
    theirs.names |= {"one", "two"}
    list_of.note_tables()
    theirs.names = {"two", "made_since"}
    engines, builds = {"old": cast(Engine, theirs)}, {"old": build()}
    drop_leftovers(RunFolder(tmp_path), engines, builds, said.append)
    assert said == ["dropping two, which a killed run loaded at //joe@h/d"]
    assert theirs.names == {"made_since"} and not [*tmp_path.rglob("*.json")]
    drop_leftovers(RunFolder(tmp_path), engines, builds, said.append)
    assert len(said) == 1
