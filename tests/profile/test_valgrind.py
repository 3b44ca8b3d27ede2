"""valgrind as it is told to count, by a stand-in for its programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dyno.errors import TrialFailed
from dyno.profile.valgrind import Valgrind


def make_valgrind(folder: Path, script: str) -> Valgrind:
    """One whose `vgdb` is a script, which finds its words in `$@`."""
    switch = folder / "vgdb"
    switch.write_text(f"#!/bin/sh\n{script}\n")
    switch.chmod(0o700)
    return Valgrind(Path("/none/valgrind"), switch, Path("/none"), "valgrind-3.19.0")


def test_counts_are_written_and_then_switched_off(tmp_path: Path) -> None:
    told = tmp_path / "told"
    made = make_valgrind(tmp_path, f'echo "$1 $3 $4" >> {told}')
    made.switch_on(7, tmp_path)
    made.write_counts(7, tmp_path)
    words = ["--pid=7 instrumentation on", "--pid=7 dump ", "--pid=7 instrumentation off"]
    assert told.read_text().splitlines() == words


def test_a_process_that_is_not_heard_of_is_an_error_with_valgrinds_words(tmp_path: Path) -> None:
    made = make_valgrind(tmp_path, "echo 'no FIFO found matching pid 7' >&2; exit 2")
    with pytest.raises(TrialFailed, match="does not hear") as failed:
        made.switch_on(7, tmp_path)
    assert "no FIFO" in failed.value.cause


def test_a_process_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    made = replace(make_valgrind(tmp_path, "exec sleep 60"), limit_s=0.2)
    with pytest.raises(TrialFailed, match="did not answer") as failed:
        made.switch_on(7, tmp_path)
    assert "ptrace" in failed.value.hint
