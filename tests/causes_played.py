"""Two trials on a real engine, and what is said to have changed from one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fakes import make_run
from judging import judge_unaudited
from msgspec.structs import replace

from dyno.instruments.time.cpu_samples import PhaseSampler
from dyno.instruments.time.job import Tools
from dyno.instruments.time.run import play_once
from dyno.record import Cause, PhaseRecord, Trial
from dyno.runs.experiment import compare_candidates
from dyno.runs.resolve.experiment import draft_run


def play(engine: str, workload: str, **options: str) -> Trial:
    """One trial of a comparison's base."""
    return play_sampled(None, engine, workload, **options)


def play_sampled(sampler: PhaseSampler | None, engine: str, workload: str, **options: str) -> Trial:
    """The same, its CPU time sampled."""
    wanted = compare_candidates([engine], workload, options)
    trial = play_once(draft_run(wanted, lambda _: None), lambda _: None, sampler)
    assert trial.status == "ok", trial.failure
    return trial


@contextmanager
def make_sampler() -> Iterator[PhaseSampler]:
    """What samples CPU time beside the phases of trials within."""
    sampler = PhaseSampler(Tools().make_sampler)
    try:
        yield sampler
    finally:
        sampler.close()


def find_cause(base: Trial, candidate: Trial) -> Cause:
    """Of two restarts, as if each had come out the same in two blocks, on a host that lets us be:
    the test's own is shared, and a block in which it stood still would not be judged.
    """
    trials = [
        replace(
            trial,
            number=2 * block + at,
            candidate=name,
            workload="select",
            block=block,
            phases=tuple(map(_leave_alone, trial.phases)),
        )
        for block in range(2)
        for at, (name, trial) in enumerate((("old", base), ("new", candidate)))
    ]
    (cause,) = judge_unaudited(make_run(limits={}), trials).causes
    return cause


def _leave_alone(record: PhaseRecord) -> PhaseRecord:
    calm = replace(record, stood_still_ns=0, stood_still_ns_max=0)
    return replace(calm, held_up_ns=0, held_up_ns_max=0, switches=None)
