"""How long a user waits: a default comparison of two null delays, the quick one, the help.

Targets: 50 s, 30 s, 0.3 s.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from paired import quick, report

COMPARE = ["compare", "null@200us", "null@210us", "--workload", "oltp_point_select"]
#: What is waited for: words of the command, its limit in seconds, its exit code.
WAITS = {
    "help": (["--help"], 0.3, 0),
    "quick": ([*COMPARE, "--quick"], 30.0, 1),
    "default": (COMPARE, 50.0, 1),
}


def seconds(words: list[str], exit_code: int) -> float:
    """Wall seconds of `dyno` with these words, in an empty folder."""
    dyno = Path(sys.executable).with_name("dyno")
    with tempfile.TemporaryDirectory() as home:
        began_s = time.monotonic()
        done = subprocess.run([dyno, *words], cwd=home, capture_output=True, text=True)
        elapsed_s = time.monotonic() - began_s
    if done.returncode != exit_code:
        raise SystemExit(f"dyno {' '.join(words)} exited {done.returncode}:\n{done.stderr}")
    return elapsed_s


def main() -> None:
    names = ["help", "quick"] if quick("compare-time") else list(WAITS)
    rows = [("what", "seconds", "limit")]
    figures: dict[str, float | str] = {"bench": "compare-time"}
    for name in names:
        words, limit_s, exit_code = WAITS[name]
        taken_s = seconds(words, exit_code)
        rows.append((name, f"{taken_s:.2f}", f"{limit_s:.1f}"))
        figures[f"{name}_s"] = round(taken_s, 3)
        figures[f"{name}_ratio"] = round(taken_s / limit_s, 4)
    report(rows, figures)


if __name__ == "__main__":
    main()
