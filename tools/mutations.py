"""Injects the faults of mutations.toml into a copy of the sources, and says which tests catch them.

    tools/mutations.py [COMMIT] [--only WORD]

Exit code 0: each is caught. A fault whose text is no longer there, or whose tests do not pass
without it, is an error that names it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: A test that does not end has caught the fault, too.
LIMIT_S = 900


class MutationError(Exception):
    """A fault that cannot be injected, or tests that say nothing of it."""


@dataclass(frozen=True)
class Mutation:
    """A fault: `old` of a file becomes `new`; `tests` and `only`, or `cargo`, should notice."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    only: str = ""
    cargo: tuple[str, ...] = ()

    def inject(self, tree: Path) -> str:
        """Changes the file; its text as it was."""
        file = tree / self.file
        text = file.read_text() if file.exists() else ""
        if text.count(self.old) != 1:
            raise MutationError(
                f"{self.file} has {self.old!r} {text.count(self.old)} times, not once"
            )
        file.write_text(text.replace(self.old, self.new))
        return text

    def command(self, tree: Path) -> list[str]:
        """What plays the tests in the tree."""
        if self.cargo:
            package, name = self.cargo
            return ["cargo", "test", "--quiet", "--package", package, name]
        files = [str(file) for name in self.tests for file in (tree / "tests").rglob(name)]
        if not files:
            raise MutationError(f"tests/ has no {' or '.join(self.tests)}")
        chosen = ["-k", self.only] if self.only else []
        return [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *files,
            *chosen,
        ]


def play(command: Sequence[str], tree: Path) -> tuple[bool, str]:
    """Whether the tests pass, and what they said."""
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target")),
    }
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return False, "1 failed: no end"
    return done.returncode == 0, done.stdout + done.stderr


def count(said: str, word: str) -> int:
    """How many tests passed or failed, added up."""
    return sum(int(number) for number in re.findall(rf"(\d+) {word}", said))


def judge(mutation: Mutation, tree: Path, clean: set[tuple[str, ...]]) -> bool:
    """Whether the fault is caught; the tests are played without it first, once."""
    command = mutation.command(tree)
    if tuple(command) not in clean:
        passes, said = play(command, tree)
        if not passes or not count(said, "passed"):
            raise MutationError(f"its tests fail without it\n{said[-2000:]}")
        clean.add(tuple(command))
    text = mutation.inject(tree)
    passes, said = play(command, tree)
    (tree / mutation.file).write_text(text)
    if not passes and not count(said, "failed"):
        raise MutationError(f"no test was played\n{said[-2000:]}")
    return not passes


def main() -> int:
    """0: all are caught."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("commit", nargs="?", default="HEAD")
    words.add_argument("--only", default="", help="faults whose name has this")
    asked = words.parse_args()
    data = tomllib.loads((ROOT / "tools/mutations.toml").read_text())
    mutations = [Mutation(**entry) for entry in data["mutation"] if asked.only in entry["name"]]
    caught, clean = 0, set[tuple[str, ...]]()
    with tempfile.TemporaryDirectory(prefix="dyno-mutations-") as folder:
        archive = subprocess.run(
            ["git", "archive", asked.commit], cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        for mutation in mutations:
            try:
                is_caught = judge(mutation, Path(folder), clean)
                word = "caught" if is_caught else "NOT CAUGHT"
            except MutationError as error:
                is_caught, word = False, f"ERROR: {error}"
            caught += is_caught
            print(f"{mutation.name}: {word}", flush=True)
    print(f"{caught} of {len(mutations)} caught")
    return int(caught < len(mutations))


if __name__ == "__main__":
    sys.exit(main())
