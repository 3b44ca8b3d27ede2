"""What `fb_*` and `rb_*` take, each beside the plain SQL that people use, on the same server.

A million rows with two columns of five values: two sets of 400,000 keys, 160,000 of them in both.
Lines loaded, rows added together and one by one, beside InnoDB's with indexes of the same columns;
the sets' keys counted, summed and listed by an index of `fb_*`, beside the server's own; two stored
bitmaps combined, beside temporary tables that are joined; the rows of a set read by a list behind
IN, by a temporary table, by a bitmap. Times are the server's own, medians of 3 rounds in turn with
the smallest and the largest, and rows or keys a second. The server has both cores.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from kit import FILL, TIMER, with_kit
from serving import command

from dyno import driver
from dyno.engines import Server

SERVERS = ("mysql@5.6.14", "mysql@8.0.33", "mariadb@debian")
PARTS = ("bitmap", "files")
ROWS, SINGLE = 1_000_000, 200
A, B = "town IN (1, 2)", "grade IN (1, 2)"
COLUMNS = "id INT PRIMARY KEY, town TINYINT, grade TINYINT, v INT"
KEPT = f"({COLUMNS}, KEY (town), KEY (grade)) ENGINE=InnoDB"
INDEX = "'id:uint,town:ubyte,grade:ubyte,v:int'"
FRESH = "DO IF(FIND_IN_SET('fresh', CONVERT(fb_list() USING utf8mb4)), fb_drop('fresh'), 0)"
PREPARE = (
    # what is added is on the disk when it is told, there as here
    "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
    *FILL[:2],
    f"CREATE TABLE dyno.shop {KEPT}",
    "INSERT INTO dyno.shop SELECT n, 1 + n % 5, 1 + (n DIV 5) % 5, n % 100 FROM (SELECT a.d"
    " + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d AS n FROM dyno.digit a,"
    " dyno.digit b, dyno.digit c, dyno.digit d, dyno.digit e, dyno.digit f) AS n WHERE n < {rows}",
    "ANALYZE TABLE dyno.shop",
    f"DO fb_create('shop', {INDEX})",
    "SELECT fb_insert2('shop', id, town, grade, v) FROM dyno.shop",
    "CREATE TABLE dyno.sets (a LONGBLOB, b LONGBLOB)",
    f"INSERT INTO dyno.sets SELECT (SELECT rb_build_agg(id) FROM dyno.shop WHERE {A}),"
    f" (SELECT rb_build_agg(id) FROM dyno.shop WHERE {B})",
)
#: The lines of both sets' rows, which `fb_load` takes.
LINES = (
    "SET SESSION group_concat_max_len = 33554432",
    "SELECT GROUP_CONCAT(CONCAT_WS(',', id, town, grade, v) SEPARATOR '\\n') INTO @lines"
    f" FROM dyno.shop WHERE {A}",
)
EMPTY = ("DROP TABLE IF EXISTS dyno.fresh", f"CREATE TABLE dyno.fresh {KEPT}")
NEW_INDEX = (FRESH, f"DO fb_create('fresh', {INDEX})")
KEYS_OF = (
    "CREATE TEMPORARY TABLE dyno.keys_of_{0} (PRIMARY KEY (id)) AS SELECT id FROM dyno.shop WHERE"
)
TWO_TABLES = (f"{KEYS_OF.format('a')} {A}", f"{KEYS_OF.format('b')} {B}")
IN_LIST = (
    LINES[0],
    f"SELECT CONCAT('SELECT SUM(v) INTO @n FROM dyno.shop WHERE id IN (', GROUP_CONCAT(id), ')')"
    f" INTO @asked FROM dyno.shop WHERE {A}",
)


@dataclass(frozen=True)
class Way:
    """Statements that are timed, of how many rows or keys, and what comes before."""

    name: str
    share: float
    timed: tuple[str, ...]
    before: tuple[str, ...] = ()


def by_fb(query: str, function: str = "query") -> tuple[str, ...]:
    return (f"SELECT LENGTH(fb_{function}('shop', '{query}')) INTO @n",)


def of_sets(call: str) -> tuple[str, ...]:
    return (f"SELECT rb_cardinality({call}) INTO @n FROM dyno.sets",)


WAYS = (
    Way("fb_load, lines", 0.4, ("DO fb_load('fresh', @lines)",), (*LINES, *NEW_INDEX)),
    Way(
        "fb_insert2 from a table",
        0.4,
        (f"SELECT fb_insert2('fresh', id, town, grade, v) INTO @n FROM dyno.shop WHERE {A}",),
        NEW_INDEX,
    ),
    Way(
        "INSERT ... SELECT, two indexes",
        0.4,
        (f"INSERT INTO dyno.fresh SELECT * FROM dyno.shop WHERE {A}",),
        EMPTY,
    ),
    Way(
        "fb_insert, one by one",
        SINGLE / ROWS,
        tuple(f"DO fb_insert('fresh', '{n}|1|1|1')" for n in range(SINGLE)),
        NEW_INDEX,
    ),
    Way(
        "INSERT, one by one",
        SINGLE / ROWS,
        tuple(f"INSERT INTO dyno.fresh VALUES ({n}, 1, 1, 1)" for n in range(SINGLE)),
        EMPTY,
    ),
    Way("fb_query, keys of both counted", 0.16, by_fb(f"COUNT(*) WHERE {A} AND {B}")),
    Way(
        "SELECT COUNT(*), indexes",
        0.16,
        (f"SELECT COUNT(*) INTO @n FROM dyno.shop WHERE {A} AND {B}",),
    ),
    Way("fb_query, sums by town", 0.4, by_fb(f"town, SUM(v) WHERE {B}")),
    Way(
        "SELECT SUM ... GROUP BY",
        0.4,
        (
            f"SELECT MAX(s) INTO @n FROM (SELECT SUM(v) AS s FROM dyno.shop WHERE {B}"
            " GROUP BY town) AS sums",
        ),
    ),
    Way("fb_inlist", 0.4, by_fb(f"id WHERE {A}", "inlist")),
    Way(
        "GROUP_CONCAT",
        0.4,
        (f"SELECT LENGTH(GROUP_CONCAT(id)) INTO @n FROM dyno.shop WHERE {A}",),
        LINES[:1],
    ),
    Way(
        "rb_build_agg", 0.4, (f"SELECT LENGTH(rb_build_agg(id)) INTO @n FROM dyno.shop WHERE {A}",)
    ),
    Way("rb_and of two bitmaps", 0.8, of_sets("rb_and(a, b)")),
    Way(
        "join of two temporary tables",
        0.8,
        ("SELECT COUNT(*) INTO @n FROM dyno.keys_of_a JOIN dyno.keys_of_b USING (id)",),
        TWO_TABLES,
    ),
    Way(
        "  and made first",
        0.8,
        (*TWO_TABLES, "SELECT COUNT(*) INTO @n FROM dyno.keys_of_a JOIN dyno.keys_of_b USING (id)"),
    ),
    Way("rb_or of two bitmaps", 0.8, of_sets("rb_or(a, b)")),
    Way(
        "UNION of two temporary tables",
        0.8,
        (
            "SELECT COUNT(*) INTO @n FROM (SELECT id FROM dyno.keys_of_a UNION"
            " SELECT id FROM dyno.keys_of_b) AS u",
        ),
        TWO_TABLES,
    ),
    Way(
        "rows by rb_contains",
        0.4,
        ("SELECT SUM(v) INTO @n FROM dyno.sets JOIN dyno.shop ON rb_contains(a, id)",),
    ),
    Way(
        "rows by a temporary table",
        0.4,
        (TWO_TABLES[0], "SELECT SUM(v) INTO @n FROM dyno.keys_of_a JOIN dyno.shop USING (id)"),
    ),
    Way(
        "rows by IN and the keys' list",
        0.4,
        ("PREPARE asked FROM @asked", "EXECUTE asked"),
        IN_LIST,
    ),
)


def timed(server: Server, way: Way) -> float:
    """Seconds that a way takes in the server, in a session of its own."""
    told = driver.ask(
        server.session, [*way.before, "SET @begin = SYSDATE(6)", *way.timed, TIMER], 300
    )
    return int(told[-1][0][0] or 0) / 1e6


def main() -> None:
    words = command("kit-sets", SERVERS).parse_args()
    rounds, rows = (1, ROWS // 20) if words.quick else (3, ROWS)
    for spec in words.server:
        with with_kit(spec, PARTS) as (server, _):
            driver.ask(server.session, [it.format(rows=rows) for it in PREPARE], 300)
            taken: dict[str, list[float]] = {way.name: [] for way in WAYS}
            for _ in range(rounds):
                for way in WAYS:
                    taken[way.name].append(timed(server, way))
            for way in WAYS:
                times = taken[way.name]
                took_s = statistics.median(times)
                number = SINGLE if way.share * ROWS == SINGLE else way.share * rows
                print(
                    f"  {way.name:32} {1000 * took_s:9.2f} ms"
                    f" ({1000 * min(times):.2f} to {1000 * max(times):.2f}),"
                    f" {number / took_s:13,.0f}/s",
                    flush=True,
                )
            driver.ask(server.session, [FRESH, "DO fb_drop('shop')"])


if __name__ == "__main__":
    main()
