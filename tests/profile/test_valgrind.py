"""Where valgrind comes from, and what is said where it is not to be had."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dyno.errors import HostError, TrialFailed
from dyno.profile.valgrind import Valgrind, find_valgrind


def test_without_valgrind_one_sentence_says_why_and_what_to_do(tmp_path: Path) -> None:
    def refuse(*_: object) -> str:
        raise HostError("apt cannot be reached")

    with pytest.raises(HostError) as refused:
        find_valgrind(lambda _: None, root=tmp_path, find_version=refuse)
    assert refused.value.sentence == "there is no valgrind: apt cannot be reached"
    assert "install valgrind" in refused.value.hint


def test_a_word_to_a_process_that_is_killed_ends_with_it(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as counted:
        silent = tmp_path / "vgdb"
        silent.write_text(f"#!/bin/sh\nkill -9 {counted.pid}\nexec sleep 60\n")
        silent.chmod(0o755)
        valgrind = Valgrind(Path("valgrind"), silent, tmp_path, "valgrind-3.19.0")
        with pytest.raises(TrialFailed, match="instructions are counted was killed"):
            valgrind.switch_on(counted.pid, tmp_path)
    with pytest.raises(TrialFailed, match="was killed"):
        valgrind.write_counts(counted.pid, tmp_path)
