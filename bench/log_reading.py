"""How fast a server's log is read, and in how much memory: the curve over its size.

Each log is made up: two thirds point selects and updates as sysbench's, one third longer selects as
object-relational mappers write them, all with literals of their own, in 32 sessions. A child reads
it (all statements, gone through), then another lays it out (read, judged, spooled, written) and has
the driver play it on `null`; times are CPU times, so that a busy machine disturbs them little.
Target: 20 MB/s on a core, and 300 MB at 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from paired import BENCH
from played import NULL, plan, play

from dyno.engines.mysql import in_place as mysql
from dyno.engines.mysql.session_words import judge_session_words as words_of_mysql
from dyno.engines.postgres import in_place as postgres
from dyno.engines.postgres.session_words import judge_session_words as words_of_postgres
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.in_place import ServerRules
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.sessions import Bounds

MB = 1_000_000
SIZES_MB, QUICK_MB = (1, 10, 100, 1_000), (1,)
#: What is made once, and written again with another day.
BLOCK = 10 * MB
DAY = "2026-01-01"
COLUMNS = ", ".join(f"t0.customer_{name}" for name in ("id", "name", "street", "city", "since"))


def statements(rng: random.Random) -> Iterator[tuple[int, str]]:
    """Sessions and what they send."""
    while True:
        number, session = rng.randrange(1_000_000), rng.randrange(10, 42)
        for sql in (
            f"SELECT c FROM sbtest{rng.randrange(1, 9)} WHERE id={number}",
            f"UPDATE sbtest{rng.randrange(1, 9)} SET k=k+1 WHERE id={number} AND pad='{number:x}'",
            f"SELECT {COLUMNS} FROM customer t0 LEFT OUTER JOIN orders t1 ON t1.customer_id = t0.id"
            f" WHERE t0.city = 'it''s {number}' AND t1.total > {number / 7:.2f} AND t0.id IN"
            f" ({number}, {number + 1}, {number + 2}) ORDER BY t0.customer_name LIMIT 20",
        ):
            yield session, sql


def general(at_us: int, session: int, sql: str) -> str:
    return f"{DAY}T{clock(at_us)}Z\t{session:5d} Query\t{sql}\n"


def slow(at_us: int, session: int, sql: str) -> str:
    head = (
        f"# Time: {DAY}T{clock(at_us)}Z\n# User@Host: app[app] @ localhost []  Id: {session:5d}\n"
    )
    times = "# Query_time: 0.000250  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n"
    return f"{head}{times}SET timestamp=1767225600;\n{sql};\n"


def stderr(at_us: int, session: int, sql: str) -> str:
    prefix = f"{DAY} {clock(at_us)[:-3]} UTC [{session}] app@shop"
    return f"{prefix} LOG:  duration: 0.250 ms  statement: {sql}\n"


def csvlog(at_us: int, session: int, sql: str) -> str:
    stamp = f"{DAY} {clock(at_us)[:-3]} UTC"
    return (
        f'{stamp},"app","shop",{session},"[local]",695500.{session},1,"SELECT",{stamp},3/2,0,LOG,'
        f'00000,"duration: 0.250 ms  statement: {sql}",,,,,,,,,"app","client backend",,0\n'
    )


def jsonlog(at_us: int, session: int, sql: str) -> str:
    stamp = f"{DAY} {clock(at_us)[:-3]} UTC"
    said = {"timestamp": stamp, "user": "app", "dbname": "shop", "session_id": f"695500.{session}"}
    message = f"duration: 0.250 ms  statement: {sql}"
    return json.dumps({**said, "error_severity": "LOG", "message": message}) + "\n"


FORMS: dict[str, Callable[[int, int, str], str]] = {
    it.__name__: it for it in (general, slow, stderr, csvlog, jsonlog)
}


def clock(at_us: int) -> str:
    """The time of day."""
    seconds, micro = divmod(at_us, 1_000_000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{micro:06d}"


def write_log(path: Path, form: str, size: int) -> None:
    """A log of about `size` bytes."""
    lines, length, at_us = list[str](), 0, 0
    for session, sql in statements(random.Random(1)):
        at_us += 500
        lines.append(FORMS[form](at_us, session, sql))
        length += len(lines[-1])
        if length >= min(size, BLOCK):
            break
    block = "".join(lines)
    with path.open("w") as file:
        for number in range(max(1, size // BLOCK)):
            file.write(block.replace(DAY, f"2026-{number // 28 + 1:02d}-{number % 28 + 1:02d}"))


def measure_reading(path: Path) -> dict[str, float]:
    """CPU time of going through all statements, in a process of its own."""
    begin_s = time.process_time()
    count = sum(1 for _ in read_log(LogFile(path)).entries)
    return {"statements": count, "read_s": time.process_time() - begin_s, **peak()}


def measure_playing(path: Path) -> dict[str, float]:
    """CPU time of laying it out, and what the driver takes that plays it."""
    begin_s = time.process_time()
    replay = lay_out(path, True, lambda _: None)
    found = {"lay_out_s": time.process_time() - begin_s, **peak()}
    played = play(plan(NULL, str(replay.script), ["run"]))
    driver_kb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = played.phases["replay"].streams[0].done
    return {**found, "played": done, "driver_mb": driver_kb / 1024}


def measure_in_place(path: Path) -> dict[str, float]:
    """CPU time of laying it out for a server that is only read: each statement is judged, too."""
    is_mysql = path.stem in ("general", "slow")
    harmless, words = (mysql, words_of_mysql) if is_mysql else (postgres, words_of_postgres)
    quoting = Quoting(dollars=not is_mysql, backslashes=is_mysql, names_in_double=not is_mysql)
    rules = ServerRules(harmless.HARMLESS, words, frozenset({quoting}))
    begin_s = time.process_time()
    lay_out(path, False, lambda _: None, bounds=Bounds(rules=(rules,)))
    return {"in_place_s": time.process_time() - begin_s}


def peak() -> dict[str, float]:
    """The most memory that this process had (`ru_maxrss` knows its parent's, too)."""
    status = Path("/proc/self/status").read_text()
    (kb,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return {"peak_mb": int(kb) / 1024}


STEPS = {it.__name__: it for it in (measure_reading, measure_playing, measure_in_place)}


def in_child(step: str, path: Path, cache: Path) -> dict[str, float]:
    """What a step measures in a process of its own."""
    command = [sys.executable, str(BENCH / "log_reading.py"), "--step", step, "--file", str(path)]
    env = {**os.environ, "DYNO_CACHE": str(cache)}
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(form: str, size_mb: int) -> dict[str, float]:
    """Prints a row of the table."""
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as home:
        path = Path(home) / f"{form}.log"
        write_log(path, form, size_mb * MB)
        size = path.stat().st_size / MB
        read, laid, judged = (in_child(step, path, Path(home) / "cache") for step in STEPS)
    row = [
        f"{size:,.0f}", f"{read['statements']:,.0f}", f"{size / read['read_s']:.1f}",
        f"{size / laid['lay_out_s']:.1f}", f"{size / judged['in_place_s']:.1f}",
        f"{laid['lay_out_s']:.1f}",
        f"{max(read['peak_mb'], laid['peak_mb']):.0f}", f"{laid['driver_mb']:.0f}",
    ]  # fmt: skip
    print(f"| {form} | {' | '.join(row)} |", flush=True)
    return {"mb_per_s": size / laid["lay_out_s"], "peak_mb": laid["peak_mb"]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run log-reading")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--form", action="append", choices=FORMS, help="all by default")
    parser.add_argument(
        "--size", action="append", type=int, metavar="MB", help="1 to 1,000 by tens"
    )
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.step:
        print(json.dumps(STEPS[words.step](words.file)))
        return
    print(
        "| log | MB | statements | read, MB/s | laid out, MB/s | in place, MB/s | s of CPU "
        "| MB peak | driver, MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    sizes = words.size or (QUICK_MB if words.quick else SIZES_MB)
    rows = [measure(form, size) for form in words.form or FORMS for size in sizes]
    slowest, most = min(it["mb_per_s"] for it in rows), max(it["peak_mb"] for it in rows)
    print(json.dumps({"bench": "log-reading", "mb_per_s": slowest, "peak_mb": most,
                      "target_ratio": slowest / 20}))  # fmt: skip


if __name__ == "__main__":
    main()
