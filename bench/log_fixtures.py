"""Logs of others, as `--log` reads them: for each file of folders its kind and its statements.

`--digest PROGRAM` names pt-query-digest, whose count of queries stands beside ours. Fetch the
fixtures yourself: t/lib/samples/slowlogs and genlogs of github.com/percona/percona-toolkit,
t/fixtures of github.com/darold/pgbadger. `--prefix` is PostgreSQL's, for files that need it.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from dyno.errors import UsageError
from dyno.workloads.replay.formats import LogFile, read_log

_FILTER = 'print(STDOUT "\\x01" . ($event->{cmd} || "") . "\\n")'


def read(path: Path, prefix: str) -> tuple[int, str]:
    """How many statements a file has, and its kind, or why it has none."""
    try:
        log = read_log(LogFile(path, prefix))
        return sum(1 for _ in log.entries), log.kind
    except UsageError as error:
        return 0, error.sentence.replace(str(path), path.name)


def count_by_digest(program: str, path: Path, kind: str) -> int:
    """How many queries pt-query-digest finds."""
    type_ = "genlog" if "general" in kind else "slowlog"
    command = [program, "--type", type_, "--no-report", "--filter", _FILTER, str(path)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    return done.stdout.count(b"\x01Query") + done.stdout.count(b"\x01Execute")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run log-fixtures")
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--digest", metavar="PROGRAM")
    parser.add_argument("--prefix", default="")
    words = parser.parse_args()
    print("| file | statements | by pt-query-digest | read as |\n|---|---|---|---|")
    for folder in words.folder:
        for path in sorted(it for it in folder.iterdir() if it.is_file()):
            count, kind = read(path, words.prefix)
            other = count_by_digest(words.digest, path, kind) if words.digest else "–"
            print(f"| {path.name} | {count:,} | {other} | {kind} |")


if __name__ == "__main__":
    main()
