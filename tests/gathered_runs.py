"""Runs gathered of shares, made up: cells dealt over hosts, and their trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakes import make_run, make_trials, make_workload
from msgspec import structs

from dyno.record import DealtBlocks, DealtShare, GatheredRun, Run, Trial, WorkloadPlan

HOSTS = ("h1", "h2", "h3", "h4")
Cells = Mapping[str, Sequence[int]]


def make_share(index: int, dealt: Cells) -> DealtShare:
    """Share `index` of as many as each cell of `dealt` has numbers of blocks."""
    of = len(next(iter(dealt.values())))
    first = {name: sum(own[: index - 1]) for name, own in dealt.items()}
    blocks = {
        name: DealtBlocks(own[index - 1], tuple(range(first[name], first[name] + own[index - 1])))
        for name, own in dealt.items()
        if own[index - 1]
    }
    counts = {name: tuple(own) for name, own in dealt.items()}
    return DealtShare(index, of, "blocks", "e", "s", HOSTS[index - 1], "", "", blocks, counts)


def make_gathered(dealt: Cells, missing: Sequence[int] = (), **design: Any) -> Run:
    """A run of these cells; each share's host is one of `HOSTS`."""
    plans: list[WorkloadPlan] = [make_workload(name) for name in dealt]
    run = make_run(workloads=plans, **design)
    count = len(next(iter(dealt.values())))
    shares = tuple(
        structs.replace(run, workloads=(), candidates=(), share=make_share(index, dealt))
        for index in range(1, count + 1)
        if index not in missing
    )
    return structs.replace(run, gathered=GatheredRun(shares, missing=tuple(missing)))


def play_gathered(run: Run, found: Mapping[str, Sequence[Sequence[float]]]) -> list[Trial]:
    """Trials whose block logs are these, by cell and share; hosts differ in speed."""
    trials: list[Trial] = []
    for name, shares in found.items():
        block = 0
        for index, own in enumerate(shares, 1):
            for log in own:
                for trial in make_trials({"new": [log]}, per_s=1e5 * index):
                    trials.append(
                        structs.replace(
                            trial,
                            number=len(trials) + 1,
                            workload=name,
                            block=block,
                            share=index,
                            host=HOSTS[index - 1],
                        )
                    )
                block += 1
    assert run.gathered
    present = {each.share.index for each in run.gathered.shares if each.share}
    return [trial for trial in trials if trial.share in present]
