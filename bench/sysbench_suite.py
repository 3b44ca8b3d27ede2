"""sysbench's own test suite, played by a program of that name: how many steps of each file agree.

The suite (`tests/` of sysbench's sources, not ours and not here) is written for cram: a line of a
file that begins with two spaces and `$ ` is a command of one shell, `> ` its next line, and what
else is indented so is the output that is expected: as it is, or as a pattern where `(re)` or
`(glob)` stands behind it. `[1]` is an exit code other than 0, and 80 skips the file.

    bench/run sysbench-suite SOURCES --only cmdline
    bench/run sysbench-suite SOURCES --program /usr/bin/sysbench --mysql=--mysql-socket=/tmp/s

Without --program it is `dyno sysbench`, by `dyno shim`. Servers are named by the options that
sysbench takes for them; files that need one are skipped without. The files look at tables by
`mysql -uroot sbtest` and `psql sbtest`: these must reach the same servers (MYSQL_UNIX_PORT, PGHOST
…), or `--tools` is a folder of clients that do. PostgreSQL 12's words are the ones expected.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dyno.cli.shim import PROGRAMS, write_launcher

#: No file takes longer.
FILE_S = 400.0
SKIPPED = 80
VERSION = "1.0.20"


@dataclass
class Step:
    """A command of a file, its lines, and what it is expected to print."""

    line: int
    command: list[str]
    expected: list[str] = field(default_factory=list)


def steps_of(text: str) -> list[Step]:
    """The steps of a file."""
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("  $ "):
            steps.append(Step(number, [line[4:]]))
        elif steps and line.startswith("  > "):
            steps[-1].command.append(line[4:])
        elif steps and line.startswith("  "):
            steps[-1].expected.append(line[2:])
    return steps


def agrees(expected: str, said: str) -> bool:
    """Is a line as expected?"""
    if expected == said:
        return True
    body, _, how = expected.rpartition(" (")
    if how == "re)":
        return re.fullmatch(body, said) is not None
    if how == "glob)":
        # in cram's patterns a backslash takes the next sign as it is, and brackets mean nothing
        pattern = re.sub(r"\\?(.)", _globbed, body)
        return re.fullmatch(pattern, said, re.DOTALL) is not None
    return how == "esc)" and body.encode().decode("unicode_escape") == said


def _globbed(sign: re.Match[str]) -> str:
    signs = {"*": ".*", "?": "."}
    return signs.get(sign[0]) or re.escape(sign[1])


def play(steps: Sequence[Step], environment: dict[str, str], folder: Path) -> list[list[str]]:
    """What each step printed, its exit code behind it if it is not 0; fewer where time was over."""
    mark = f"step-{secrets.token_hex(8)}"
    script = "".join("\n".join(it.command) + f'\necho "{mark} $?"\n' for it in steps)
    try:
        done = subprocess.run(
            ["bash", "-"],
            input=script,
            capture_output=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            cwd=folder,
            timeout=FILE_S,
            check=False,
        )
        text, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        text, code = (late.stdout or b"").decode(errors="replace"), 1
    if code == SKIPPED:
        return []
    *said, rest = re.split(rf"{mark} (\d+)\n", text)
    pairs = zip(said[::2], said[1::2], strict=False)
    told = [it.splitlines() + ([f"[{code}]"] if code != "0" else []) for it, code in pairs]
    return [*told, [*rest.splitlines(), f"[{code}]"]] if len(told) < len(steps) else told


def differences(step: Step, said: Sequence[str], most: int) -> Iterator[str]:
    """The first lines in which a step differs, `most` of each side, as a diff has them."""
    wanted, heard = list(step.expected), list(said)
    while wanted and heard and agrees(wanted[0], heard[0]):
        wanted.pop(0), heard.pop(0)
    while wanted and heard and agrees(wanted[-1], heard[-1]):
        wanted.pop(), heard.pop()
    yield from (f"-{line}" for line in wanted[:most])
    yield from (f"+{line}" for line in heard[:most])


def environment_of(words: argparse.Namespace, programs: Path, home: Path) -> dict[str, str]:
    """What the suite's files expect to find."""
    tests = words.sources / "tests"
    config = home / "config.sh"
    config.write_text("")
    stated = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "CRAMTMP": str(home),
        "SBTEST_ROOTDIR": str(tests),
        "SBTEST_SCRIPTDIR": str(words.sources / "src" / "lua"),
        "SBTEST_SUITEDIR": str(tests / "t"),
        "SBTEST_INCDIR": str(tests / "include"),
        "SBTEST_CONFIG": str(config),
        "SBTEST_VERSION": VERSION,
        "SBTEST_VERSION_STRING": f"sysbench {VERSION}",
        "LC_ALL": "C.UTF-8",
    }
    folders = (stated["SBTEST_SCRIPTDIR"], stated["SBTEST_INCDIR"])
    stated["LUA_PATH"] = ";".join(f"{it}/?;{it}/?.lua" for it in folders)
    if words.mysql:
        stated |= {"SBTEST_MYSQL_ARGS": words.mysql, "SBTEST_HAS_MYSQL": "yes"}
    if words.pgsql:
        stated |= {"SBTEST_PGSQL_ARGS": words.pgsql, "SBTEST_HAS_PGSQL": "yes"}
    return os.environ | stated


