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
    ("name", "words"),
    [
        ("event-rate", ()),
        ("point-select", ()),
        ("row-cost", ()),
        ("ssb-rows", ()),
        ("log-reading", ("--form", "slow")),
        ("history-points", ()),
    ],
)
def test_a_bench_ends_in_one_line_of_json_with_its_ratio(name: str, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [ROOT / "bench" / "run", name, "--quick", *words],
        env={**os.environ, "PYTHON": sys.executable, "DYNO_DRIVER": str(driver.find_driver())},
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["bench"] == name
    assert any(key.endswith("ratio") and value > 0 for key, value in figures.items())


#: Starts benches as `bench/run` does, each with each of some words, in one process that imports
#: once what they share, and prints what each ended with and said.
IN_TURN = """
import contextlib, io, json, sys
import start

names, words = map(json.loads, sys.argv[1:])
told = []
for name in names:
    for each in words:
        sys.argv = ["start.py", f"bench/{name.replace('-', '_')}.py", *each]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                start.main()
            except SystemExit as end:
                told.append((name, end.code, said.getvalue()))
print(json.dumps(told))
"""


def test_every_bench_says_in_a_sentence_what_is_wrong_with_its_words() -> None:
    listed = re.findall(r'^(?:all|servers)="(.*)"$', (ROOT / "bench" / "run").read_text(), re.M)
    names, words = " ".join(listed).split(), [["--nonsense"], ["--server", "nonsense@9"]]
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, json.dumps(names), json.dumps(words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "src:bench", "DYNO_DRIVER": str(driver.find_driver())},
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    assert [name for name, _, _ in told] == [name for name in names for _ in words]
    for name, code, said in told:
        assert code in (2, 64), (name, said)
        assert said, name
