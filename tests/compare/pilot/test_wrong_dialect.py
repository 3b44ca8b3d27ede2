"""A statement that no trial could play ends the run before its first block."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.cli import run_words

WRONG = "SELECT x::int FROM nowhere;"


@pytest.mark.parametrize("more", [[], ["--threads", "1"]])
def test_a_wrong_dialect_that_the_pilot_sees_ends_the_run_with_statement_and_engines_words(
    more: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    (tmp_path / "wrong.sql").write_text(WRONG)
    words = ["compare", "sqlite@system", "b=sqlite@system?journal_mode=wal"]
    assert run_words([*words, "--sql", str(tmp_path / "wrong.sql"), *more]) == 64
    out, err = capsys.readouterr()
    assert 'unrecognized token: ":"' in err and WRONG.rstrip(";") in err
    assert "block 1" not in out and not list((tmp_path / "runs").glob("*/trials/*"))
