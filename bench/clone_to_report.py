"""From a fresh clone to a report: `make demo`, cold with every compile, and once more when built.

Targets: 6 minutes on 2 cores, 100 s when built. `--quick` measures the built tree it stands in.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from paired import BENCH, quick, report

LIMITS_S = {"fresh": 360.0, "built": 100.0}
ROOT = BENCH.parent


def demo_s(tree: Path, cache: Path | None) -> float:
    """Wall seconds of `make demo` in `tree`, with a cache of its own or the user's."""
    own = {"XDG_CACHE_HOME": str(cache)} if cache else {}
    began_s = time.monotonic()
    subprocess.run(["make", "demo"], cwd=tree, check=True, env=os.environ | own)
    return time.monotonic() - began_s


def fresh_and_built_s() -> dict[str, float]:
    """Both, in a clone with an empty cache of builds."""
    with tempfile.TemporaryDirectory() as home:
        tree, cache = Path(home) / "clone", Path(home) / "cache"
        subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
        return {name: demo_s(tree, cache) for name in LIMITS_S}


def main() -> None:
    taken_s = {"built": demo_s(ROOT, None)} if quick("clone-to-report") else fresh_and_built_s()
    rows = [("tree", "seconds", "limit")]
    rows += [(name, f"{s:.1f}", f"{LIMITS_S[name]:.0f}") for name, s in taken_s.items()]
    figures: dict[str, float | str] = {"bench": "clone-to-report"}
    figures |= {f"{name}_s": round(s, 1) for name, s in taken_s.items()}
    figures |= {f"{name}_ratio": round(s / LIMITS_S[name], 4) for name, s in taken_s.items()}
    report(rows, figures)


if __name__ == "__main__":
    main()
