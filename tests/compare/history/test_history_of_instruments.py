"""Capacities and disks in a history: series of rates at a limit, of operations and latencies."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import fsspec
import pytest
from disk_runs import READ, make_side
from disk_runs import make_run as make_disk_run
from made_rates import make_blocks, make_plan
from mixed_runs import write_home
from msgspec.structs import replace
from nightly_runs import make_build

from dyno.cli import run_words
from dyno.instruments.capacity.folder import create_folder
from dyno.runs.run_folder import POINTS, write_json


def write_capacities(runs: Path, day: int, rates: Mapping[str, Sequence[float]]) -> Path:
    """A capacity run of that day: each version's rate in each restart."""
    plan = make_plan(list(rates), blocks=len(next(iter(rates.values()))))
    sides = tuple(replace(make_build(version), name=version) for version in rates)
    run = replace(plan.run, candidates=sides, created_utc=f"2026-01-{day:02}T00:00:00Z")
    folder = create_folder(replace(plan, run=run), runs)
    for block in make_blocks(rates):
        folder.write_block(block)
    return folder.path


def write_nights(runs: Path, levels: Sequence[float]) -> None:
    """A capacity a night, of a new build each."""
    for day, level in enumerate(levels, 1):
        near = 1.0 + 0.001 * (day % 3)
        write_capacities(runs, day, {f"1.{day}": [level * near, level * 1.01, level * 0.99]})


def write_disk(runs: Path, day: int, rate: float) -> Path:
    """A run of one path on that day."""
    made = make_disk_run([make_side()], rate=lambda _, block: rate + block)
    folder = runs / f"202601{day:02}T000000Z-disk"
    folder.mkdir(parents=True)
    write_json(folder / "disk.json", replace(made, created_utc=f"2026-01-{day:02}T00:00:00Z"))
    return folder


def read_series(runs: Path, *words: str) -> list[dict[str, object]]:
    file = runs.parent / "history.json"
    assert run_words(["history", str(runs), "--json", str(file), *words]) == 0
    found: list[dict[str, object]] = json.loads(file.read_text())["series"]
    return found


def test_a_capacity_that_fell_is_flagged_and_a_fresh_capacity_of_both_builds_confirms_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    write_nights(runs, [1000.0] * 10 + [800.0] * 10)
    assert run_words(["history", str(runs), "--gate"]) == 2
    said = capsys.readouterr().out
    assert "w / run / p99<10ms capacity" in said and "1 flagged change in 1 series" in said
    assert "capacity −20.0 %, 99 % interval [−20." in said
    told = "dyno capacity null@1.10 null@1.11 -w w.lua --slo 'p99<10ms' --step 3s"
    assert f"to confirm or reject: {told}" in said
    rates = {"1.10": [1000.0, 1004.0, 996.0, 1001.0], "1.11": [800.0, 803.0, 797.0, 801.0]}
    fresh = write_capacities(runs, 28, rates)
    assert run_words(["history", str(runs), "--gate"]) == 1
    said = capsys.readouterr().out
    assert "verdict: less capacity" in said and f"by the fresh comparison in {fresh.name}" in said
    (series,) = read_series(runs)
    assert (series["points"][-1]["value"], series["metric"]["unit"]) == (  # type: ignore[index]
        pytest.approx(800.0, rel=0.02),
        "events/s",
    )


def test_a_run_keeps_its_points_whatever_it_was_measured_with(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    capacity, disk = write_capacities(runs, 1, {"1.0": [9.0, 9.1, 9.2]}), write_disk(runs, 2, 9e3)
    for file in runs.rglob("*"):
        os.utime(file, (1.0, 1.0))
    first = read_series(runs)
    assert first == read_series(runs) == read_series(runs, "--reread")
    assert (capacity / POINTS).is_file() and (disk / POINTS).is_file()


def test_a_disk_that_got_slower_is_flagged_by_operations_and_latency_and_no_build_is_accused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    for day in range(1, 13):
        write_disk(runs, day, 10_000.0 + 3 * day - 3000.0 * (day > 7))
    rate, latency = sorted(read_series(runs), key=lambda it: str(it["metric"]), reverse=True)
    said = capsys.readouterr().out
    assert "2 flagged changes in 2 series" in said
    assert f"{READ.name} / rate, disk, path=/data" in said
    assert "nothing but time lies between both levels" in said
    assert {rate["metric"]["name"], latency["metric"]["name"]} == {  # type: ignore[index]
        "rate_per_s",
        "latency_ns_p99",
    }


def test_runs_of_every_kind_in_a_bucket_tell_what_those_of_a_folder_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    home, url = write_home(tmp_path / "runs"), "memory://bucket/kinds"
    counts = home / "20260103T000000Z-null@100us-vs-null@120us-vs-null@101us" / "counts"
    shutil.copytree(home / "20260110T000000Z-count", counts / "01-select")
    files = fsspec.filesystem("memory")
    files.put(f"{home}/", url, recursive=True)
    said = []
    for place in (str(home), url, url):
        assert run_words(["history", place]) == 0
        said.append(capsys.readouterr().out)
    files.rm("/bucket", recursive=True)
    assert said[0] == said[1] == said[2]
    assert "1 step in 1 series of instruction counts" in said[0] and "left out" not in said[0]


def test_what_no_rate_holds_is_left_out_by_name_and_is_no_low_point(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    write_capacities(runs, 1, {"1.0": [1000.0, 0.0, 1000.0], "1.1": [900.0, 900.0, 900.0]})
    file = tmp_path / "history.json"
    assert run_words(["history", str(runs), "--json", str(file)]) == 0
    told = json.loads(file.read_text())
    assert [it["candidate"] for it in told["series"][0]["points"]] == ["null@1.1"]
    assert "1.0 holds p99<10ms at no rate" in told["left_out"][0]["why"]


def test_a_profile_of_a_server_has_no_history_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server-profiles").mkdir()
    (tmp_path / "server-profiles" / "20260101-000000.json").write_text("{}")
    assert run_words(["history", str(tmp_path)]) == 64
    assert "a profile of a server has no history" in capsys.readouterr().err
