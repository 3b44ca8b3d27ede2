"""The controls of a whole trial, on the null engine: what each does where, and what is recorded."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import ClassVar

import fake_sysfs
import pytest
from fake_engine import register_engine
from stub_programs import stub

from dyno import driver
from dyno.builds import Build
from dyno.engines import NO_CONDITIONS, Server, StartConditions, null
from dyno.errors import UsageError
from dyno.host.controls import NOT_HERE, ControlTarget, allocator, load_controls
from dyno.instruments.time.controls import NO_COPY
from dyno.instruments.time.run import play_once
from dyno.record import ControlCondition, Trial
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.design import make_control_target
from dyno.runs.resolve.experiment import draft_run

SHORT = {"time": "0.2", "warmup_time": "0", "table_size": "10"}


def _played(*words: str, spec: str = "null@10us", status: str = "ok") -> tuple[Trial, list[str]]:
    """A trial under these controls (`NAME=VALUE`), and what was said before it."""
    measuring = Measuring(controls=dict(word.split("=") for word in words))
    said: list[str] = []
    prepared = draft_run(
        compare_candidates([spec], "oltp_point_select", SHORT, measuring), said.append
    )
    trial = play_once(prepared, lambda _: None)
    assert trial.status == status, trial.failure
    return trial, said


def test_a_trial_has_every_control_among_its_conditions(knobs: Path) -> None:
    before = fake_sysfs.read_all(knobs)
    trial, said = _played("thp=never", "governor=performance")
    found = trial.conditions.controls
    assert found.keys() == load_controls().keys()
    assert found["thp"] == ControlCondition("never", before="madvise", set="never")
    assert found["swap"].value == "keep" and not found["swap"].set
    assert all(each.before for each in found.values())
    assert (said, fake_sysfs.read_all(knobs)) == ([], before)


def test_what_cannot_be_held_is_said_before_and_recorded_after(knobs: Path) -> None:
    trial, said = _played("numa=interleave", "preload=on", "adaptive_hash_index=off")
    assert len(said) == 3 and all(line.startswith(NOT_HERE) for line in said)
    for name in ("numa", "preload", "adaptive_hash_index"):
        found = trial.conditions.controls[name]
        assert found.refused and not found.refused.startswith(NOT_HERE)
        assert not found.set


def test_a_control_of_a_copy_rests_where_the_data_are_loaded_anew(knobs: Path) -> None:
    trial, _ = _played("page_cache=drop")
    found = trial.conditions.controls["page_cache"]
    assert (found.refused, found.set) == (NO_COPY, "")


def test_the_engine_s_process_is_looked_at_once_it_runs(
    knobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some other library stands for an allocator: whether it is one, nobody looks."""
    library = allocator.find_library("jemalloc") or _some_library()
    listed = "echo 'libjemalloc.so.2 (libc6,x86-64) => {}'"
    stub(tmp_path / "bin", "ldconfig", listed.format(library))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    trial, _ = _played("allocator=jemalloc", "thp=off", "niceness=3")
    found = trial.conditions.controls
    assert found["allocator"].details["in_process"] == "loaded"
    assert found["thp"].details["in_process"] == "not reported by this kernel"  # no such file
    assert found["niceness"].set == "3"
    (tmp_path / "no_library.so").write_text("nothing that a loader takes")
    stub(tmp_path / "bin", "ldconfig", listed.format(tmp_path / "no_library.so"))
    trial, _ = _played("allocator=jemalloc")
    missed = trial.conditions.controls["allocator"]
    assert missed.refused.startswith("the loader did not take") and not missed.set


def _some_library() -> str:
    """A library that the driver is not linked with."""
    found = dict(allocator._list_libraries())
    return next(
        found[name] for name in ("libz.so.1", "librt.so.1", "libutil.so.1") if name in found
    )


def test_a_process_of_its_own_keeps_from_huge_pages() -> None:
    """On the real kernel: the prefix is run, and the child's own status is read."""
    trial, _ = _played("thp=off")
    told = trial.conditions.controls["thp"].details["in_process"]
    assert told in ("disabled", "not reported by this kernel")


def test_a_value_that_another_run_holds_is_shared_and_another_refused(knobs: Path) -> None:
    with load_controls()["swap"].hold("10", ControlTarget(embedded=False)):
        trial, _ = _played("swap=10")
        assert trial.conditions.controls["swap"].set == "10"
        refused, _ = _played("swap=20", status="failed")
    assert "a run under way holds it at 10" in str(refused.failure)


class Knobbed(null.Engine):
    """The null engine with a setting that a control names, and a cache that can be filled."""

    options: ClassVar[dict[str, tuple[str, str]]] = {"ahi": ("ON", "a hash index")}
    knobs: ClassVar[dict[str, dict[str, dict[str, str]]]] = {
        "adaptive_hash_index": {"on": {"ahi": "ON"}, "off": {"ahi": "OFF"}}
    }
    filled: ClassVar[list[str]] = []
    asked: ClassVar[list[dict[str, str]]] = []

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        self.asked.append(settings)
        return super().start(build, home, {})

    def preload(self, server: Server) -> dict[str, str]:
        self.filled.append(server.session["kind"])
        return {"read": "3 tables, 4 indexes"}


@pytest.fixture
def knobbed(monkeypatch: pytest.MonkeyPatch) -> type[Knobbed]:
    register_engine(monkeypatch, "null", Knobbed)
    Knobbed.filled.clear()
    Knobbed.asked.clear()
    return Knobbed


def test_an_engine_s_own_knobs_are_set_and_its_cache_filled(knobbed: type[Knobbed]) -> None:
    trial, said = _played("preload=on", "adaptive_hash_index=off")
    assert said == []
    found = trial.conditions.controls
    assert found["adaptive_hash_index"].set == "off"
    assert found["preload"].details["read"] == "3 tables, 4 indexes"
    assert knobbed.asked == [{"ahi": "OFF"}]
    assert [phase.phase for phase in trial.phases] == ["prepare", "run"]
    assert knobbed.filled == ["null"]  # before the run, and not before the load


def test_a_control_and_a_setting_that_are_one_thing_may_not_differ(knobbed: type[Knobbed]) -> None:
    with pytest.raises(UsageError, match="has both adaptive_hash_index=off and ahi"):
        _played("adaptive_hash_index=off", spec="null@1us?ahi=ON")
    assert _played("adaptive_hash_index=off", spec="null@1us?ahi=off")[0].status == "ok"


def test_a_server_that_runs_already_is_recorded_as_not_held(tmp_path: Path) -> None:
    engine = null.Engine(driver.ask)
    build = dataclasses.replace(engine.program("0", {}, lambda _: None), attached=True)
    subject = make_control_target(engine, build, tmp_path)
    assert subject.attached
    for name in ("aslr", "pinning"):
        assert load_controls()[name].find_refusal(load_controls()[name].default, subject)
