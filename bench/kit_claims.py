"""What the articles claim of the kit's forerunners, played with the kit (CLAIMS A14, A16, async).

A14: a list of the 400,000 keys of two manufacturers out of a million rows, by GROUP_CONCAT, from an
index of `fb_*` and from stored bitmaps, beside the plain query that sends them all. A16: 18,801
nested documents, three of which have one name, and the sum of all their `id`s. Async or serial:
eight sums over all rows, one after the other and queued, with as many workers as there are cores.
Times are the server's own (of the plain query the client's), medians of 5 rounds in turn. The
server has both cores.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial

from kit import FILL, timed, with_kit
from serving import command

from dyno import driver
from dyno.engines import Server
from dyno.servers.kit import routines
from dyno.servers.kit import server as kit_server

SERVERS = ("mysql@5.6.14", "mysql@8.0.33", "mariadb@debian")
PARTS = ("async", "bitmap", "files", "json")
ROWS, DOCUMENTS, FOUND, JOBS = 1_000_000, 18_801, 3, 8
WHERE = "p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2'"
PART = (
    *FILL[:2],
    "CREATE TABLE dyno.part (p_partkey INT PRIMARY KEY, p_mfgr CHAR(6), p_name VARCHAR(40))"
    " ENGINE=InnoDB CHARACTER SET latin1",
    "INSERT INTO dyno.part SELECT n, CONCAT('MFGR#', 1 + n % 5), CONCAT('part number ', n) FROM"
    " (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d AS n FROM"
    " dyno.digit a, dyno.digit b, dyno.digit c, dyno.digit d, dyno.digit e, dyno.digit f) AS n"
    " WHERE n < {rows}",
    "DO fb_create('part', 'p_partkey:int, p_mfgr:key')",
    "SELECT fb_insert2('part', p_partkey, p_mfgr) FROM dyno.part",
    "CREATE TABLE dyno.keys_of (p_mfgr CHAR(6) PRIMARY KEY, ids LONGBLOB)",
    "INSERT INTO dyno.keys_of SELECT p_mfgr, rb_build_agg(p_partkey) FROM dyno.part GROUP BY 1",
)
PLAIN = f"SELECT p_partkey FROM dyno.part WHERE {WHERE}"
LISTS = {
    "A14, GROUP_CONCAT": f"SELECT LENGTH(GROUP_CONCAT(p_partkey)) INTO @n FROM dyno.part"
    f" WHERE {WHERE}",
    "A14, fb_inlist": "SELECT LENGTH(fb_inlist('part',"
    " \"p_partkey WHERE p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2'\")) INTO @n",
    "A14, stored bitmaps": "SELECT LENGTH(rb_to_list(rb_or_agg(ids))) INTO @n FROM dyno.keys_of"
    f" WHERE {WHERE}",
}
#: Every name is in three documents, and each has nine `id`s at three depths.
NESTED = (
    '{"id": %d, "last_name": "name %d", "invoices": [{"id": 1, "lines": [{"id": 2, "n": 4},'
    ' {"id": 3, "n": 1}, {"id": 4, "n": 7}]}, {"id": 5, "lines": [{"id": 6}, {"id": 7}]}],'
    ' "address": {"id": 8, "town": {"name": "Asti", "zip": "14100"}}, "note": "%s"}'
)
NOTE = "a plain chair that stands on four legs of ash " * 8
INDEXED = "dyno.json2.doc"
#: What was published of a way, by the beginning of its name: J. Swanhart with FastBit's functions
#: (A14) and his JSON functions (A16).
PUBLISHED = {
    "A14, rows sent": "0.24 s",
    "A14, GROUP_CONCAT": "43.25 s",
    "A14, fb_inlist": "0.16 s",
    "A16, an index": "26.34 s",
    f"A16, {FOUND} by kit.search": "0.00 s",
    "A16, a sum": "2.90 s",
}
SOURCE = (
    "published: J. Swanhart, 2016 (A14) and 2015 (A16), MySQL 5.6 on a machine that is not named; "
    "a quick play has a twentieth of the rows, and its times stand beside nothing"
)


def print_medians(ways: dict[str, Callable[[], float]], rounds: int) -> None:
    """Plays all in turn and prints what each takes."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name].append(way())
    for name, times in taken.items():
        print_time(name, statistics.median(times))


