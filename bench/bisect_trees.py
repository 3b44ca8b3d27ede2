"""Git trees with an injected change, on which `dyno bisect` is tried (docs/evidence/bisect.md).

    bench/run bisect-trees sqlite FOLDER [--turns N]      # ten commits on SQLite's amalgamation
    bench/run bisect-trees postgres FOLDER [--turns N]    # five commits on Debian's PostgreSQL 18

Each commit adds a comment. One adds N turns of an empty loop to a function that every statement
passes, and of SQLite's one other does not compile. The words for bisect are printed at the end.
`--turns` 0 injects nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dyno.builds import crate
from dyno.builds.source.trees import find_tree, keep_all
from dyno.engines.sqlite import CRATE, CRATES

VERSION = "3.54.1"
SOURCES = {"sid": "postgresql-18"}


@dataclass(frozen=True)
class InjectedTree:
    """Where a tree's change goes: behind the `after` that follows `function` in `file`. `injected`
    and `broken` are commits, from 1; `turns` add about 2 % to a point select.
    """

    file: str
    function: str
    after: str
    commits: int
    injected: int
    broken: int
    turns: int


TREES = {
    "sqlite": InjectedTree(
        "sqlite3.c",
        "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){",
        "sqlite3_mutex_enter(db->mutex);\n",
        commits=10,
        injected=7,
        broken=5,
        turns=6,
    ),
    "postgres": InjectedTree(
        "src/backend/executor/execMain.c",
        "standard_ExecutorRun(",
        "Assert(queryDesc != NULL);\n",
        commits=5,
        injected=3,
        broken=0,
        turns=60,
    ),
}


def main() -> None:
    """Makes the tree that the command line names."""
    parser = argparse.ArgumentParser(prog="bench/run bisect-trees")
    parser.add_argument("engine", choices=TREES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--turns", type=int, metavar="N", help="turns of the empty loop")
    given = parser.parse_args()
    chosen = TREES[given.engine]
    turns = chosen.turns if given.turns is None else given.turns
    fetch_source(given.engine, given.folder)
    commits = make_commits(given.folder, chosen, turns)
    good, bad = commits[0][:12], commits[-1][:12]
    told = {
        "bench": "bisect-trees",
        "words": f"{given.engine}@{good}..{bad} --git {given.folder.resolve()}",
        "good": good,
        "injected": commits[chosen.injected][:12],
        "broken": commits[chosen.broken][:12] if chosen.broken else "",
        "bad": bad,
    }
    print(json.dumps(told))


def fetch_source(engine: str, folder: Path) -> None:
    """The source, as its publisher packs it."""

    def say(clause: str) -> None:
        print(f"{clause} …", file=sys.stderr)

    if engine == "sqlite":
        folder.mkdir(parents=True)
        for name in ("sqlite3.c", "sqlite3.h"):
            shutil.copy(crate.fetch(CRATE, CRATES[VERSION], say) / "sqlite3" / name, folder)
        return
    folder.mkdir(parents=True)
    find_tree("deb:sid", SOURCES, say).put(folder, keep_all)


def make_commits(folder: Path, tree: InjectedTree, turns: int) -> list[str]:
    """The source as it is, then so many commits; their checksums in order."""
    _git(folder, "init", "--quiet")
    file = folder / tree.file
    commits = [_commit(folder, "As it was fetched")]
    for number in range(1, tree.commits + 1):
        text = file.read_text()
        if tree.broken and number == tree.broken + 1:
            text = text.replace("#error injected\n", "")
        if number == tree.injected and turns:
            text = inject(text, tree, turns)
        elif number == tree.broken:
            text = f"#error injected\n{text}"
        else:
            text += f"/* commit {number} */\n"
        file.write_text(text)
        commits.append(_commit(folder, _name_commit(tree, number)))
    return commits


def inject(text: str, tree: InjectedTree, turns: int) -> str:
    """The text with an empty loop in the function."""
    begin = text.index(tree.function)
    at = text.index(tree.after, begin) + len(tree.after)
    loop = f"  {{ volatile int injected; for(injected=0; injected<{turns}; injected++); }}\n"
    return text[:at] + loop + text[at:]


def _name_commit(tree: InjectedTree, number: int) -> str:
    if number == tree.injected:
        return "An empty loop in each statement"
    return "It does not compile" if number == tree.broken else f"A comment, number {number}"


def _commit(folder: Path, title: str) -> str:
    _git(folder, "add", "--all", "--force")
    _git(folder, "commit", "--quiet", "--message", title)
    return _git(folder, "rev-parse", "HEAD").strip()


def _git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example", "-c", "gc.auto=0")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
