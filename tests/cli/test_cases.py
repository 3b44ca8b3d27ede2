"""Cases from the field: small inputs that Dyno once read, played or judged wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.cli import run_words


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_a_candidate_whose_one_event_outlasts_the_phase_is_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case 28."""
    file = tmp_path / "one.sql"
    file.write_text("-- run:\nSELECT 1;\n")
    sides = ["null@100us", "null@700ms"]
    short = ["--sql", str(file), "--time", "0.1", "--set", "warmup_time=0.05", "--threads", "1"]
    short += ["--blocks", "6", "--limit", "foreign=100%", "--limit", "steal=100%"]
    assert run_words(["compare", *sides, *short]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "× slower" in said and "is slower than" in said
    assert "an event of null@700ms takes longer than the phase of 0.1 s" in said
    assert "would measure it" in said
    assert "ledger" not in said
