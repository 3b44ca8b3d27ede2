"""The CPU sampler beside the phases of a run: one for all trials, those that are interleaved too.

Where all CPUs may be sampled, one sampling for all engines of a block costs them the interrupts of
one. What cannot be had spoils nothing: the phase's record says why its profile is missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from msgspec.structs import replace

from dyno.driver.sampler import CpuSampler, SamplingStarted
from dyno.errors import DynoError
from dyno.profile.debug_files import find_debug_folders
from dyno.profile.layers import label_profile
from dyno.record import PhaseRecord
from dyno.record.profile import PROFILE, CpuProfile

#: Phases that measure nothing of interest to a profile.
UNSAMPLED = ("prepare", "cleanup")
#: The side of a trial that is played by itself.
ALONE = 0


class Samples(Protocol):
    """What samples processes (`driver.sampler.CpuSampler`)."""

    def start(self, pids: Sequence[int], *, stacks: bool = False) -> SamplingStarted:
        """Begins."""

    def stop(self) -> None:
        """Ends it."""

    def name(self) -> list[CpuProfile]:
        """A profile for each process."""

    def close(self) -> None:
        """Ends the sampler."""


@dataclass(frozen=True)
class PhaseSamples:
    """What became of the sampling of one engine in a phase: a profile, or why there is none."""

    profile: CpuProfile | None = None
    missing: str = ""

    def add_to(self, record: PhaseRecord, engine: str) -> PhaseRecord:
        """The phase's record with it, its functions with their layers in `engine`."""
        unread = {PROFILE: self.missing} if self.missing else {}
        profile = label_profile(engine, self.profile) if self.profile else None
        return replace(record, profile=profile, unread={**record.unread, **unread})


def start_sampler() -> CpuSampler:
    return CpuSampler(debug_folders=find_debug_folders(lambda _: None))


@dataclass
class PhaseSampler:
    """The sampler of a run. `make` starts its process, again where it has died; `stacks` asks for
    callers, too.
    """

    make: Callable[[], Samples] = start_sampler
    stacks: bool = False
    _sampler: Samples | None = None
    _sides: tuple[int, ...] = ()
    _phases: dict[int, PhaseSamples] = field(default_factory=dict)
    _state: Literal["idle", "sampling", "stopped"] = "idle"
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def start(self, pids: Mapping[int, int]) -> None:
        """Begins to sample the processes, by their sides, before a phase is let go."""
        with self._lock:
            self.stop()  # a phase that was torn
            self._sides, self._phases = tuple(pids), {}
            with self._note_failure():
                if self._sampler is None:
                    self._sampler = self.make()
                self._sampler.start(list(pids.values()), stacks=self.stacks)
                self._state = "sampling"

    def stop(self) -> None:
        """Ends the sampling, at once; nothing where none goes on."""
        with self._lock, self._note_failure():
            if self._sampler and self._state == "sampling":
                self._sampler.stop()
                self._state = "stopped"

    def name(self) -> None:
        """Names the functions that were met, while the processes stand; takes its time."""
        with self._lock, self._note_failure():
            if self._sampler and self._state == "stopped":
                profiles = self._sampler.name()
                pairs = zip(self._sides, profiles, strict=True)
                self._phases = {side: PhaseSamples(profile) for side, profile in pairs}
                self._state = "idle"

    def find(self, side: int) -> PhaseSamples:
        """What became of the sampling of a side in the phase that is over."""
        return self._phases.get(side, PhaseSamples())

    def close(self) -> None:
        """Ends the sampler's process."""
        with self._lock:
            sampler, self._sampler, self._state = self._sampler, None, "idle"
            if sampler:
                sampler.close()

    @contextmanager
    def _note_failure(self) -> Iterator[None]:
        """Where the sampler fails, that is why this phase has no profile; the next has another."""
        try:
            yield
        except DynoError as failed:
            self._phases = dict.fromkeys(self._sides, PhaseSamples(missing=failed.sentence))
            self.close()


@dataclass
class TrialSampling:
    """The run's sampler beside one trial's phases; those that are interleaved are sampled by their
    block. `sampler` None: nobody samples.
    """

    sampler: PhaseSampler | None
    _is_begun: bool = False
    _phase: PhaseSamples = field(default_factory=PhaseSamples)

    def begin(self, phase: str, pid: int | None) -> None:
        """Before a phase that is played by itself is let go."""
        self._phase = PhaseSamples()
        self._is_begun = self.sampler is not None and pid is not None and phase not in UNSAMPLED
        if self.sampler and pid is not None and self._is_begun:
            self.sampler.start({ALONE: pid})

    def stop(self) -> None:
        """Once it is over."""
        if self.sampler and self._is_begun:
            self.sampler.stop()

    def name(self) -> PhaseSamples:
        """Where the CPU time went; once its probes are read, since it takes its time."""
        if self.sampler and self._is_begun:
            self._is_begun = False
            self.sampler.name()
            self._phase = self.sampler.find(ALONE)
        return self._phase
