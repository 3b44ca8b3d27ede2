"""Percentiles of streams, threads and types: from histograms added up, never averaged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import trial
from fakes import make_latency, make_record, make_run, make_tally, make_trial
from hdr import added_up, encoded, percentile
from judging import judge_unaudited
from msgspec import structs

from dyno.driver.plan import Plan, Script
from dyno.judge.analysis.measures import compute_joint_percentiles, compute_measures
from dyno.record import Metric, PhaseRecord, Tally

P99 = Metric("select", "run", "all query streams", "latency_ns_p99", "ns", "lower")
TYPES = """
function event(thread)
   dyno.transaction(sysbench.rand.uniform(1, 4) == 1 and "slow" or "quick")
   local turns = sysbench.rand.uniform(1, 4) == 1 and 40 or 1
   for _ = 1, turns do con:query("SELECT 1") end
end
function thread_init() con = sysbench.sql.driver():connect() end
"""

STREAMS = """
function thread_init() con = sysbench.sql.driver():connect() end
function one() con:query("SELECT 1") end
function two() con:query("SELECT 1") con:query("SELECT 2") end
dyno.phases = { { name = "both", stop = { kind = "time", duration_s = 0.3 }, streams = {
   { name = "quick", run = "one", connections = 2 },
   { name = "slow", run = "two", connections = 1 },
   { name = "writer", run = "two", connections = 1, unit = "row" } } } }
"""


def stream(name: str, values: Sequence[int]) -> Tally:
    latency = structs.replace(make_latency(1e6, len(values)), hdr=encoded(values))
    return make_tally(100.0, name=name, unit="query", latency=latency)


def played_beside(*streams: Tally) -> PhaseRecord:
    """A phase of streams of one unit, with what the driver adds up of them."""
    whole = added_up([tally.latency.hdr for tally in streams])
    names = ("50", "95", "99", "99.9")
    latency = structs.replace(
        make_latency(1e6, 1), percentiles_ns={it: percentile(whole, float(it)) for it in names}
    )
    return structs.replace(make_record(streams), together={"query": latency})


def test_streams_of_one_unit_have_their_percentiles_together() -> None:
    """A tenth of the users waits long: the p99 of all is theirs, the mean of both p99 half."""
    quick, slow = stream("quick", [1_000_000] * 900), stream("slow", [80_000_000] * 100)
    found = compute_measures(make_trial(1, "new", 0, 1.0, phases=(played_beside(quick, slow),)))
    assert found[P99] == pytest.approx(80_000_000, rel=1e-3)
    assert compute_joint_percentiles(make_record([quick])) == {}


def _pair(block: int, side: int) -> list[Tally]:
    waited = (1_000_000 + 1000 * block) * (1 + side)
    return [stream("a", [10_000] * 98), stream("b", [waited] * 9)]


def test_the_ratio_of_merged_percentiles_is_judged_over_blocks_like_any_other() -> None:
    trials = [
        make_trial(2 * block + side, name, block, 1.0, phases=(played_beside(*_pair(block, side)),))
        for block in range(6)
        for side, name in enumerate(("old", "new"))
    ]
    rows = {c.metric: c for c in judge_unaudited(make_run(), trials).comparisons}
    assert rows[P99].slowdown_percent == pytest.approx(100.0, abs=0.3)
    assert (rows[P99].primary, rows[P99].blocks) == (False, 6)


def test_the_driver_adds_up_threads_and_types(tmp_path: Path) -> None:
    """Four threads, two types: the stream's percentiles are those of all its answers."""
    session = {"kind": "null", "delay_ns": 20_000}
    tally = trial.play(session, TYPES, tmp_path, threads=4, events=2000, time=0)
    assert set(tally.transactions) == {"slow", "quick"}
    parts = added_up([each.hdr for each in tally.transactions.values()])
    whole = added_up([tally.latency.hdr])
    assert whole.counts.sum() == tally.done == 2000
    for name, ns in tally.latency.percentiles_ns.items():
        assert percentile(parts, float(name)) == percentile(whole, float(name)) == ns


def test_the_driver_adds_up_the_streams_of_a_unit_as_we_do(tmp_path: Path) -> None:
    path = tmp_path / "script.lua"
    path.write_text(STREAMS)
    session = {"kind": "null", "delay_ns": 50_000}
    record = trial.played(Plan(session, Script(str(path)), 7, commands=("run",), progress_s=0))
    assert list(record.together) == ["event"]
    whole = added_up([tally.latency.hdr for tally in record.streams[:2]])
    assert record.together["event"].count == whole.counts.sum() > 100
    found = compute_joint_percentiles(record)["event"]
    assert found == {name: percentile(whole, float(name)) for name in found} != {}
