"""Judges runs with another checkout's code and with ours, and says where the verdicts differ.

    .venv/bin/python tools/judge_beside.py CHECKOUT RUN...

Keys that have another name now count as the same (`record/former_keys.py`). Texts are words and may
differ: how many do is told. Any other difference is listed, and is exit code 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dyno.record import Verdict
from dyno.record.decode import decode

JUDGE = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from dyno.compare.run_folder import RunFolder
from dyno.judge.analysis.judge import judge
folder = RunFolder(Path(sys.argv[1]))
json.dump(asdict(judge(folder.run(), folder.trials())), sys.stdout)
"""
Leaf = str | int | float | bool | None


def judged_by(checkout: Path, run: Path) -> dict[str, Leaf]:
    """The verdict of a checkout's code, each value by its path."""
    command = [str(checkout / ".venv" / "bin" / "python"), "-c", JUDGE, str(run)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(leaves(asdict(decode(Verdict, json.loads(told)))))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """Every value in a verdict, and how long each list is."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from leaves(each, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        yield f"{path}.length", len(value)
        for at, each in enumerate(value):
            yield from leaves(each, f"{path}.{at}")
    else:
        yield path, value


def is_prose(value: Leaf) -> bool:
    """Is it a text of several words?"""
    return isinstance(value, str) and " " in value


def compare(checkout: Path, run: Path) -> bool:
    """Prints what differs in a run's verdict; is all the same but for words?"""
    theirs, ours = judged_by(checkout, run), judged_by(Path(__file__).resolve().parent.parent, run)
    differing = [path for path in {**theirs, **ours} if theirs.get(path) != ours.get(path)]
    prose = [it for it in differing if is_prose(theirs.get(it)) and is_prose(ours.get(it))]
    found = sorted(set(differing) - set(prose))
    name = f"{run.resolve().name}: {ours['.overall']}, {ours['.comparisons.length']} comparisons"
    print(f"{name}, {len(ours)} values, {len(prose)} in other words, {len(found)} differ")
    for path in found:
        print(f"  {path}: {theirs.get(path)!r} -> {ours.get(path)!r}")
    return not found


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        raise SystemExit(64)
    same = [compare(Path(sys.argv[1]), Path(word)) for word in sys.argv[2:]]
    raise SystemExit(0 if all(same) else 1)
