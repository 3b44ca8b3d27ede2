"""Whether the engines' CPU time can be sampled beside the phases, tried before the first trial."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from dyno.compare.experiment import Measuring
from dyno.driver.sampler import CpuSampler
from dyno.errors import DynoError, UsageError
from dyno.profile.layers import list_sampled_layers
from dyno.record import Candidate
from dyno.record.profile import CpuSampling

NOT_WANTED = "it was not asked for (--no-profile)"
NOT_OURS = "the servers run already, and are not ours to look into"


def choose_cpu_sampling(
    measuring: Measuring,
    candidates: Sequence[Candidate],
    make: Callable[[], CpuSampler] = CpuSampler,
) -> CpuSampling:
    """How the CPU time of `candidates` is sampled, or why it is not."""
    if not measuring.cpu_profile:
        if measuring.cpu_stacks:
            raise UsageError("--stacks and --no-profile contradict each other")
        return CpuSampling(NOT_WANTED)
    if all(side.attached for side in candidates):
        return CpuSampling(NOT_OURS)
    layers = {side.engine: list_sampled_layers(side.engine) for side in candidates}
    return replace(try_sampling(make), layers=layers, stacks=measuring.cpu_stacks)


def try_sampling(make: Callable[[], CpuSampler] = CpuSampler) -> CpuSampling:
    """How a process of ours can be sampled here, or why none can."""
    try:
        with make() as sampler:
            started = sampler.start([os.getpid()])
            sampler.stop()
    except DynoError as refused:
        return CpuSampling(refused.sentence)
    return CpuSampling("", started.event, started.scope, started.kernel, sampler.period_ns)
