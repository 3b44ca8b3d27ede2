"""The table of commands and instruments, played: what it says is taken is, the rest is refused by
name.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from crash_runs import write_crash_run
from differ_runs import write_differ_run
from instrument_table import takes
from mixed_runs import (
    STEADY,
    write_capacity,
    write_comparison,
    write_count,
    write_disks,
    write_profile,
)
from program_runs import write_program_run
from scale_runs import write_scale_run

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.pages.beside import build_beside_page
from dyno.pages.heat import build_heat_page
from dyno.pages.library import Library
from dyno.runs.run_folder import load_instruments

WRITERS = {
    "comparison": lambda home: write_comparison(home, {"null@101us": STEADY}),
    "count": write_count,
    "capacity": write_capacity,
    "disk": write_disks,
    "program": write_program_run,
    "differ": write_differ_run,
    "profile": write_profile,
    "crash": write_crash_run,
    "scale": write_scale_run,
}
EXPERIMENT = """candidates = ["null@1ms", "null@2ms"]
quick = true
[instrument]
name = "{kind}"
[[workload]]
name = "oltp_point_select"
"""


def test_every_instrument_stands_in_this_test() -> None:
    assert WRITERS.keys() == load_instruments().keys()


@pytest.mark.parametrize("kind", WRITERS)
def test_a_command_takes_a_run_of_each_kind_or_refuses_it_by_name(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "runs"
    path = WRITERS[kind](home)
    monkeypatch.setenv("DYNO_RUNS", str(home))
    noun, word = load_instruments()[kind].noun, str(path)
    played = {
        "`show`, `report`, `serve`, `clean`": (
            f"show {word}",
            f"report {word}",
            f"clean --runs {path.stem if path.is_file() else path.name}",
        ),
        "`pack`, `publish`": (f"pack {word} -o {tmp_path}/x.zip", f"publish {word} {tmp_path}/x"),
        "`history`": (f"history {home} --json {tmp_path}/x.json",),
    }
    if not takes("`resume`", kind):
        played["`resume`"] = (f"resume {word}",)
    for row, lines in played.items():
        for line in lines:
            code, err = run_words(line.split()), capsys.readouterr().err
            assert code == (0 if takes(row, kind) else 64), (line, err)
            assert takes(row, kind) or noun in err, (line, err)
    if not takes("`shard`, `gather`, `run --on`, `plan`", kind):
        assert run_words(["gather", word]) == 64
        assert noun in capsys.readouterr().err
    listed = [run for run in Library([home]).list_runs() if run.place.path == path]
    assert len(listed) == 1, "it is on the list that is served"
    if takes("two side by side, heat maps", kind):
        assert build_beside_page(*listed, *listed).body and build_heat_page(*listed).body
    else:
        for build in (lambda it: build_beside_page(it, it), build_heat_page):
            with pytest.raises(UsageError, match="is no comparison"):
                build(*listed)


@pytest.mark.parametrize("kind", WRITERS)
def test_an_experiment_s_file_names_its_instrument_and_what_cannot_play_it_says_so(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is played: each asks for what its instrument does not take, or lacks its own word."""
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    file = tmp_path / "x.toml"
    file.write_text(EXPERIMENT.format(kind=kind).replace("quick = true\n", ""))
    words = {"comparison": "--limit nosuch=1", "capacity": "--blocks 3"}
    words |= {"count": "--quick", "scale": "--quick"}
    assert run_words(["run", str(file), *words.get(kind, "").split()]) == 64
    told = {"count": "a count takes no quick", "capacity": "missing required field `slo`"}
    told["scale"] = "a forecast of scaling takes no quick"
    refused = f"unknown instrument of an experiment '{kind}'"
    expected = told.get(kind, "nosuch") if takes("`run` of an experiment's file", kind) else refused
    assert expected in capsys.readouterr().err
    if not takes("`shard`, `gather`, `run --on`, `plan`", kind):
        for command in (["shard", "1/2"], ["plan"], ["run", "--on", "ray:auto"]):
            assert run_words([*command, str(file)]) == 64
            assert f"takes no {kind} (x)" in capsys.readouterr().err
    assert not list((tmp_path / "runs").glob("*"))


def test_an_instrument_s_own_words_are_checked_by_name_and_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.toml"
    for own, told in (
        ('slow = "p99<1s"', "unknown word of the instrument capacity 'slow'"),
        ("slo = 3", "expected `str`, got `int`"),
        ('slo = "p99<1s"\nstep = 0', "expected `float` > 0"),
    ):
        made = EXPERIMENT.format(kind="capacity").replace("quick = true\n", "")
        file.write_text(made.replace("[[workload]]", f"{own}\n[[workload]]"))
        assert run_words(["run", str(file)]) == 64
        assert told in capsys.readouterr().err
