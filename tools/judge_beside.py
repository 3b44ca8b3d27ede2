"""Judges runs with another checkout's code and with ours, and says where the verdicts differ.

    .venv/bin/python tools/judge_beside.py CHECKOUT [OLD=NEW...] RUN...

Keys that have another name now count as the same (`record/former_keys.py`), and so do audits given
as OLD=NEW. What an audit says that only one of both codes has is left out, and named. Texts are
words and may differ: how many do is told. Any other difference is listed, and is exit code 1.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dyno.record import Verdict
from dyno.record.decode import decode, encode

JUDGE = """
import json, sys
from pathlib import Path
try:
    from dyno.record.decode import encode
except ImportError:
    from dataclasses import asdict as encode
try:
    from dyno.runs.run_folder import RunFolder
except ImportError:
    from dyno.compare.run_folder import RunFolder
from dyno.judge.analysis.judge import judge
folder = RunFolder(Path(sys.argv[1]))
# a checkout may be older than these names
names = ("read_run", "read_trials") if hasattr(folder, "read_run") else ("run", "trials")
json.dump(encode(judge(*(getattr(folder, name)() for name in names))), sys.stdout)
"""
Leaf = str | int | float | bool | None


def judged_by(checkout: Path, run: Path) -> dict[str, Any]:
    """The verdict of a checkout's code, under our keys."""
    command = [str(checkout / ".venv" / "bin" / "python"), "-c", JUDGE, str(run)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return encode(decode(Verdict, json.loads(told)))


def said_by(value: Any, audits: Mapping[str, str]) -> Any:
    """The same value with only what these audits say, each under the name it is mapped to and in
    the order of these names.
    """
    if isinstance(value, Mapping):
        return {key: said_by(each, audits) for key, each in value.items()}
    if not isinstance(value, list | tuple):
        return value
    if any(isinstance(each, Mapping) and "audit" in each for each in value):
        found = [
            each | {"audit": audits[each["audit"]]} for each in value if each["audit"] in audits
        ]
        return sorted(found, key=lambda each: str(each["audit"]))
    return [said_by(each, audits) for each in value]


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


def compare(checkout: Path, run: Path, renamed: Mapping[str, str]) -> bool:
    """Prints what differs in a run's verdict; is all the same but for words?"""
    old, new = judged_by(checkout, run), judged_by(Path(__file__).resolve().parent.parent, run)
    names = [{each["audit"] for each in verdict["findings"]} for verdict in (old, new)]
    both = {name: now for name in names[0] if (now := renamed.get(name, name)) in names[1]}
    alone = sorted(names[0] - both.keys() | names[1] - set(both.values()))
    theirs = dict(leaves(said_by(old, both)))
    ours = dict(leaves(said_by(new, {name: name for name in both.values()})))
    differing = [path for path in {**theirs, **ours} if theirs.get(path) != ours.get(path)]
    prose = [it for it in differing if is_prose(theirs.get(it)) and is_prose(ours.get(it))]
    found = sorted(set(differing) - set(prose))
    left_out = f", left out: {', '.join(alone)}" if alone else ""
    name = f"{run.resolve().name}: {ours['.overall']}, {ours['.comparisons.length']} comparisons"
    print(f"{name}, {len(ours)} values, {len(prose)} in other words, {len(found)} differ{left_out}")
    for path in found:
        print(f"  {path}: {theirs.get(path)!r} -> {ours.get(path)!r}")
    return not found


def main(checkout: str, *words: str) -> int:
    """1 where a verdict differs."""
    pairs = (word.split("=") for word in words if re.fullmatch(r"\w+=\w+", word))
    renamed = dict(pairs)
    runs = [Path(word) for word in words if not re.fullmatch(r"\w+=\w+", word)]
    same = [compare(Path(checkout), run, renamed) for run in runs]
    return 0 if all(same) else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        raise SystemExit(64)
    raise SystemExit(main(*sys.argv[1:]))
