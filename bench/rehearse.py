"""Does a rehearsal name what an upgrade changes, and nobody else?

Each pair of releases plays a log of differences that were put into the new side (six of each kind)
and of forty statements that are innocent or answer otherwise each time. Printed are, by pair: how
many of each kind have a word of their own, which innocent ones were blamed, and what it took.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from paired import report
from rehearse_cases import (
    POSTGRES,
    Case,
    Family,
    build_dump,
    build_log,
    list_injected,
    list_innocent,
    make_mysql,
)

PAIRS: dict[str, tuple[str, str, Family]] = {
    "postgres": ("postgres@13", "postgres@18", POSTGRES),
    "mysql": ("mysql@8.0.33", "mysql@9.7", make_mysql("mysql", "!90000")),
    "mysql-old": ("mysql@5.6.14", "mysql@8.0.33", make_mysql("mysql", "!80000")),
    "mariadb": ("mariadb@10.11", "mariadb@11.8", make_mysql("mariadb", "M!110000")),
}
#: A release may give an innocent statement another plan, type or warning; beside itself it may not.
BLAMES = {"fails", "answers otherwise", "slower"}
LESSER = {"types or warnings", "plan changed"}


def normalize(sql: str) -> str:
    """A statement without numbers, case and blanks: how a case finds its class."""
    return re.sub(
        r"[\W_]+", "", re.sub(r"(?<![a-z_])\d+|'[^']*'", "", sql.lower().replace("?", ""))
    )


def rehearse(
    pair: str, cases: list[Case], seed: int, blocks: int, same: bool
) -> tuple[dict[str, str], float]:
    """The word of each class by its normalized text, and seconds."""
    old, new, family = PAIRS[pair]
    with tempfile.TemporaryDirectory(prefix="dyno-") as home:
        folder = Path(home)
        (folder / "dump.sql").write_text(build_dump(family))
        (folder / "it.log").write_text(build_log(family, cases, seed))
        words = [f"old={old}", f"new={old if same else new}", "--json", "it.json"]
        words += ["--log", "it.log", "--data", "dump.sql"]
        words += ["--blocks", str(blocks)] if blocks else ["--no-time"]
        command = [str(Path(sys.executable).with_name("dyno")), "rehearse", *words]
        began_s = time.monotonic()
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False
        )
        if not (folder / "it.json").exists():
            raise SystemExit(f"{pair}: exit {done.returncode}\n{done.stderr[-3000:]}")
        told = json.loads((folder / "it.json").read_text())["rehearsal"]
    print(told["sentence"], flush=True)
    found = {normalize(it["answers"]["text"]): it["word"] for it in told["classes"]}
    return found, time.monotonic() - began_s


def main() -> int:
    """Plays the pairs; 1 where an innocent statement is blamed."""
    parser = argparse.ArgumentParser(prog="bench/run rehearse")
    parser.add_argument("--quick", action="store_true", help="PostgreSQL, without time")
    parser.add_argument("--pair", choices=PAIRS, action="append")
    parser.add_argument("--each", type=int, default=1, help="plays of each pair")
    parser.add_argument("--blocks", type=int, default=0, help="blocks of time; 0: none")
    parser.add_argument("--same", action="store_true", help="the old release on both sides")
    words = parser.parse_args()
    if words.quick:
        words.pair = ["postgres"]
    rows, blamed = [], 0
    for pair in words.pair or PAIRS:
        for seed in range(1, words.each + 1):
            cases = [*list_injected(PAIRS[pair][2]), *list_innocent(PAIRS[pair][2])]
            found, seconds = rehearse(pair, cases, seed, words.blocks, words.same)
            hits, of = Counter[str](), Counter[str]()
            for case in cases:
                word = found.get(normalize(case.sent.format(n=1)), "left out")
                of[case.kind] += 1
                hits[case.kind] += word in case.words
                is_blame = word in BLAMES or (words.same and word in LESSER)
                blamed += case.kind == "innocent" and is_blame
                if word not in case.words:
                    print(f"{pair} {seed}: {case.kind}: {word}: {case.sent}", flush=True)
            rows += [(pair, str(seed), kind, f"{hits[kind]} of {n}", "") for kind, n in of.items()]
            rows.append((pair, str(seed), "all of it", "", f"{seconds:.0f} s"))
    head = ("pair", "play", "kind", "named as it is", "took")
    report([head, *rows], {"bench": "rehearse", "blamed": blamed})
    return int(blamed > 0)


if __name__ == "__main__":
    sys.exit(main())
