"""Whether the engines' CPU time can be sampled beside the phases, tried before the first trial."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dyno.driver.sampler import CpuSampler
from dyno.errors import DynoError, UsageError
from dyno.profile.layers import list_sampled_layers
from dyno.record import Candidate
from dyno.record.profile import CpuSampling
from dyno.runs.experiment import Measuring

NOT_WANTED = "it was not asked for (--profile off)"
NOT_OURS = "the servers run already, and are not ours to look into"
#: A server sleeps and wakes for each request, and each time its thread's timer is set and stopped:
#: a short statement then takes twice its CPU time (docs/evidence/cpu-samples.md).
BY_THREADS = (
    "the kernel permits samples of each thread only, which cost a server more than its work: "
    "`sysctl kernel.perf_event_paranoid=0` permits those of all CPUs"
)


def choose_cpu_sampling(
    measuring: Measuring,
    candidates: Sequence[Candidate],
    make: Callable[[], CpuSampler] = CpuSampler,
) -> CpuSampling:
    """How the CPU time of `candidates` is sampled, or why it is not."""
    if not measuring.cpu_profile:
        if measuring.cpu_stacks:
            raise UsageError("cpu_stacks needs cpu_profile", hint="leave out cpu_profile = false")
        return CpuSampling(NOT_WANTED)
    if all(side.attached for side in candidates):
        return CpuSampling(NOT_OURS)
    tried = try_sampling(make)
    if tried.scope == "threads" and not all(side.embedded for side in candidates):
        return CpuSampling(BY_THREADS)
    layers = {side.engine: list_sampled_layers(side.engine) for side in candidates}
    return replace(tried, layers=layers, stacks=measuring.cpu_stacks)


def try_sampling(make: Callable[[], CpuSampler] = CpuSampler) -> CpuSampling:
    """How a process of ours can be sampled here, or why none can."""
    try:
        with make() as sampler:
            started = sampler.start([os.getpid()])
            sampler.stop()
    except DynoError as refused:
        return CpuSampling(refused.sentence)
    return CpuSampling("", started.event, started.scope, started.kernel, sampler.period_ns)
