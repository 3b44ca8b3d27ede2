"""A server that speaks the protocol and lacks the catalogue is played on; what it lacks is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_postgres import serving_toy

from dyno.cli import run_words

BRIEF = [
    "-w",
    "oltp_point_select",
    "--set",
    "time=0.1",
    "--set",
    "warmup_time=0.1",
    "--set",
    "table_size=100",
]


def test_what_lacks_a_catalogue_is_compared_and_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    with serving_toy() as one, serving_toy() as other:
        sides = [f"{n}=postgres://u@{it}/toy?empty=on" for n, it in (("a", one), ("b", other))]
        assert run_words(["compare", *sides, *BRIEF, "--blocks", "3"]) in (0, 1, 2)
    said = capsys.readouterr().err
    lines = [it for it in said.splitlines() if "does not know transaction_read_only" in it]
    assert len(lines) == 2, said
    assert all("pg_settings (no settings are recorded)" in it for it in lines)
    assert "a runs already and does not say which server it is" in said
    (folder,) = tmp_path.iterdir()
    trials = [json.loads(it.read_text()) for it in (folder / "trials").iterdir()]
    assert {it["status"] for it in trials} == {"ok"}


def test_where_the_tables_are_not_listed_nothing_is_loaded_unless_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    with serving_toy() as place:
        assert run_words(["play", f"postgres://u@{place}/toy", *BRIEF]) == 64
    assert "?empty=on" in capsys.readouterr().err
