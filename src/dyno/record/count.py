"""What `dyno count` leaves behind (`count.json`): instructions per operation of some candidates."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.record.run import Candidate
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require
from dyno.record.trial import Metric
from dyno.record.verdict import Comparison


class CountedFunction(Record):
    """Instructions per operation in one function's own code, the mean over the repetitions.

    `object` is the engine's name, or the file name of a library, `layer` the part of the
    engine. Of code
    outside of an embedded engine (the C library's) it is all that a call of the engine's took.
    """

    name: str
    object: str
    layer: str
    instructions: Finite


class CountedCall(Record):
    """Instructions per operation of a function's calls of another, with all that those call."""

    caller: str
    callee: str
    instructions: Finite


class CandidateCount(Record):
    """One candidate's instructions per operation.

    `repeats` has the count of each repetition, a restart of its own, of the thread or process that
    serves the one user (embedded: of the engine); `beside` those of all others of the engine. Of
    several `inputs`, the repetitions of one stand next to each other.
    `varied` are functions whose own counts differ most between the repetitions of the first input.
    `files` are the folders with callgrind's files, within the count's. `calls` are there where
    stacks were asked for. `waiting` are instructions of waits for the client, left out.
    `layer_repeats` has the repetitions of each layer.
    """

    candidate: str
    repeats: tuple[Finite, ...]
    beside: tuple[Finite, ...]
    functions: tuple[CountedFunction, ...]
    varied: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    inputs: Int64 = 1
    calls: tuple[CountedCall, ...] = ()
    waiting: tuple[Finite, ...] = ()
    layer_repeats: dict[str, tuple[Finite, ...]] = {}

    def __post_init__(self) -> None:
        require(self.repeats and min(self.repeats) > 0, "repeats", "above 0, one or more")
        size = len(self.repeats)
        require(0 < self.inputs <= size and size % self.inputs == 0, "inputs", "a part of repeats")
        for name in ("beside", "waiting"):
            own = getattr(self, name)
            require(len(own) in (0, size), name, "one for each of repeats")
        layers = self.layer_repeats.values()
        require(all(len(each) == size for each in layers), "layer_repeats", "as many as repeats")

    @property
    def by_input(self) -> list[tuple[float, ...]]:
        """The repetitions of each input."""
        return split_by_input(self.repeats, self.inputs)

    @property
    def instructions(self) -> float:
        """The mean over the repetitions."""
        return sum(self.repeats) / len(self.repeats)

    @property
    def spread_percent(self) -> float:
        """How far the repetitions of an input lie apart at most, in percent of the mean."""
        return 100.0 * max(max(each) - min(each) for each in self.by_input) / self.instructions

    @property
    def layers(self) -> dict[str, float]:
        """Instructions per operation by layer; they add up to those of all functions."""
        sums: dict[str, float] = {}
        for each in self.functions:
            sums[each.layer] = sums.get(each.layer, 0.0) + each.instructions
        return sums


def split_by_input(repeats: Sequence[float], inputs: int) -> list[tuple[float, ...]]:
    """Repetitions, of which those of one input stand next to each other, by input."""
    size = len(repeats) // inputs
    return [tuple(repeats[at : at + size]) for at in range(0, len(repeats), size)]


class Count(Record):
    """A count: what was played, and what came of each candidate; the first is the base.

    A count is that of `long_operations` less that of `short_operations`, both from the same data
    and `seed`, by their difference. An operation is a unit of the workload's `phase`.
    Further inputs have the seeds that follow.
    """

    name: str
    created_utc: str
    command: str
    seed: Int64
    workload: str
    phase: str
    unit: str
    options: dict[str, str]
    short_operations: Int64
    long_operations: Int64
    margin_percent: Finite
    candidates: tuple[Candidate, ...]
    counts: tuple[CandidateCount, ...]
    valgrind: str
    host: dict[str, str] = {}
    dyno: str = ""
    controls: dict[str, str] = {}
    series: str = ""
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        names = [side.name for side in self.candidates]
        require(
            names and all(names) and len(names) == len({*names}), "candidates", "of different names"
        )
        counted = [each.candidate for each in self.counts]
        require(counted == names, "counts", "one for each of candidates, in their order")
        require(self.margin_percent > 0, "margin_percent", "above 0")
        for name in ("workload", "phase", "unit"):
            require(getattr(self, name), name, "a word")
        inputs = {each.inputs for each in self.counts}
        require(len(inputs) == 1, "counts.inputs", "the same of all candidates")

    @property
    def metric(self) -> Metric:
        """What is compared."""
        return Metric(self.workload, self.phase, "", "instructions_per_op", "", "lower")


class FunctionChange(Record):
    """A function's or a layer's instructions per operation on both sides; of a layer the change's
    95 % interval, where its repetitions are on record.
    """

    name: str
    object: str
    layer: str
    before: Finite
    after: Finite
    low: Finite | None = None
    high: Finite | None = None

    @property
    def change(self) -> float:
        """Instructions per operation more, negative: fewer."""
        return self.after - self.before


class CallChange(Record):
    """A function on the way from the outermost caller (`depth` 0), with all that it calls."""

    depth: Int64
    name: str
    before: Finite
    after: Finite

    @property
    def change(self) -> float:
        """Instructions per operation more, negative: fewer."""
        return self.after - self.before


class CountComparison(Comparison):
    """A candidate's instructions per operation against the base's. Its `blocks` are inputs where
    there are several, else restarts, over which the interval is: of no width where they agree to
    the last instruction, not known (NaN) where one side was counted once.

    `changes` are functions, `layers` their sums, the largest change first; `tree` is the way to
    them, where calls were kept.
    """

    changes: tuple[FunctionChange, ...] = ()
    layers: tuple[FunctionChange, ...] = ()
    tree: tuple[CallChange, ...] = ()
