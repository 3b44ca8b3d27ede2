"""A Python client's l.i0: builds the insert benchmark's rows and SQL and hands them to nothing.

It is written as such clients are: `random` for each column, one format per row, one join per
statement. Prints its wall time and CPU per row in ns, so that the driver's floor has a peer.
"""

from __future__ import annotations

import random
import sys
import time

REGISTERS, CUSTOMERS, PRODUCTS, PRICES = 1000, 100_000, 10_000, 500
POOL = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=65536))
HEAD = "insert into pi1 (dateandtime,cashregisterid,customerid,productid,price,data) values "


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


def costs_ns(rows: int, batch: int) -> tuple[float, float]:
    """Wall time and CPU per row in ns, over `rows` rows in statements of `batch`."""
    cursor = Nothing()
    began_ns, used_ns = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(rows // batch):
        cursor.execute(statement(batch))
    return (
        (time.perf_counter_ns() - began_ns) / rows,
        (time.process_time_ns() - used_ns) / rows,
    )


if __name__ == "__main__":
    print(*costs_ns(int(sys.argv[1]), int(sys.argv[2])))
