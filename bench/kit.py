"""The kit's functions and jobs beside what people do without them, on the same server, in turn.

Lists of 400,000 keys: from a stored bitmap, by GROUP_CONCAT, and by a temporary table with a join;
flattened JSON in MB/s; one of 20,000 nested documents by the index and by full scans, beside MySQL
8.0's own multi-valued index; a thousand trivial jobs with 8 workers, and 8 that sleep for a
second. Times are the server's own, medians of 5 rounds. The server is not pinned: workers need both
cores.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from serving import command, say

from dyno import driver
from dyno.engines import Server, find_engine
from dyno.runs.experiment.candidates import parse_candidate
from dyno.servers.kit import routines, verbs
from dyno.servers.kit import server as kit_server
from dyno.servers.kit.library import find_parts

SERVERS = ("mysql@5.6.14", "mysql@8.0.33", "mariadb@debian")
KEYS, DOCUMENTS, JOBS = 400_000, 20_000, 1_000
DOCUMENT = (
    '{"id": %d, "name": "chair number %d", "price": 12.50, "tags": ["blue", "wood", "garden"],'
    ' "made": {"in": "Asti", "by": {"first": "Ada", "last": "Rossi"}, "on": "2026-01-31"},'
    ' "sizes": [1, 2, 3.5, 40, 512], "text": "a plain chair that stands on four legs of ash"}'
)
PARTS = ("async", "bitmap", "json")
#: The keys that are wanted: every second one, so that no runs help.
FILL = (
    "CREATE TABLE dyno.digit (d INT)",
    "INSERT INTO dyno.digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
    "CREATE TABLE dyno.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
    "INSERT INTO dyno.t SELECT 2 * n, n % 100 FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d"
    " + 10000 * e.d + 100000 * f.d AS n FROM dyno.digit a, dyno.digit b, dyno.digit c,"
    " dyno.digit d, dyno.digit e, dyno.digit f) AS n WHERE n < {keys}",
    "CREATE TABLE dyno.maps (ids LONGBLOB)",
    "INSERT INTO dyno.maps SELECT rb_build_agg(id) FROM dyno.t",
)
#: What is done in turn: a list of all keys, or the sum over the rows of all keys.
LISTS = {
    "a list from a stored bitmap": "SELECT LENGTH(rb_to_list(ids)) INTO @n FROM dyno.maps",
    "a list by GROUP_CONCAT": "SELECT LENGTH(GROUP_CONCAT(id)) INTO @n FROM dyno.t",
    "a bitmap by rb_build_agg": "SELECT LENGTH(rb_build_agg(id)) INTO @n FROM dyno.t",
    "temporary table and join": "SELECT SUM(t.v) INTO @n FROM dyno.keys_of JOIN dyno.t USING (id)",
    "stored bitmap and rb_contains": "SELECT SUM(t.v) INTO @n FROM dyno.maps m"
    " JOIN dyno.t ON rb_contains(m.ids, t.id)",
}
#: What must be there first, and is timed, too.
BEFORE = {
    "temporary table and join": "CREATE TEMPORARY TABLE dyno.keys_of (PRIMARY KEY (id))"
    " AS SELECT id FROM dyno.t",
}
#: One document of many: by what only it holds, and by a value that is in all.
NESTED = (
    '{"id": %d, "made": {"in": "Asti", "by": {"first": "Ada", "last": "Rossi %d"}},'
    ' "parts": [{"what": "leg", "n": 4, "code": "leg %d"}, {"what": "top", "code": "top %d"}],'
    ' "sizes": [1, 2, 3.5, 40, 512], "text": "a plain chair that stands on four legs of ash"}'
)
WANTED = '{"made": {"in": "Asti"}, "parts": [{"code": "leg %d"}]}'
INDEXED = "dyno.nested.doc"
TIMER = "SELECT TIMESTAMPDIFF(MICROSECOND, @begin, SYSDATE(6))"


def timed(server: Server, *statements: str) -> float:
    """Seconds that these take in the server."""
    setting = "SET SESSION group_concat_max_len = 16777216"
    told = driver.ask(server.session, [setting, "SET @begin = SYSDATE(6)", *statements, TIMER], 300)
    return int(told[-1][0][0] or 0) / 1e6


def lists(server: Server, rounds: int) -> None:
    """Prints how long each way takes."""
    taken: dict[str, list[float]] = {name: [] for name in LISTS}
    for _ in range(rounds):
        for name, statement in LISTS.items():
            before = [BEFORE[name]] if name in BEFORE else []
            taken[name].append(timed(server, *before, statement))
    for name, times in taken.items():
        print(f"  {name:32} {statistics.median(times):8.3f} s")


def flattened(server: Server, rounds: int, documents: int) -> None:
    """Prints MB/s, with what a function that only looks at the text takes beside it."""
    rows = ", ".join(f"({n}, '{DOCUMENT % (n, n)}')" for n in range(documents))
    driver.ask(
        server.session,
        [
            "CREATE TABLE dyno.docs (id INT PRIMARY KEY, doc TEXT CHARACTER SET utf8mb4)",
            f"INSERT INTO dyno.docs VALUES {rows}",
        ],
    )
    ((size,),) = driver.ask(server.session, ["SELECT SUM(LENGTH(doc)) FROM dyno.docs"])[0]
    for name, call in {
        "json_flatten": "LENGTH(json_flatten(doc))",
        "json_flatten, paths": "LENGTH(json_flatten(doc, 'paths'))",
        "json_extract_all": "LENGTH(json_extract_all(doc, 'last'))",
        "CRC32 of the same": "CRC32(doc)",
    }.items():
        statement = f"SELECT SUM({call}) INTO @n FROM dyno.docs"
        took_s = statistics.median(timed(server, statement) for _ in range(rounds))
        print(f"  {name:32} {int(size or 0) / took_s / 1e6:8.0f} MB/s")


def searched(kit: kit_server.KitServer, rounds: int, documents: int) -> None:
    """Prints what a search takes by the index and without, and what the index costs."""
    rows = ", ".join(f"({n}, '{NESTED % (n, n, n, n)}')" for n in range(documents))
    kind = "LONGTEXT CHARACTER SET utf8mb4" if kit.number < (5, 7) else "JSON"
    for table in ("nested", "plain"):
        kit.query(f"CREATE TABLE dyno.{table} (id INT PRIMARY KEY, doc {kind}) ENGINE=InnoDB")
    kit.query(f"INSERT INTO dyno.plain VALUES {rows}")
    half = f"INSERT INTO dyno.nested SELECT * FROM dyno.plain WHERE id {{}} {documents // 2}"
    took_s = timed_by(kit, half.format("<"))
    print(f"  {'half of the documents inserted':32} {took_s:8.2f} s")
    begin = time.monotonic()
    routines.create_index(kit, INDEXED)
    print(f"  {'an index over them made':32} {time.monotonic() - begin:8.2f} s")
    took_s = timed_by(kit, half.format(">="))
    print(f"  {'the other half, indexed meanwhile':32} {took_s:8.2f} s")
    wanted = WANTED % (documents // 3)
    text = "CONVERT(doc USING utf8mb4)"
    call = f"CALL kit.search('{INDEXED}', '{wanted}')"
    before = {
        "kit.search, once more": call,
    }
    token = f"""UNHEX(LEFT(json_tokens('{{"parts": [{{"code": "leg {documents // 3}"}}]}}'), 16))"""
    ways = {
        "an empty statement": "DO 1",
        "a statement over the index": "SELECT SUM(d.id) INTO @n FROM dyno.nested d"
        f" JOIN kit.`{INDEXED}` t USING (id) WHERE t.kit_token = {token}"
        f" AND json_holds(CONVERT(d.doc USING utf8mb4), '{wanted}')",
        "kit.search, first of a session": call,
        "kit.search, once more": call,
        "full scan, json_holds": "SELECT SUM(id) INTO @n FROM dyno.plain"
        f" WHERE json_holds({text}, '{wanted}')",
    }
    if kit.number >= (5, 7):
        ways["full scan, JSON_CONTAINS"] = (
            f"SELECT SUM(id) INTO @n FROM dyno.plain WHERE JSON_CONTAINS(doc, '{wanted}')"
        )
    if not kit.is_mariadb and kit.number >= (8, 0, 17):
        path, leg = "doc->'$.parts[*].code'", f"leg {documents // 3}"
        kit.query(
            "CREATE TABLE dyno.multi (id INT PRIMARY KEY, doc JSON,"
            f" KEY codes ((CAST({path} AS CHAR(40) ARRAY))))",
            "INSERT INTO dyno.multi SELECT * FROM dyno.plain",
        )
        ways["its own multi-valued index"] = (
            f"SELECT SUM(id) INTO @n FROM dyno.multi WHERE '{leg}' MEMBER OF ({path})"
            f" AND JSON_CONTAINS(doc, '{wanted}')"
        )
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, statement in ways.items():
            taken[name].append(timed_by(kit, statement, before.get(name, "DO 1")))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, took_s in medians.items():
        ratio = medians["full scan, json_holds"] / took_s
        print(f"  {name:32} {1000 * took_s:8.2f} ms, the scan takes {ratio:.1f} x that")


def timed_by(kit: kit_server.KitServer, statement: str, before: str = "DO 1") -> float:
    """Seconds that a statement takes in the server, in a session that has played another one."""
    begin = "SET @begin = SYSDATE(6)"
    rows = kit.ask(kit.session, [before, begin, statement, TIMER])[-1]
    return int(rows[0][0] or 0) / 1e6


def jobs(server: Server, rounds: int, number: int) -> None:
    """Prints how long jobs take from the first that is queued to the last that has ended."""
    last = "CALL async.wait_all()"
    for name, count, statement in (
        (f"{number} jobs DO 1", number, "DO 1"),
        (f"{number} jobs SELECT 1", number, "SELECT 1"),
        ("8 jobs DO SLEEP(1)", 8, "DO SLEEP(1)"),
    ):
        calls = [f"CALL async.queue('{statement}')"] * count
        took_s = statistics.median(timed(server, *calls, last) for _ in range(rounds))
        print(f"  {name:32} {took_s:8.2f} s")


@contextmanager
def with_kit(spec: str, parts: tuple[str, ...]) -> Iterator[tuple[Server, kit_server.KitServer]]:
    """A server on all cores with these parts, and as the kit sees it."""
    parsed = parse_candidate(spec)
    engine = find_engine(parsed.engine, driver.ask)
    build = engine.program(parsed.build, {}, say)
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as folder:
        Path(folder).chmod(0o755)  # the server's user, who is not root, passes through
        home, plugins = Path(folder) / "server", Path(folder) / "plugins"
        home.mkdir()
        plugins.mkdir()
        own = {"plugin_dir": f"{plugins}/", "event_scheduler": "ON", "max_allowed_packet": "64M"}
        # thousands of results are tables, too (docs/guides/kit/async-jobs.md, Limits)
        own["table_definition_cache"] = "20000"
        server = engine.start(build, home, own | parsed.keys)
        try:
            ((version,),) = driver.ask(server.session, ["SELECT VERSION()"])[0]
            kit = kit_server.KitServer(driver.ask, server.session, str(version), plugins, near=True)
            verbs.install(kit, find_parts(parts), say)
            print(f"{spec} ({version})")
            yield server, kit
        finally:
            engine.stop(server)


def played(spec: str, quick: bool) -> None:
    """One server."""
    rounds, share = (1, 20) if quick else (5, 1)
    with with_kit(spec, PARTS) as (server, kit):
        driver.ask(server.session, [it.format(keys=KEYS // share) for it in FILL])
        lists(server, rounds)
        flattened(server, rounds, DOCUMENTS // share)
        searched(kit, rounds, DOCUMENTS // share)
        jobs(server, rounds if quick else 3, JOBS // share)


def main() -> None:
    words = command("kit", SERVERS).parse_args()
    for spec in words.server:
        played(spec, words.quick)


if __name__ == "__main__":
    main()
