"""The benches: each ends in a line that a program can read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from repository import ROOT

from dyno import driver

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "name", ["event-rate", "point-select", "row-cost", "ssb-rows", "log-reading", "history-index"]
)
def test_a_bench_ends_in_one_line_of_json_with_its_ratio(name: str) -> None:
    done = subprocess.run(
        [ROOT / "bench" / "run", name, "--quick"],
        env={**os.environ, "PYTHON": sys.executable, "DYNO_DRIVER": str(driver.find_driver())},
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["bench"] == name
    assert any(key.endswith("ratio") and value > 0 for key, value in figures.items())


@pytest.mark.parametrize("words", [["--nonsense"], ["--server", "nonsense@9"]])
def test_every_bench_says_in_a_sentence_what_is_wrong_with_its_words(words: list[str]) -> None:
    listed = re.findall(r'^(?:all|servers)="(.*)"$', (ROOT / "bench" / "run").read_text(), re.M)
    for name in " ".join(listed).split():
        done = subprocess.run(
            [ROOT / "bench" / "run", name, *words],
            env={**os.environ, "PYTHON": sys.executable, "DYNO_DRIVER": str(driver.find_driver())},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode in (2, 64), (name, done.stderr)
        assert done.stderr and "Traceback" not in done.stderr, (name, done.stderr)
