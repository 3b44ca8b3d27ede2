"""A run on disk: what is written is read back whole, once, and never torn."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from fakes import make_run, make_trial, make_trials
from msgspec import structs

from dyno.cli import run_words
from dyno.errors import HostError, UsageError
from dyno.judge.analysis.judge import judge
from dyno.record import SCHEMA, name_echo
from dyno.runs.run_folder import LARGEST_BYTES, RunFolder, create_run, list_runs, open_run


@pytest.fixture
def kept(tmp_path: Path) -> RunFolder:
    return create_run(make_run(), tmp_path / "runs")


def test_a_run_and_its_trials_come_back_as_they_went(kept: RunFolder) -> None:
    trials = [make_trial(n, name, 0, 100.0) for n, name in ((1, "old"), (2, "new"))]
    for trial in reversed(trials):
        kept.write_trial(trial)
    assert kept.read_run() == make_run()
    assert kept.read_trials() == trials
    assert not [p for p in kept.path.rglob("*") if p.name.startswith(".")]


def test_folders_are_named_by_time_and_name_and_never_shared(tmp_path: Path) -> None:
    first, second = (create_run(make_run(), tmp_path) for _ in range(2))
    assert first.path.name == "20260101T000000Z-fake"
    assert second.path.name == "20260101T000000Z-fake-2"
    assert list_runs(tmp_path) == [first, second]
    assert open_run(Path(first.path.name), tmp_path) == first
    with pytest.raises(UsageError, match="did you mean 20260101T000000Z-fake"):
        open_run(Path("20260101T000000Z-fak"), tmp_path)
    with pytest.raises(UsageError, match="no run in"):
        open_run(tmp_path, tmp_path)


def test_a_trial_is_never_written_twice(kept: RunFolder) -> None:
    kept.write_trial(make_trial(1, "old", 0, 100.0))
    with pytest.raises(UsageError, match="already exists"):
        kept.write_trial(make_trial(1, "old", 0, 200.0))


def changed(kept: RunFolder, **fields: object) -> None:
    file = kept.path / "run.json"
    data = json.loads(file.read_text()) | fields
    file.write_text(json.dumps({k: v for k, v in data.items() if v is not None}))


def test_an_older_run_without_the_newest_fields_is_still_read(kept: RunFolder) -> None:
    changed(kept, published=None, dyno=None)
    assert kept.read_run() == make_run()


@pytest.mark.parametrize("schema", [1, 2])
def test_a_run_from_before_the_first_release_is_refused_by_its_schema(
    schema: int, kept: RunFolder
) -> None:
    changed(kept, schema=schema)
    with pytest.raises(UsageError, match=f"run.json is of schema {schema}, from before") as caught:
        kept.read_run()
    assert "play the experiment anew" in caught.value.hint


DAMAGES: dict[str, dict[str, object]] = {
    "conditions that are a list": {"conditions": ["aslr"]},
    "a condition that is a word": {"conditions": {"controls": {"aslr": "on"}}},
    "a failure that is a number": {"failure": 7},
    "phases that are a number": {"phases": 7},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_trial_is_one_sentence(
    damage: dict[str, object], kept: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.write_trial(make_trial(1, "old", 0, 100.0))
    file = kept.path / "trials" / "0001.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | damage))
    with pytest.raises(UsageError, match=f"{file} is damaged") as caught:
        kept.read_trials()
    assert caught.value.cause and "move it away" in caught.value.hint
    assert run_words(["show", str(kept.path)]) == 64
    said = capsys.readouterr().err
    assert f"{file} is damaged" in said and "Traceback" not in said


def test_what_a_record_does_not_tell_was_not_checked_and_is_not_called_sound() -> None:
    findings = judge(make_run(), make_trials({"new": [0.05] * 6})).findings
    words = {f.audit: f.soundness for f in reversed(findings)}
    untold = ("build_quality", "driver_late")
    assert {name: words[name] for name in untold} == dict.fromkeys(untold, "not checked")


def test_a_newer_run_is_refused_with_what_to_do(kept: RunFolder) -> None:
    changed(kept, schema=SCHEMA + 1, invention="x")
    with pytest.raises(UsageError, match=r"from a newer dyno(.|\n)*hint: use the dyno"):
        kept.read_run()


def test_a_damaged_file_is_named_with_the_place(kept: RunFolder) -> None:
    changed(kept, seed="one")
    with pytest.raises(UsageError, match=r"run.json is damaged: Run.seed: expected `int`"):
        kept.read_run()
    (kept.path / "run.json").write_text("{")
    with pytest.raises(UsageError, match=r"run.json is damaged: it is not JSON, expecting"):
        kept.read_run()


def test_a_file_that_is_nested_too_deeply_is_named(kept: RunFolder) -> None:
    (kept.path / "run.json").write_text("[" * 100_000)
    with pytest.raises(UsageError, match=r"run.json is damaged: it is nested too deeply"):
        kept.read_run()
    (kept.path / "trials" / "0001.json").write_text('{"a":' * 100_000)
    with pytest.raises(UsageError, match=r"0001.json is damaged: it is nested too deeply"):
        kept.read_trials()


def test_a_damaged_trial_is_answered_with_the_way_out(kept: RunFolder) -> None:
    (kept.path / "trials" / "0001.json").write_text('{"x":')
    with pytest.raises(UsageError, match=r"0001.json is damaged(.|\n)*hint: move it away"):
        kept.read_trials()


def test_a_full_disk_loses_nothing_that_was_written(
    kept: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.write_trial(make_trial(1, "old", 0, 100.0))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HostError, match=r"left on device \([\d.]+ MB free in /(.|\n)*is kept"):
        kept.write_trial(make_trial(2, "new", 0, 100.0))
    assert [trial.number for trial in kept.read_trials()] == [1]
    assert [p.name for p in (kept.path / "trials").iterdir()] == ["0001.json"]


def test_homes_lie_with_the_run_or_where_the_user_says(
    kept: RunFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert kept.find_homes().is_relative_to(kept.path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert kept.find_homes().parent == Path("/var/tmp")
    assert kept.find_homes().name.startswith(f"dyno-{kept.path.name}-")
    monkeypatch.setenv("DYNO_TMP", str(tmp_path / "fast"))
    assert kept.find_homes().parent == tmp_path / "fast"
    monkeypatch.chdir(kept.path.parent)
    assert RunFolder(Path(kept.path.name)).find_homes() == kept.find_homes()
    assert RunFolder(tmp_path / "elsewhere" / kept.path.name).find_homes() != kept.find_homes()


def test_a_run_is_played_by_one_dyno_at_a_time(kept: RunFolder) -> None:
    with kept.hold_alone():
        assert kept.is_played()
        with pytest.raises(UsageError, match="another dyno plays 2026"), kept.hold_alone():
            pass
    assert not kept.is_played()


def test_a_field_that_a_newer_dyno_added_is_no_damage(kept: RunFolder) -> None:
    file = kept.path / "run.json"
    data = json.loads(file.read_text())
    file.write_text(json.dumps(data | {"added_later": 1}))
    with pytest.raises(
        UsageError, match=r"made by a newer dyno: Run: object contains unknown field `added_later`"
    ):
        kept.read_run()


@pytest.mark.timeout(20)
def test_what_is_no_file_of_a_run_is_refused_and_not_read(tmp_path: Path) -> None:
    folder = create_run(make_run(), tmp_path)
    pipe, large = folder.path / "trials" / "0001.json", folder.path / "verdict.json"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="is not a plain file"):
        folder.read_trials()
    with large.open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    with pytest.raises(UsageError, match="too large"):
        folder.read_verdict()


def test_a_trial_of_another_run_is_named(tmp_path: Path) -> None:
    run = make_run()
    folder = create_run(run, tmp_path)
    own = make_trial(1, run.candidates[0].name, 0, 100.0, workload=run.workloads[0].name)
    folder.write_trial(own)
    echo = structs.replace(own, number=4, candidate=name_echo(own.candidate), block=-1)
    folder.write_trial(echo)
    assert folder.read_trials() == [own, echo], "an echo of a candidate's is the run's, too"
    others = (
        structs.replace(own, number=2, workload="{{7*7}}"),
        structs.replace(own, number=3, candidate="x"),
    )
    for other in others:
        folder.write_trial(other)
        with pytest.raises(UsageError, match=rf"000{other.number}.json is damaged: .*is not in"):
            folder.read_trials()
        (folder.path / "trials" / f"000{other.number}.json").unlink()
