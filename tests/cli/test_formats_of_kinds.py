"""Every kind of run by every format: told, or refused by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from crash_runs import write_crash_run
from made_old_runs import draw_counts
from mixed_runs import STEADY, write_capacity, write_comparison, write_count, write_disks
from mixed_runs import write_profile as write_server_profile
from program_runs import write_program_run
from rehearsed import make_book
from scale_runs import write_scale_run

from dyno.cli import run_words
from dyno.cli.options import FORMATS
from dyno.errors import UsageError
from dyno.report.export import build_result
from dyno.report.formats import write_format
from dyno.runs.run_folder import write_json
from dyno.runs.run_summary import list_run_places


def write_time(home: Path) -> Path:
    return write_comparison(home, {"null@120us": [0.2 + each for each in STEADY]})


KINDS: dict[str, tuple[Callable[[Path], Path], set[str]]] = {
    "time": (write_time, set(FORMATS)),
    "count": (write_count, {*FORMATS} - {"hyperfine"}),
    "capacity": (write_capacity, set(FORMATS)),
    "disk": (write_disks, set(FORMATS)),
    "program": (write_program_run, set(FORMATS)),
    "crash": (write_crash_run, {"markdown", "github", "parquet"}),
    "scale": (write_scale_run, {"markdown", "github", "parquet"}),
    "server": (write_server_profile, {"markdown"}),
}
OF_REHEARSALS = {"markdown", "github", "junit", "parquet"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.mark.parametrize("kind", KINDS)
def test_report_writes_a_format_of_any_run_or_refuses_it_by_name(
    kind: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write, told = KINDS[kind]
    run = str(write(home))
    for name in FORMATS:
        file = home / name
        code = run_words(["report", run, "--format", f"{name}={file}"])
        said = capsys.readouterr().err
        if name in told:
            assert code == 0 and file.stat().st_size > 0, f"{name}: {said}"
        else:
            assert code == 64 and not file.exists()
            assert f"--format {name} does not apply to a " in said
            assert "it tells " in said and "hint: --format " in said


@pytest.mark.parametrize("kind", KINDS)
def test_a_format_without_a_file_is_all_that_report_prints(
    kind: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(KINDS[kind][0](home))
    assert run_words(["report", run, "--format", "markdown"]) == 0
    (place,) = list_run_places(home)
    formats = place.instrument.read_result(place.path)
    assert capsys.readouterr().out == write_format("markdown", formats, False, None)


def test_a_rehearsal_is_told_by_its_classes_or_not_at_all(tmp_path: Path) -> None:
    result = build_result(make_book(tmp_path))
    for name in FORMATS:
        if name in OF_REHEARSALS:
            write_format(name, result, False, tmp_path / name)
            continue
        with pytest.raises(UsageError, match=f"--format {name} does not apply to a rehearsal"):
            write_format(name, result, False, None)


@pytest.mark.parametrize(
    "words",
    [
        ("count", "sqlite", "b=sqlite", "-w", "oltp_point_select", "--format", "hyperfine"),
        ("capacity", "null", "-w", "oltp_point_select", "--slo", "p99<1s", "--format", "junit"),
        ("rehearse", "sqlite@1", "sqlite@2", "--log", "l", "--data", "d", "--format", "bencher"),
    ],
)
def test_a_format_that_says_nothing_is_refused_before_anything_is_played(
    words: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(list(words)) == 64
    told = capsys.readouterr().err
    assert re.search(rf"--format {words[-1]} does not apply to a [crd]", told)
    assert not home.exists()


def test_a_format_gives_a_counts_repetitions_and_its_verdict(home: Path) -> None:
    for at, count in enumerate(draw_counts()):
        folder = home / f"{at}-count"
        folder.mkdir(parents=True)
        write_json(folder / "count.json", count)
        assert run_words(["report", str(folder), "--format", f"go-benchmark={home / 'go'}"]) == 0
        lines = (home / "go").read_text().splitlines()
        repeats = sum(len(each.repeats) for each in count.counts)
        assert sum(line.startswith("Benchmark") for line in lines) == repeats


def test_json_of_capacities_and_disks_keeps_its_keys_and_signs(home: Path) -> None:
    found = {}
    for write in (write_capacity, write_disks):
        file = home / f"{write.__name__}.json"
        assert run_words(["report", str(write(home)), "--json", str(file)]) == 0
        found[write] = json.loads(file.read_text())
    capacity, disk = found[write_capacity], found[write_disks]
    (row,) = capacity["comparisons"]
    assert (capacity["overall"], row["word"], row["verdict"]) == ("less", "less", "slower")
    assert row["low_percent"] <= row["change_percent"] <= row["high_percent"]
    assert row["change_percent"] == pytest.approx(-50.0, abs=1.0), "of the rate, not of the time"
    assert (capacity["limit_words"], capacity["unit"]) == ("p99<10ms", "event")
    assert [it["candidate"] for it in capacity["candidates"]] == ["A", "B"]
    assert capacity["client"] == "" and all(isinstance(it, str) for it in capacity["doubts"])
    (row,) = disk["comparisons"]
    assert row["slowdown_percent"] == row["change_percent"] and row["p_value"] <= 1.0
    assert row["job"] == row["phase"] and row["base_rate"] == row["base_value"]
    assert disk["jobs"] and {"sides", "jobs", "audit"} <= disk["findings"][0].keys()
