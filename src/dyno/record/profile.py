"""Where the CPU time of an engine's processes went, by function, as the driver's sampler met it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProfiledFunction:
    """A function, or a place in a file that has no symbol there (`name` is empty).

    `module` is the program or library, `[kernel]`, `[vdso]`, or empty for code made at run time;
    `offset` where the function begins in it, in bytes. `source` is its source file with the folder,
    where the build has debug information. `samples` counts those in the function itself.
    """

    name: str
    module: str
    offset: int
    source: str
    samples: int


@dataclass(frozen=True)
class ProfiledStack:
    """Callers that were met together, outermost first, by their place in `functions`."""

    frames: tuple[int, ...]
    samples: int


@dataclass(frozen=True)
class CpuProfile:
    """All samples of a process and its children; each stands for `period_ns` of CPU time.

    `lost` records were dropped by the kernel. `stacks` is empty where callers were not asked for.
    """

    samples: int
    lost: int
    period_ns: int
    functions: tuple[ProfiledFunction, ...]
    stacks: tuple[ProfiledStack, ...] = ()
