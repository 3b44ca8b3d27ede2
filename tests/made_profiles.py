"""A profile of a server, made up: three layers, a wait, a statement with its plan."""

from __future__ import annotations

import random

from dyno.record.profile import CpuProfile, CpuSlice, ProfiledFunction
from dyno.record.server_profile import CpuTimes, ServerProfile, StatementTime, WaitSlice
from dyno.record.waits import SessionState

SECOND_NS = 1_000_000_000
LAYERS = {"scan": "storage engine", "parse": "parser", "rest": "kernel: other"}


def make_profile(seed: int, slices: int = 30, **samples: int) -> ServerProfile:
    """Functions with so many samples a second, more or less; locks and a statement beside them."""
    rng = random.Random(seed)
    names = list(LAYERS)
    counts = [
        [round(samples.get(name, 40) * rng.uniform(0.9, 1.1)) for name in names]
        for _ in range(slices)
    ]
    functions = tuple(
        ProfiledFunction(name, "/bin/postgres", at, "", sum(it[at] for it in counts), LAYERS[name])
        for at, name in enumerate(names)
    )
    taken = tuple(CpuSlice(SECOND_NS, tuple(enumerate(it))) for it in counts)
    total = sum(it.samples for it in functions)
    waits = tuple(
        WaitSlice(SECOND_NS, 4, (SessionState("running", "", rng.randint(7, 9)),))
        for _ in range(slices)
    )
    calls = tuple(rng.randint(90, 110) for _ in range(slices))
    times = tuple(n * rng.randint(900, 1100) for n in calls)
    text = "SELECT 1 <b>bold</b>"
    statement = StatementTime(
        "shop/1", "shop", text, sum(times), times, sum(calls), 1, calls, "Seq Scan on item"
    )
    return ServerProfile(
        "localhost:5432/shop",
        "postgres",
        "18",
        f"2026-11-27 10:00:{seed:02}",
        float(slices),
        float(slices),
        1.0,
        2,
        0.7,
        (1,),
        CpuTimes(CpuProfile(total, 0, 2_000_000, functions), taken),
        waits,
        (statement,),
        "pg_stat_statements",
        (SECOND_NS,) * slices,
    )
