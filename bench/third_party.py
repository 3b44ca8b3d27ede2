"""Scripts out of public repositories: what a server counts when their own tool plays them, and
when Dyno does.

`third_party.toml` names them; `--clones` is a folder with a git clone of each repository, called
`owner+name`. Scripts are other people's programs and run with your rights, in their own folder.
Every script is played command by command, each tool in a database of its own on the same server.
What the server counted (statements by kind, rows written) and the events have to be the same; where
a script draws what it does, on average over some rounds.

`--page` writes docs/evidence/third-party.md's table; `--rates` plays the scripts named by `--only`
in turn for a time instead, and compares rates.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clients import Driver, Load
from counters import SETTINGS, begin
from paired import BENCH
from ratios import compare, conclude, print_rows
from scripts_beside import Case, Result, judge, prepared
from serving import budget, serving, timed
from spent import Side, in_turn
from sysbench import Sysbench

LIST = BENCH / "third_party.toml"
PAGE = BENCH.parent / "docs/evidence/third-party.md"
#: Where the page's table begins and ends.
BEGIN, END = "<!-- made by bench/run third-party --page -->", "<!-- end -->"


def cases(text: str) -> Iterator[Case]:
    """The scripts of a list, one for each server that it is played on."""
    for repository in tomllib.loads(text)["repository"]:
        for group in repository["scripts"]:
            more: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in group.items()
                if name not in {"folder", "paths", "servers"}
            }
            for path, server in itertools.product(group["paths"], group["servers"]):
                whole = str(Path(group.get("folder", "")) / path)
                yield Case(repository["name"], repository["commit"], whole, server, **more)


@dataclass(frozen=True)
class Row:
    """A script with what became of it."""

    case: Case
    result: Result

    def cells(self) -> tuple[str, ...]:
        """As the terminal and the page show it."""
        case, result = self.case, self.result
        what = result.what or ", ".join(f"{n:g} {kind}" for kind, n in result.statements.items())
        return (case.repository, case.path, case.tool, case.server, result.word, what)

    @property
    def key(self) -> tuple[str, str, str]:
        """Which script on which server."""
        return (self.case.repository, self.case.path, self.case.server)


def stored(path: Path, listed: Iterable[Case]) -> dict[tuple[str, str, str], Row]:
    """Results of earlier plays, of the scripts that are listed still."""
    found = json.loads(path.read_text()) if path.is_file() else []
    rows = {row.key: row for row in (Row(Case(**r["case"]), Result(**r["result"])) for r in found)}
    keys = [Row(case, Result("")).key for case in listed]
    return {key: rows[key] for key in keys if key in rows}


def played(chosen: Sequence[Case], clones: Path) -> Iterator[Row]:
    """Plays scripts, server by server."""
    for at in dict.fromkeys(case.server for case in chosen):
        with serving(at, **SETTINGS[at.partition("@")[0]]) as server:
            begin(server.session)
            for case in chosen:
                if case.server == at:
                    yield Row(case, judge(case, script_of(case, clones), server.session))


def script_of(case: Case, clones: Path) -> Path:
    """Where a script lies; ends where it does not."""
    script = clones.resolve() / case.repository.replace("/", "+") / case.path
    if not script.is_file():
        raise SystemExit(f"{script} is missing: clone {case.repository} there, at {case.commit}")
    return script


def page(rows: Iterable[Row]) -> str:
    """The page's table: how often each result came, then a line for each script."""
    rows = sorted(rows, key=lambda row: (row.case.repository.lower(), row.case.path))
    words = Counter(row.result.word for row in rows)
    repositories = len({row.case.repository for row in rows})
    counted = ", ".join(f"{number} {word}" for word, number in words.most_common())
    lines = [f"{len(rows)} plays of scripts out of {repositories} repositories: {counted}.", ""]
    lines += ["| repository | script | server | result | |", "|---|---|---|---|---|"]
    for row in rows:
        repository, path, _, server, word, what = row.cells()
        linked = f"[{repository}](https://github.com/{repository}/tree/{row.case.commit})"
        safe = what.replace("|", "\\|")
        lines.append(f"| {linked} | `{path}` | {server} | {word} | {safe} |")
    return "\n".join(lines)


def write_page(rows: Iterable[Row]) -> None:
    """Puts the table into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{page(rows)}\n\n{END}{rest.partition(END)[2]}")


def rates(case: Case, clones: Path, words: argparse.Namespace) -> None:
    """One script of sysbench's in turn with sysbench, by its rate and by the client's CPU."""
    time_s, rounds = budget(words)
    script = script_of(case, clones)
    with serving(case.server) as server, prepared(case, script, server.session) as session:
        load = Load(str(script), case.threads, time_s, case.options)
        sides: dict[str, Side] = {"ours": Driver(session, load), case.tool: Sysbench(session, load)}
        rows = compare(f"{case.repository} {case.path}", in_turn(sides, rounds), {})
    print_rows(rows)
    conclude("third-party", rows)


def main() -> None:
    parser = timed(argparse.ArgumentParser(prog="bench/run third-party"))
    parser.add_argument("--clones", type=Path, required=True, help="a folder of git clones")
    parser.add_argument("--only", default="", help="a pattern of repository/script server")
    parser.add_argument("--json", type=Path, help="results as data: kept, those of now put in")
    parser.add_argument("--page", action="store_true", help=f"write the table of {PAGE.name}")
    parser.add_argument("--rates", action="store_true", help="compare rates instead")
    parser.add_argument("--quick", action="store_true", help="with --rates: a tiny budget")
    words = parser.parse_args()
    listed = list(cases(LIST.read_text()))
    chosen = [
        case
        for case in listed
        if re.search(words.only, f"{case.repository}/{case.path} {case.server}")
    ]
    if words.rates:
        for case in filter(lambda case: case.is_lua, chosen):
            rates(case, words.clones, words)
        return
    rows = stored(words.json, listed) if words.json else {}
    for row in played(chosen, words.clones):
        print("  ".join(row.cells()), flush=True)
        rows[row.key] = row
        if words.json:
            words.json.write_text(json.dumps([asdict(row) for row in rows.values()], indent=1))
    if words.page:
        write_page(rows.values())
    found = Counter(row.result.word for row in rows.values())
    print(json.dumps({"bench": "third-party", "results": dict(found)}))


if __name__ == "__main__":
    main()
