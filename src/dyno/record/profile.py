"""Where the CPU time of an engine's processes went, by function, as the driver's sampler met it."""

from __future__ import annotations

from dyno.record.schema import SCHEMA, Int64, Record, require

#: The name under which a phase's record says why it has no profile (`PhaseRecord.unread`).
PROFILE = "profile"


class ProfiledFunction(Record):
    """A function, or a place in a file that has no symbol there (`name` is empty).

    `module` is the program or library, `[kernel]`, `[vdso]`, or empty for code made at run time;
    `offset` where the function begins in it, in bytes. `source` is its source file with the folder,
    where the build has debug information. `samples` counts those in the function itself. `layer` is
    the part of the engine that it belongs to, by the table of the Dyno that sampled it; empty where
    nobody asked.
    """

    name: str
    module: str
    offset: Int64
    source: str
    samples: Int64
    layer: str = ""


class ProfiledStack(Record):
    """Callers that were met together, outermost first, by their place in `functions`."""

    frames: tuple[Int64, ...]
    samples: Int64


class CpuProfile(Record):
    """All samples of a process and its children; each stands for `period_ns` of CPU time.

    `lost` records were dropped by the kernel. `stacks` is empty where callers were not asked for.
    `event` is what was sampled, of all CPUs at once (`scope`: `cpus`) or of each thread by itself;
    `kernel` says whether the time inside the kernel was seen, too.
    """

    samples: Int64
    lost: Int64
    period_ns: Int64
    functions: tuple[ProfiledFunction, ...]
    stacks: tuple[ProfiledStack, ...] = ()
    event: str = "cpu-clock"
    scope: str = "cpus"
    kernel: bool = True

    def __post_init__(self) -> None:
        require(self.period_ns >= 0, "period_ns", "0 or more")
        frames = (place for each in self.stacks for place in each.frames)
        most = len(self.functions)
        require(all(0 <= it < most for it in frames), "stacks.frames", "places in functions")

    @property
    def cpu_ns(self) -> int:
        """The CPU time that its samples stand for."""
        return self.samples * self.period_ns


class CpuSlice(Record):
    """A stretch of sampled time: how long, and [place in the profile's functions, samples]."""

    elapsed_ns: Int64
    functions: tuple[tuple[Int64, ...], ...]

    def __post_init__(self) -> None:
        require(self.elapsed_ns > 0, "elapsed_ns", "above 0")
        require(all(len(each) == 2 for each in self.functions), "functions", "pairs of numbers")


class StackProfile(Record):
    """Where the CPU time of a candidate went with callers, by phase, in a trial that was played for
    them beside the blocks. `number` names its file; `host` is that of a gathered run's share.
    """

    number: Int64
    workload: str
    candidate: str
    phases: dict[str, CpuProfile]
    host: str = ""
    schema: Int64 = SCHEMA


class CpuSampling(Record):
    """How the engines' CPU time is sampled beside the phases, as tried before the first trial.

    `missing` says why it is not; empty: it is. `event`, `scope` and `kernel` are as in
    `CpuProfile`. `layers` are all that a function may belong to, by engine. With `stacks` a trial
    of each candidate is played for its callers after the last block.
    """

    missing: str = ""
    event: str = ""
    scope: str = ""
    kernel: bool = True
    period_ns: Int64 = 0
    layers: dict[str, tuple[str, ...]] = {}
    stacks: bool = False
