"""A dump loaded by us, and by `psql` or `mysql`, in turn into the same server: time and memory.

The dumps are made as `pg_dump` and `mysqldump` write them: rows of COPY or of INSERTs of a megabyte
for `--size`, single INSERTs for a twentieth of it. Ours is all of it, from a new process on: the
outline, which reads the file once, and the load. Memory is the most that was resident: of our
Python and our driver together, or of the client. Server on core 0, client on core 1. `--size 1G`
takes about eight minutes with `--rounds 1`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from paired import table
from serving import CLIENT_CORE, command, pinned, serving

from dyno import driver, numbers
from dyno.builds.suite_tree import SuiteProgram, fetch_tree
from dyno.driver.plan import Plan, Script, Session

SERVERS = ("postgres@18", "mysql@8.0.33")
#: The most that ours may take of the client's time, and of memory in bytes.
RATIO_MOST, MEMORY_MOST = 1.3, 200 << 20
SINGLE_PART = 20
#: Bytes of INSERTs of many rows, as mysqldump has them.
NET_BUFFER = 1_000_000
TABLE = "CREATE TABLE item (id integer PRIMARY KEY, name varchar(80), state integer, note text);\n"
LIMIT_S = 3600.0


@dataclass(frozen=True)
class Taken:
    """Seconds, and the bytes that were resident at most."""

    seconds: float
    bytes: int


def rows(size: int) -> Iterator[tuple[int, str, int, str]]:
    """Rows of about `size` bytes in all."""
    note, written, at = "it's a note; with \\ and more of it, as people write" * 2, 0, 0
    while written < size:
        yield at, f"the name of {at * 7919 % 1_000_003}", at % 17, note
        written, at = written + 150, at + 1


def write_copy(size: int, out: Path) -> None:
    """As pg_dump writes rows by default."""
    with out.open("w") as file:
        file.write(f"--\n-- PostgreSQL database dump\n--\n\n{TABLE}")
        file.write("COPY public.item (id, name, state, note) FROM stdin;\n")
        for at, name, state, note in rows(size):
            escaped = note.replace("\\", "\\\\")
            file.write(f"{at}\t{name}\t{state}\t{escaped}\n")
        file.write("\\.\n\n--\n-- PostgreSQL database dump complete\n--\n")


def write_single(size: int, out: Path) -> None:
    """As pg_dump --inserts does."""
    with out.open("w") as file:
        file.write(f"--\n-- PostgreSQL database dump\n--\n\n{TABLE}")
        for at, name, state, note in rows(size // SINGLE_PART):
            quoted = note.replace("'", "''")
            file.write(f"INSERT INTO public.item VALUES ({at}, '{name}', {state}, '{quoted}');\n")
        file.write("\n--\n-- PostgreSQL database dump complete\n--\n")


def write_extended(size: int, out: Path) -> None:
    """As mysqldump writes rows by default."""
    _write_mysql(size, out, NET_BUFFER)


def write_mysql_single(size: int, out: Path) -> None:
    """As mysqldump --skip-extended-insert does."""
    _write_mysql(size // SINGLE_PART, out, 0)


def _write_mysql(size: int, out: Path, buffer: int) -> None:
    with out.open("w") as file:
        file.write(f"-- MySQL dump 10.13  Distrib 8.0.33\n/*!40101 SET NAMES utf8mb4 */;\n{TABLE}")
        length = 0
        for at, name, state, note in rows(size):
            escaped = note.replace("\\", "\\\\").replace("'", "\\'")
            row = f"({at},'{name}',{state},'{escaped}')"
            is_next = length > 0 and length + len(row) < buffer
            begin = "," if is_next else "INSERT INTO `item` VALUES "
            file.write(f"{begin}{row}" if is_next or not at else f";\n{begin}{row}")
            length = length + len(row) if is_next else len(row)
        file.write(";\n-- Dump completed on 2026-01-01\n")


Writer = Callable[[int, Path], None]
KINDS: dict[str, dict[str, Writer]] = {
    "postgres": {"COPY": write_copy, "single INSERTs": write_single},
    "mysql": {"INSERTs of 1 MB": write_extended, "single INSERTs": write_mysql_single},
}


def clear(session: Session) -> None:
    driver.ask(session, ["DROP TABLE IF EXISTS item"])


def by_client(session: Session, file: Path) -> Taken:
    """By the server's own client."""
    environment = dict(os.environ)
    if session["kind"] == "postgres":
        socket = Path(session["host"])
        words = ["psql", "-qX", "-o", os.devnull, "-h", str(socket.parent)]
        words += ["-p", socket.suffix[1:], "-U", session["user"], session["database"]]
    else:
        tree = fetch_tree(SuiteProgram("sid", ("mysql-client-core",), MYSQL), "", print)
        environment["MYSQL_PWD"] = session["password"] or ""
        words = [str(tree.folder / MYSQL[1]), f"--user={session['user']}"]
        words += [f"--socket={session['host']}", session["database"]]
    began = time.perf_counter()
    with file.open("rb") as given:
        process = subprocess.Popen([*pinned(CLIENT_CORE), *words], stdin=given, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{words[0]} ended with {status}")
    return Taken(time.perf_counter() - began, used.ru_maxrss << 10)


MYSQL = ("usr/bin/mysqldump", "usr/bin/mysql")


def by_us(session: Session, file: Path) -> Taken:
    """By a new process of ours."""
    words = [*pinned(CLIENT_CORE), sys.executable, __file__, "--load", repr(session), str(file)]
    began = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise SystemExit(done.stderr)
    return Taken(time.perf_counter() - began, int(done.stdout.split()[-1]))


def load(session: Session, file: Path) -> None:
    """All that a trial does until its tables are there; prints the bytes that it held at most."""
    from dyno.runs.experiment.candidates import parse_candidate
    from dyno.runs.resolve.setup_files import make_ready

    ready = make_ready(file, [parse_candidate(f"{session['kind']}@x")], lambda _: None)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "one.sql"
        script.write_text("SELECT 1;\n")
        options = {"events": "1", "warmup_time": "0"} | ready.list_options()
        plan = Plan(session, Script(str(script), options), 7, ("prepare",), progress_s=0)
        launch = driver.DriverLaunch(Path(folder) / "driver.log")
        with driver.DriverProcess(plan, launch) as process:
            limit = driver.Limit("the load", LIMIT_S)
            while not isinstance(process.read_event(limit), driver.End):
                process.go()
    whole = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    print(sum(resource.getrusage(each).ru_maxrss for each in whole) << 10)


def measured(at: str, words: Namespace, folder: Path) -> list[tuple[str, ...]]:
    """One server: a row for each kind of dump."""
    found = []
    with serving(at) as server:
        for name, write in KINDS[server.session["kind"]].items():
            file = folder / "dump.sql"
            write(words.bytes, file)
            sides = {"ours": by_us, "client": by_client}
            taken: dict[str, list[Taken]] = {side: [] for side in sides}
            counts = set[str]()
            for number in range(words.rounds or (1 if words.quick else 3)):
                for side in list(sides)[:: 1 if number % 2 == 0 else -1]:
                    clear(server.session)
                    taken[side].append(sides[side](server.session, file))
                    ((count,),) = driver.ask(server.session, ["SELECT count(*) FROM item"])[0]
                    counts.add(str(count))
            if len(counts) > 1:
                raise SystemExit(f"{at}, {name}: other numbers of rows: {counts}")
            found.append(_describe(f"{at}, {name}", file.stat().st_size, taken))
            clear(server.session)
    return found


def _describe(case: str, size: int, taken: dict[str, list[Taken]]) -> tuple[str, ...]:
    seconds = {side: median(it.seconds for it in each) for side, each in taken.items()}
    peak = {side: max(it.bytes for it in each) for side, each in taken.items()}
    ratio = seconds["ours"] / seconds["client"]
    is_ok = ratio <= RATIO_MOST and peak["ours"] <= MEMORY_MOST
    megabytes = [f"{peak[side] / 1e6:.0f} MB" for side in ("ours", "client")]
    times = [f"{seconds[side]:.1f} s" for side in ("ours", "client")]
    judged = "ok" if is_ok else "short"
    return (case, f"{size / 1e6:.0f} MB", *times, f"{ratio:.2f}", *megabytes, judged)


def main() -> None:
    if sys.argv[1:2] == ["--load"]:
        from ast import literal_eval

        load(literal_eval(sys.argv[2]), Path(sys.argv[3]))
        return
    parser = command("dump-load", SERVERS)
    parser.add_argument("--size", default="", help="bytes of each dump: 100M, 1G")
    parser.add_argument("--rounds", type=int, help="how often each side loads each dump")
    words = parser.parse_args()
    words.bytes = numbers.parse_size_bytes(words.size or ("10M" if words.quick else "100M"))
    found = []
    with tempfile.TemporaryDirectory(prefix="dyno-bench-", dir="/var/tmp") as folder:
        for at in words.server:
            found += measured(at, words, Path(folder))
    head = ("server, dump", "size", "ours", "client", "ratio", "ours", "client's", "")
    table([head, *found])
    if any(row[-1] == "short" for row in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
