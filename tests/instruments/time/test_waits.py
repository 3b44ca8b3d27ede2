"""When sessions are sampled: in a candidate's own slices, spread evenly, by no rhythm."""

from __future__ import annotations

from itertools import islice, pairwise
from types import SimpleNamespace
from typing import Any

from dyno.driver.plan import SlicePlan
from dyno.engines import TellsWaits
from dyno.engines.postgres import Engine
from dyno.instruments.time.waits import PERIOD_NS, PhaseWaits, iterate_samples

MS = 1_000_000


def make_turns(own: int, slice_ms: int = 20) -> SlicePlan:
    """Two candidates, ABBA, slices of 20 ms and drains of 5."""
    return SlicePlan(
        order=(0, 1, 1, 0),
        own=own,
        slice_ns=slice_ms * MS,
        drain_ns=5 * MS,
        ramp_in_ns=0,
        epoch_turns=0,
        connect_ns=0,
        frozen=True,
    )


def test_samples_lie_in_slices_of_the_candidates_own() -> None:
    turns = make_turns(own=1)
    for at_ns, over_ns in islice(iterate_samples(turns, 1), 200):
        turn, into_ns = divmod(at_ns, turns.turn_ns)
        assert turns.order[turn % 4] == 1 and into_ns < turns.slice_ns
        assert over_ns == turn * turns.turn_ns + turns.slice_ns


def test_all_parts_of_a_slice_are_sampled_alike() -> None:
    turns = make_turns(own=0)
    into = [at % turns.turn_ns / turns.slice_ns for at, _ in islice(iterate_samples(turns, 2), 800)]
    tenths = [sum(it // 0.1 == tenth for it in into) for tenth in range(10)]
    assert min(tenths) > 40 and max(tenths) < 130, tenths


def test_alone_a_candidate_is_sampled_all_the_time_and_as_often() -> None:
    times = [at for at, over in islice(iterate_samples(None, 3), 400) if over is None]
    assert len(times) == 400 and 0.9 < times[-1] / 400 / PERIOD_NS < 1.1
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= PERIOD_NS // 2 and len(set(gaps)) > 100


def test_all_candidates_of_a_block_are_sampled_equally_often() -> None:
    for own in (0, 1):
        last_ns = list(islice(iterate_samples(make_turns(own), 4), 300))[-1][0]
        assert 0.9 < last_ns / 2.5 / 300 / PERIOD_NS < 1.1  # a turn is 25 ms of which 20 count


def test_nobody_is_asked_where_cpu_time_carries_the_verdict() -> None:
    """The questions' CPU time would be the server's, in a second of few operations."""
    engine = Engine(lambda *_: [])
    assert isinstance(engine, TellsWaits)
    job: Any = SimpleNamespace(engine=engine, block=0, seat=None, seed=1, samples_waits=False)
    waits = PhaseWaits(job, SimpleNamespace(session={}))  # type: ignore[arg-type]
    waits.prepare("run", is_interleaved=False)
    assert waits.take() is None and not waits.unread, "or it would have failed to connect"
