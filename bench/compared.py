"""Comparisons for benchmarks: played in this process, each in a folder of runs of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dyno import cli
from dyno.runs.run_folder import RunFolder, find_runs_home, list_runs


def compare(words: Sequence[str], place: Path) -> RunFolder:
    """The run of `dyno compare` with these words, in the empty folder `place`. Where no run comes
    of it, the benchmark ends with the command's exit code; the command has said why.
    """
    os.environ["DYNO_RUNS"] = str(place)
    code = cli.run_words(["compare", *words])
    runs = list_runs(find_runs_home())
    if not runs:
        raise SystemExit(code)
    (run,) = runs
    return run
