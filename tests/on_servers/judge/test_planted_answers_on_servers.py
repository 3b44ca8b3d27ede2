"""Servers whose bytes are changed on their way: each fault is found by its audit."""

from __future__ import annotations

from pathlib import Path

import pytest
from injected_faults import played
from planted_engines import ALL, SCRIPT, SERVER_PLANTS, preload_plants

from dyno.judge.analysis.judge import judge


@pytest.mark.timeout(600)
@pytest.mark.parametrize("build", ["postgres@18", "mysql@8.0.33"])
def test_each_fault_of_a_server_is_found_by_its_audit_and_none_of_a_clean_one(
    build: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload_plants(monkeypatch)
    script = tmp_path / "faulted.lua"
    script.write_text(SCRIPT)
    faults = {"base": 0, "clean": 0, "faulted": ALL}
    sides = tuple(f"{name}={build}?inject={number}ns" for name, number in faults.items())
    run, trials = played(tmp_path, sides, str(script), {"events": "30", "warmup_time": "0"})
    asked = {
        trial.candidate: [it.text for it in contents.statements if it.differs]
        for trial in trials
        if (contents := trial.contents) and contents.base
    }
    clean, faulted = asked.values()
    assert not clean
    for fault, shown_by in SERVER_PLANTS.items():
        assert any(shown_by in text for text in faulted), (fault, faulted)
    found = [it for it in judge(run, trials).findings if it.soundness == "invalid"]
    assert {it.audit for it in found} >= {"contents", "results"}
    assert all(" on faulted" in it.sentence for it in found)
