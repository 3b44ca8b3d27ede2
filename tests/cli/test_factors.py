"""`--factor` on the command line: what is refused, what is announced, and how a run ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dyno.cli import run_words

WORKLOAD = ["-w", "oltp_point_select", "--set", "table_size=10"]
ASLR = ["--factor", "aslr=on,off"]


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of the test lie in a folder of its own."""
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("words", "sentence", "hint"),
    [
        (["--factor", "aslr"], "'aslr' is not of the form key=a,b", "--help"),
        (["--factor", "aslr=on"], "the factor 'aslr' has 1 level", "aslr=A,B"),
        (["--factor", "aslr=on,on"], "the level 'on' of the factor 'aslr' is given twice", "two"),
        (
            ["--factor", "threads=1,01"],
            "the level '01' of the factor 'threads' is given twice",
            "two",
        ),
        (["--factor", "threads=1,1.0"], "the level '1.0' of the factor", "two"),
        (["--factor", "aslr=on,"], "'' cannot be a level of the factor 'aslr'", "two or more"),
        (["--factor", "aslr=on,maybe"], "unknown value of aslr 'maybe'", "off"),
        (["--factor", "asrl=on,off"], "unknown factor 'asrl'", "aslr"),
        ([*ASLR, *ASLR], "the factor 'aslr' is given twice", "list all its levels at once"),
        (["--factor", "table_size=1,2"], "is a factor and is set in the workload", "leave out"),
        ([*ASLR, "--aa"], "an A/A comparison takes no factors", "leave out the factors"),
        (["--factor", f"threads={','.join(map(str, range(1, 66)))}"], "make 65 cells", "64"),
    ],
)
def test_what_is_no_factor_is_refused_in_a_sentence_with_a_hint(
    words: list[str], sentence: str, hint: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["compare", "null@1us", *WORKLOAD, *words]) == 64
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and said[0].startswith("dyno: ") and sentence in said[0], said
    assert said[1].startswith("hint: ") and hint in said[1], said
    assert not runs.exists(), "nothing was begun"


@pytest.mark.slow
def test_a_crossed_comparison_says_its_cells_and_ends_by_its_main_effects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quickly = ["--set", "time=0.1", "--set", "warmup_time=0", "--blocks", "3"]
    words = ["null@1ms", "null@3ms", "--factor", "threads=1,2", *quickly]
    found = tmp_path / "rows.json"
    end = run_words(["compare", *words, *WORKLOAD, "--json", str(found), "--verbose"])
    said = capsys.readouterr().out
    assert "candidate (null@1ms, null@3ms), threads (workload option: 1, 2)? 2 × 2 = 4 cells." in (
        " ".join(said.split())
    )
    assert "A block starts each of the 4 anew" in " ".join(said.split())
    assert end in (1, 2), "three blocks may be too few for a word, and none says that it is as fast"
    rows = json.loads(found.read_text())["comparisons"]
    if rows:  # a crowded host may have dropped every block
        assert {"candidate": "null@3ms"} in [row["levels"] for row in rows]


def test_an_experiment_with_factors_is_shown_with_its_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.toml").write_text(
        'candidates = ["null"]\nblocks = 5\n[[factor]]\nname = "aslr"\nlevels = ["on", "off"]\n'
        '[[workload]]\nname = "oltp_point_select"\n'
    )
    monkeypatch.chdir(tmp_path)
    assert run_words(["show", "experiments", "mine"]) == 0
    assert "# 2 cells; a block is 2 restarts, 5 blocks are 10\n" in capsys.readouterr().out
