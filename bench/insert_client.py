"""A Python client's l.i0: builds the insert benchmark's rows and SQL, for nothing or a server.

It is written as such clients are: `random` for each column, one format per row, one join per
statement. Prints its wall time and its CPU per row, user and kernel, in ns, so that the driver has
a peer. With a third argument, libpq's words for a server, the rows go there (psycopg 3, autocommit)
into the table `pi1`.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from typing import Protocol

REGISTERS, CUSTOMERS, PRODUCTS, PRICES = 1000, 100_000, 10_000, 500
POOL = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=65536))
HEAD = "insert into pi1 (dateandtime,cashregisterid,customerid,productid,price,data) values "


class Cursor(Protocol):
    def execute(self, sql: str) -> object: ...


class Nothing:
    """A cursor whose engine does nothing."""

    def execute(self, sql: str) -> int:
        return len(sql)


def row(date: str) -> str:
    length = random.randint(10, 20)
    part = length // 2
    at = random.randrange(len(POOL) - part)
    data = "a" * (length - part) + POOL[at : at + part]
    return "('%s',%d,%d,%d,%.2f,'%s')" % (  # noqa: UP031 - as the clients of its kind do
        date,
        random.randrange(REGISTERS),
        random.randrange(CUSTOMERS),
        random.randrange(PRODUCTS),
        random.random() * PRICES,
        data,
    )


def statement(batch: int) -> str:
    date = time.strftime("%Y-%m-%d %H:%M:%S")
    return HEAD + ",".join([row(date) for _ in range(batch)])


def cursor(where: str) -> Cursor:
    """One on a server, or on nothing."""
    if not where:
        return Nothing()
    import psycopg

    found: Cursor = psycopg.connect(where, autocommit=True).cursor()
    return found


def costs_ns(at: Cursor, rows: int, batch: int) -> tuple[float, float, float]:
    """Wall time, user and kernel CPU per row in ns, over `rows` rows in statements of `batch`."""
    began_ns, before = time.perf_counter_ns(), resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(rows // batch):
        at.execute(statement(batch))
    wall_ns, after = time.perf_counter_ns() - began_ns, resource.getrusage(resource.RUSAGE_SELF)
    user_s, kernel_s = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return wall_ns / rows, user_s * 1e9 / rows, kernel_s * 1e9 / rows


if __name__ == "__main__":
    rows, batch, *where = sys.argv[1:]
    print(*costs_ns(cursor("".join(where)), int(rows), int(batch)))