def play_file(file: Path, words: argparse.Namespace, programs: Path) -> tuple[int, int] | None:
    """Plays a file and prints where it differs: steps that agree, and all; None: skipped."""
    steps = steps_of(file.read_text())
    with tempfile.TemporaryDirectory(prefix="sysbench-suite-") as name:
        home = Path(name)
        (home / "at").mkdir()
        said = play(steps, environment_of(words, programs, home), home / "at")
    if not said:
        return None
    good = 0
    for at, step in enumerate(steps):
        here = said[at] if at < len(said) else ["(not played)"]
        found = list(differences(step, here, words.lines))
        good += not found
        if found and not words.quiet:
            print(f"{file.name}:{step.line}: $ {step.command[0]}")
            print("\n".join(f"    {line}" for line in found))
    return good, len(steps)


def program_folder(words: argparse.Namespace, home: Path) -> Path:
    """A folder with `sysbench` in it."""
    if words.program:
        (home / "sysbench").symlink_to(Path(words.program).resolve())
    else:
        for name in PROGRAMS:
            write_launcher(home / name)
    if words.tools:
        for tool in words.tools.iterdir():
            (home / tool.name).symlink_to(tool.resolve())
    return home


def main() -> int:
    """Plays the files that are asked for, and prints the table."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    asked.add_argument("sources", type=Path, help="sysbench's sources, of the version 1.0.20")
    asked.add_argument("--only", nargs="*", default=["*"], help="files by name, without .t")
    asked.add_argument("--program", help="a sysbench to play them by")
    asked.add_argument("--mysql", default="", help="options for a server of MySQL's family")
    asked.add_argument("--pgsql", default="", help="options for a PostgreSQL")
    asked.add_argument("--tools", type=Path, help="a folder of programs such as `mysql`")
    asked.add_argument("--lines", type=int, default=20, help="of each difference")
    asked.add_argument("--quiet", action="store_true", help="print the table only")
    words = asked.parse_args()
    words.sources = words.sources.resolve()
    files = sorted((words.sources / "tests" / "t").glob("*.t"))
    chosen = [it for it in files if any(fnmatch.fnmatch(it.stem, one) for one in words.only)]
    rows = []
    with tempfile.TemporaryDirectory(prefix="sysbench-suite-") as name:
        programs = program_folder(words, Path(name))
        for file in chosen:
            rows.append((file.stem, play_file(file, words, programs)))
            print(f"# {file.stem}: {rows[-1][1]}", file=sys.stderr, flush=True)
    print("\n| file | agree | steps |\n|---|---|---|")
    for stem, found in rows:
        print(f"| {stem} | {'skipped | –' if found is None else f'{found[0]} | {found[1]}'} |")
    played = [found for _, found in rows if found]
    print(f"| all | {sum(it[0] for it in played)} | {sum(it[1] for it in played)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
