"""`dyno history` by the points that runs keep: the same answer as from the records."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nightly_runs import write_nightly_runs, write_run

from dyno.cli import judged_run, run_words
from dyno.compare.history import homes, points
from dyno.record import LeftOutRun
from dyno.runs.run_folder import POINTS, RunFolder

Ask = Callable[..., str]
LEVELS = [0.0] * 8 + [0.1] * 8


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with a step, of an age at which they keep points."""
    runs = tmp_path_factory.mktemp("made") / "runs"
    write_nightly_runs(runs, LEVELS)
    return runs


@pytest.fixture
def runs(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them."""
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    shutil.copytree(made, tmp_path / "runs")
    time.sleep(2 * homes.SETTLED_S)
    return tmp_path / "runs"


@pytest.fixture
def ask(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """What `dyno history` says and writes."""

    def ask_history(*words: str, place: str = "") -> str:
        told = tmp_path / "told.json"
        assert run_words(["history", *words, "--json", str(told), place or str(runs)]) == 0
        out, err = capsys.readouterr()
        assert not err
        return out + told.read_text()

    return ask_history


def spoil(*runs: Path) -> None:
    """A trial of each becomes unreadable in place, which no folder's time tells: whoever reads the
    records says so.
    """
    for run in runs:
        (run / "trials" / "0001.json").write_text("{")


def list_runs(runs: Path) -> list[Path]:
    return sorted(runs.glob("2*"))


def test_kept_points_tell_the_same_and_no_record_is_read(ask: Ask, runs: Path) -> None:
    first = ask()
    assert '"flagged_changes": [\n    {' in first
    kept = [run / POINTS for run in list_runs(runs)]
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}
    before = [file.read_bytes() for file in kept]
    spoil(*list_runs(runs))
    assert ask() == first
    assert [file.read_bytes() for file in kept] == before
    assert '"left_out": []' in first
    assert run_words(["history", str(runs), "--reread"]) == 64, "each is damaged"


def test_points_are_kept_with_the_verdict(ask: Ask, runs: Path) -> None:
    run = list_runs(runs)[0]
    judged_run.derive_files(RunFolder(run))
    assert (run / POINTS).is_file() and not (list_runs(runs)[1] / POINTS).exists()
    spoil(run)
    assert '"left_out": []' in ask()


def test_only_runs_that_are_new_or_changed_are_read(ask: Ask, runs: Path) -> None:
    ask()
    changed, gone, *others = list_runs(runs)
    added = write_run(runs, 17, {"1.17": 0.1})
    (changed / "trials" / "0003.json").unlink()
    shutil.rmtree(gone)
    told = ask()
    assert added.name in told and gone.name not in told
    assert told == ask("--reread")
    spoil(*others)
    assert ask() == told


def test_a_fresh_comparison_is_remembered_and_asked_again_where_its_run_changed(
    ask: Ask, runs: Path
) -> None:
    tried = write_run(runs, 20, {"1.2": 0.0, "1.12": 0.1}, restarts=8)
    time.sleep(2 * homes.SETTLED_S)
    first = ask()
    assert f'"path": "{tried}"' in first and '"verdict": "slower"' in first
    spoil(tried)
    assert ask() == first
    for trial in (tried / "trials").iterdir():
        trial.unlink()
    assert '"verdict": "slower"' not in ask()


def test_a_run_that_changed_a_moment_ago_is_read_again(ask: Ask, runs: Path) -> None:
    run, *_ = list_runs(runs)
    os.utime(run / "trials", (time.time() + 3600,) * 2)
    assert '"left_out": []' in ask()
    spoil(run)
    assert "is damaged" in ask()


def drop_spec(told: dict[str, Any]) -> None:
    del told["points"][0]["spec"]


def change(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda told: told.update(values)


def change_point(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda told: told["points"][0].update(values)


def change_conditions(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda told: told["points"][0]["conditions"].update(values)


SPOILT = (
    change(sources_sha256="another Dyno's"),
    change(stamp="1 2 3"),
    change(losses=[3]),
    change(points={}),
    change(played_bytes="1"),
    change(identity=None),
    change_point(value="1.0"),
    change_point(value=float("nan")),
    change_point(value=1e999),
    change_point(restarts=True),
    change_point(low=[]),
    change_point(build=[[1, 2]]),
    change_point(host="{"),
    change_conditions(engine=None),
    change_conditions(metric={}),
    change_point(beside={"key": ["null"], "value": 1.0}),
    drop_spec,
)


def test_what_is_not_as_dyno_wrote_it_is_passed_over(runs: Path) -> None:
    run = homes.read_home(homes.LocalHome(runs)).runs[0]
    reader, source, whole = points.PointsReader(), run.points[0].source, points.encode_run(run)
    for number, spoil_it in enumerate(SPOILT):
        told = json.loads(whole)
        spoil_it(told)
        content = json.dumps(told).encode()
        assert content != whole and not reader.decode_run(content, source, run.path), number
    for content in (b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000):
        assert not reader.decode_run(content, source, run.path)


def test_a_damaged_file_of_points_is_made_anew(ask: Ask, runs: Path) -> None:
    first, file = ask(), list_runs(runs)[0] / POINTS
    file.write_bytes(b"{")
    assert ask() == first
    assert json.loads(file.read_text())["points"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "large"])
def test_what_is_no_plain_file_is_not_read(ask: Ask, runs: Path, kind: str, tmp_path: Path) -> None:
    file, aside = list_runs(runs)[0] / POINTS, tmp_path / "aside"
    aside.write_text("mine")
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "link":
        file.symlink_to(aside)
    else:
        file.touch()
        os.truncate(file, homes.POINTS_BYTES_MAX + 1)
    assert '"flagged_changes": [\n    {' in ask()
    assert aside.read_text() == "mine"


def test_points_of_a_run_that_cannot_be_written_lie_in_the_cache(
    ask: Ask, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.access

    def access(path: Any, mode: int) -> bool:
        return runs not in Path(path).parents and own(path, mode)

    monkeypatch.setattr(os, "access", access)
    first = ask()
    assert not list(runs.glob(f"*/{POINTS}"))
    kept = {file.name for file in (tmp_path / "cache" / "history").iterdir()}
    assert len(kept - {"analyses.json"}) == len(LEVELS)
    spoil(*list_runs(runs))
    assert ask() == first


@pytest.mark.parametrize("content", [b"[]", b"{", b'{"x": {"changes": 1}}', b"[" * 100_000])
def test_damaged_analyses_are_passed_over(
    ask: Ask, runs: Path, tmp_path: Path, content: bytes
) -> None:
    first, file = ask(), tmp_path / "cache" / "history" / "analyses.json"
    (key, *_) = json.loads(file.read_text())
    file.write_bytes(content.replace(b"x", key.encode()))
    assert ask() == first
    assert key in json.loads(file.read_text())


def test_two_at_once_leave_whole_files(ask: Ask, runs: Path) -> None:
    def read() -> None:
        for _ in range(3):
            homes.read_home(homes.LocalHome(runs), anew=True)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spoil(*list_runs(runs))
    assert '"left_out": []' in ask()
    assert not list(runs.glob("*/.*"))


def test_a_run_that_cannot_be_read_is_told_each_time_and_mends_itself(ask: Ask, runs: Path) -> None:
    trial = next(iter(sorted(runs.glob("2*"))[2].glob("trials/*.json")))
    whole = trial.read_text()
    trial.write_text("{")
    for _ in range(2):
        left = json.loads(ask().partition("\n{\n")[2].join(["{", ""]))["left_out"]
        (one,) = [LeftOutRun(**each) for each in left]
        assert "is damaged" in one.why
    trial.write_text(whole)  # in place: neither its folder nor its name changes
    assert '"left_out": []' in ask()


def test_points_come_back_as_they_were_kept(runs: Path) -> None:
    write_run(runs, 20, {"1.2": 0.0, "1.12": 0.1}, restarts=8)
    read = homes.read_home(homes.LocalHome(runs), anew=True).runs
    reader = points.PointsReader()
    for run in read:
        source = run.points[0].source
        assert reader.decode_run(points.encode_run(run), source, run.path) == run
        moved = points.RunSource("s3://x/y", "y", run.sizes)
        assert reader.decode_run(points.encode_run(run), moved, run.path)
