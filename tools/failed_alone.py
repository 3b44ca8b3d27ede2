"""Play once more, alone, what the last run of pytest saw fail: ten tests at most.

Exit code 0 says that each passed alone, and that there were no more than two. The names are printed
either way: they are races to be found, not noise to be forgotten.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
MOST = 10
#: So many may have lost a race to a crowded host in one run.
RACES_MOST = 2


def main() -> int:
    """1 where too much failed, else what pytest ends with."""
    failed = read_failed()
    if not 0 < len(failed) <= MOST:
        print(f"tools/test: {len(failed)} failed; up to {MOST} would be played once more")
        return 1
    code = subprocess.run([sys.executable, "-m", "pytest", "-q", *failed], check=False).returncode
    still = read_failed() if code else []
    for test in failed:
        word = "FAILED ALONE, TOO" if test in still else "FAILED BESIDE OTHERS, PASSED ALONE"
        print(f"{word}: {test}")
    races = len(failed) - len(still)
    print(f"tools/test: {races} of {len(failed)} failures passed alone; {RACES_MOST} may")
    return code or int(races > RACES_MOST)


def read_failed() -> list[str]:
    """The names of those that failed last; pytest forgets one that passes."""
    return sorted(json.loads(LAST_FAILED.read_text()))


if __name__ == "__main__":
    sys.exit(main())