def print_time(name: str, time_s: float) -> None:
    """A line, with what was published of the same."""
    published = next((it for start, it in PUBLISHED.items() if name.startswith(start)), "–")
    print(f"  {name:42} {time_s:8.4f} s   {published:>8}", flush=True)


def sent(server: Server, keys: int) -> float:
    """Seconds until the client has all keys as rows."""
    begin = time.monotonic()
    (found,) = driver.ask(server.session, [PLAIN])
    if len(found) != keys:
        raise SystemExit(f"{len(found)} keys in the place of {keys}")
    return time.monotonic() - begin


def lists(server: Server, rounds: int, rows: int) -> None:
    """A14."""
    driver.ask(server.session, [it.format(rows=rows) for it in PART], 300)
    ways = {name: partial(timed, server, statement) for name, statement in LISTS.items()}
    print_medians({"A14, rows sent": partial(sent, server, rows * 2 // 5), **ways}, rounds)


def documents(kit: kit_server.KitServer, server: Server, rounds: int, number: int) -> None:
    """A16."""
    kind = "LONGTEXT CHARACTER SET utf8mb4" if kit.number < (5, 7) else "JSON"
    kit.query(f"CREATE TABLE dyno.json2 (id INT PRIMARY KEY, doc {kind}) ENGINE=InnoDB")
    for first in range(0, number, 5000):
        some = range(first, min(first + 5000, number))
        rows = ", ".join(f"({n}, '{NESTED % (n, n // FOUND, NOTE)}')" for n in some)
        kit.query(f"INSERT INTO dyno.json2 VALUES {rows}")
    # else a server takes the table for an empty one for seconds, and reads all of it
    kit.query("ANALYZE TABLE dyno.json2")
    begin = time.monotonic()
    routines.create_index(kit, INDEXED)
    print_time(f"A16, an index over {number} documents", time.monotonic() - begin)
    wanted = f'{{"last_name": "name {number // FOUND // 2}"}}'
    search = f"CALL kit.search('{INDEXED}', '{wanted}')"
    if len(found := kit.query(search)) != FOUND:
        raise SystemExit(f"{len(found)} documents found in the place of {FOUND}")
    text = "CONVERT(doc USING utf8mb4)"
    looked_up = (
        f"SELECT COUNT(*) INTO @n FROM dyno.json2 d JOIN kit.`{INDEXED}` t USING (id)"
        f" WHERE t.kit_token = UNHEX(LEFT(json_tokens('{wanted}'), 16))"
        f" AND json_holds(CONVERT(d.doc USING utf8mb4), '{wanted}')"
    )
    scan = f"SELECT COUNT(*) INTO @n FROM dyno.json2 WHERE json_holds({text}, '{wanted}')"
    summed = f"SELECT jsum(json_extract_all({text}, 'id')) INTO @n FROM dyno.json2"
    ways = {
        f"A16, {FOUND} by kit.search": search,
        f"A16, {FOUND} by a statement over the index": looked_up,
        "A16, by a scan": scan,
        "A16, a sum": summed,
    }
    print_medians({name: partial(timed, server, it) for name, it in ways.items()}, rounds)


def async_or_serial(server: Server, rounds: int) -> None:
    """Eight statements that each keep a core busy."""
    statements = [
        f"SELECT SUM(CRC32(CONCAT(p_name, {n}))) AS total FROM dyno.part" for n in range(JOBS)
    ]
    driver.ask(server.session, [f"CALL async.set_concurrency({os.cpu_count() or 1})"])
    queued = [f"CALL async.queue('{it}')" for it in statements]
    ways = {
        f"{JOBS} sums, one after the other": partial(timed, server, *statements),
        f"{JOBS} sums, queued": partial(timed, server, *queued, "CALL async.wait_all()"),
    }
    print_medians(ways, rounds)


def main() -> None:
    words = command("kit-claims", SERVERS).parse_args()
    rounds, share = (1, 20) if words.quick else (5, 1)
    cores = os.cpu_count() or 1
    print(f"here: {cores} core{'s' if cores > 1 else ''}, {platform.machine()}; {SOURCE}")
    print(f"  {'':42} {'here':>10}   {'published':>8}")
    for spec in words.server:
        with with_kit(spec, PARTS) as (server, kit):
            lists(server, rounds, ROWS // share)
            documents(kit, server, rounds, DOCUMENTS // share)
            async_or_serial(server, rounds)


if __name__ == "__main__":
    main()
