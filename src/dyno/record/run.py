"""A run: what is compared and how, all of it fixed before the first trial, and on what host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from dyno.record.build_facts import describe_commit
from dyno.record.calibration import Calibration
from dyno.record.clients import ClientHost
from dyno.record.integrity import Check
from dyno.record.pilot import Pilot
from dyno.record.profile import CpuSampling
from dyno.record.rehearsal import LeftOut, OptionVerdict
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require, require_word
from dyno.record.share import DealtShare
from dyno.record.workload import WorkloadPlan

#: More blocks than any run plays.
BLOCKS_MOST = 1_000_000
#: Blocks are replayed up to so many times MAX (METHOD.md, Which blocks count).
REPLAYS = 1.5

#: What a label tells beside a name, at most.
LABEL_LETTERS = 60

Mark = Literal["good", "fair", "poor", "unknown"]


class Observation(Record):
    """What a survey saw of one thing of the host, and what that means for a measurement.

    `why` is one clause, `hint` what to do where the mark is not good (a command, or the control
    that holds it), `points` what the mark costs the host's score of 100.
    """

    name: str
    found: str
    mark: Mark
    why: str
    hint: str = ""
    points: Int64 = 0


def compute_host_score(survey: Sequence[Observation]) -> int:
    """A hundred, less what each observation costs; never below 0."""
    return max(0, 100 - sum(observation.points for observation in survey))


class Candidate(Record):
    """One side of a comparison: a name, the spec that the user wrote, and what it resolved to.

    `build` holds the build's facts (version, source, flags, checksum of the program, compiler);
    `settings` the engine settings asked for; `controls` the controls that differ from the run's.
    Of a cell, `levels` are those of the factors; `options` of the workload, where not the base's.
    """

    name: str
    spec: str
    engine: str
    embedded: bool
    build: dict[str, str]
    settings: dict[str, str]
    controls: dict[str, str]
    levels: dict[str, str] = {}
    options: dict[str, str] = {}

    def __post_init__(self) -> None:
        require_word(self.engine, "engine")

    @property
    def commit(self) -> str:
        """`1a2b3c4d5e6f, the first line of its message`, of a build from git; empty of others."""
        return describe_commit(self.build)

    @property
    def label(self) -> str:
        """The name, with what it does not say: the commit, else engine and version."""
        version = self.build.get("version", "")
        if not self.commit and (not version or version in self.name):
            return self.name
        told = self.commit or f"{self.engine} {version}"
        cut = f"{told[: LABEL_LETTERS - 1].rstrip()}…" if len(told) > LABEL_LETTERS else told
        return f"{self.name} ({cut})"

    @property
    def attached(self) -> bool:
        """Is it a server that runs already, which is not ours to start, stop or freeze?"""
        return "address" in self.build

    @property
    def without_cpu(self) -> str:
        """Why no verdict can rest on its CPU time, in words; empty where one can."""
        if self.attached:
            return f"{self.name} runs already, so the CPU time of its processes is not read"
        is_idle = self.engine == "null"
        return f"{self.name} does no work: its delay goes by the clock" if is_idle else ""


Kind = Literal["candidate", "build flag", "engine setting", "control", "workload option"]
Crossing = Literal["factorial", "one at a time"]
Gate = Literal["each", "mean"]
#: What a verdict rests on: what a workload declares, or the CPU time of an operation.
#: Percent of all cores' time that others may take in a phase where restarts are played one after
#: the other; and interleaved, where what processes take meets all alike (METHOD.md, Which blocks
#: count), and what the hypervisor takes as far as it was seen.
LIMITS = {"steal_percent": 2.0, "foreign_percent": 10.0}
LIMITS_INTERLEAVED = {"steal_percent": 15.0, "foreign_percent": 30.0}
By = Literal["time", "cpu"]


class Factor(Record):
    """Something varied on purpose; its first level is the base's. Of the factor `candidate` the
    levels are the candidates' names.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...]


#: Shorter slices are of engines that run on, or that live in the driver, which one signal stops.
FROZEN_S = 0.01
#: How long a server that stood still is slower than it was: with shorter ramp-ins a large
#: difference looks smaller than it does in long slices (docs/evidence/large-effects.md).
WOKEN_S = 0.003


class Slice(Record):
    """A stretch of `length_s` in which one of those that are interleaved begins events, and the
    `drain_s` after it, in which what is under way ends.
    """

    length_s: Finite
    drain_s: Finite

    def __post_init__(self) -> None:
        require(0 < self.length_s < math.inf, "length_s", "above 0")
        require(0 <= self.drain_s < math.inf, "drain_s", "0 or more")

    @property
    def ramp_in_s(self) -> float:
        """Its beginning, which counts for nothing: a tenth, but `WOKEN_S` where servers may have
        been woken for it, which is in slices of 10 ms and more.
        """
        return self.length_s / 10 if self.length_s < FROZEN_S else max(self.length_s / 10, WOKEN_S)


class Interleaving(Record):
    """How the trials of a block are interleaved, where they do: in `slices` by workload, and
    `slice` for all others.

    After about `epoch_s` of its own slices every user connects anew (0: never). `frozen`: the
    engines of those who have no turn stand still, but not in the workloads `running`, which change
    nothing: there an engine that is asked nothing has nothing to do.
    """

    slice: Slice
    epoch_s: Finite
    frozen: bool
    slices: dict[str, Slice] = {}
    running: tuple[str, ...] = ()

    def is_freezing(self, workload: str) -> bool:
        """Do engines stand still in the workload of this name while others have their turn?"""
        return self.frozen and workload not in self.running

    def find_slice(self, workload: str) -> Slice:
        """That of the workload of this name."""
        return self.slices.get(workload, self.slice)


class Design(Record):
    """How an experiment is played and judged, all of it fixed before the first trial.

    `analyses` are the numbers of valid blocks at which the data are looked at (the last is MAX);
    `margin_percent` and `alpha` are METHOD.md's δ and α; `quick` marks a shortened run; `limits`
    are the noise limits, name to largest value (`steal_percent`, `foreign_percent`).
    `loads` is how many loads of the data each candidate has (0: every trial loads anew; None: the
    first trial of a workload decides by how long that takes). `crossing` says how the factors,
    if there are any, make cells.
    `aa` declares that the candidates are meant to be the same. `gate` says what decides: each
    primary by itself, or their geometric mean over all workloads. `interleaving` is how the trials
    of a block are interleaved; None: they are played one after the other. `precision_percent` is
    how far the interval of what decides may reach to either side where a verdict ends the run;
    None: any. `accepted` are statements whose answers may differ, each with its reason. `check`
    says how thoroughly each engine's data are looked at after the last phase of the first block.
    `rehearses`: the run rehearses an upgrade, in which answers that differ are the result and make
    nothing invalid; `untimed`: it ends once the answers are compared, without a block; with
    `hides_literals` its page shows classes and no values. `saves_answers` is the file that the
    base's answers go to, `old_answers` the one that they are from: nobody plays the base then.
    `options` are the settings of the file that its servers are started with; `upgrades_folder`: the
    candidate begins with the base's data folder, upgraded. `left_out` is what of the log and of the
    dump nobody plays. `tried` is a setting that the candidate alone has, as a remedy for the
    classes `tried_for`. `by` says what decides: the metrics that the workloads declare, or the
    engine's CPU time of an operation in their phases.
    """

    base: str
    analyses: tuple[Int64, ...]
    margin_percent: Finite
    alpha: Finite
    quick: bool
    limits: dict[str, Finite]
    controls: dict[str, str]
    loads: Int64 | None = None
    crossing: Crossing | None = None
    aa: bool = False
    gate: Gate = "each"
    interleaving: Interleaving | None = None
    precision_percent: Finite | None = None
    accepted: dict[str, str] = {}
    check: Check = "quick"
    rehearses: bool = False
    untimed: bool = False
    hides_literals: bool = False
    saves_answers: str = ""
    old_answers: str = ""
    options: tuple[OptionVerdict, ...] = ()
    upgrades_folder: bool = False
    left_out: tuple[LeftOut, ...] = ()
    tried: str = ""
    tried_for: tuple[str, ...] = ()
    by: By = "time"

    def __post_init__(self) -> None:
        rising = sorted({each for each in self.analyses if 0 < each < BLOCKS_MOST})
        require(rising and (*rising,) == self.analyses, "analyses", "rising numbers of blocks")
        require(0 < self.alpha < 1, "alpha", "above 0 and below 1")
        require(0 < self.margin_percent < math.inf, "margin_percent", "above 0")

    @property
    def most_blocks(self) -> int:
        """Blocks of a workload that a run plays at the very most, those that do not count
        included.
        """
        return math.ceil(REPLAYS * self.analyses[-1])


class Run(Record):
    """`run.json`: the experiment as resolved, the host and the versions it was played with.

    `survey` is what was not good about the host when the run began, the worst first; None in the
    records of a Dyno that did not look. `calibration` is what was known of the method's errors on
    it; None: never calibrated. `pilot` is what was tried before the first block
    to choose pinning and connections; None: nothing was. Where `factors` are crossed, the
    candidates are the cells. `sources_sha256` is that of Dyno's own Python sources, empty in old
    records. `cpu_sampling` says how the engines' CPU time is sampled, or why it is not; None in
    old records, which have no samples. `share` is there where only a share of the experiment is
    played, `gathered` where it was put together of such. `client_hosts` are those that play the
    load; empty: Dyno's own. `series` names the series of a history that it is of (`--series`).
    """

    name: str
    created_utc: str
    question: str
    command: str
    seed: Int64
    candidates: tuple[Candidate, ...]
    workloads: tuple[WorkloadPlan, ...]
    design: Design
    host: dict[str, str]
    published: tuple[dict[str, str], ...] = ()
    dyno: str = ""
    driver_sha256: str = ""
    factors: tuple[Factor, ...] = ()
    survey: tuple[Observation, ...] | None = None
    calibration: Calibration | None = None
    pilot: Pilot | None = None
    sources_sha256: str = ""
    cpu_sampling: CpuSampling | None = None
    share: DealtShare | None = None
    gathered: GatheredRun | None = None
    client_hosts: tuple[ClientHost, ...] = ()
    series: str = ""
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        names = [side.name for side in self.candidates]
        require(all(names) and len(names) == len({*names}), "candidates", "of different names")
        require(not names or self.design.base in names, "design.base", "one of the candidates")
        plans = {plan.name for plan in self.workloads}
        require(len(plans) == len(self.workloads), "workloads", "of different names")
        if self.share:
            require(plans <= self.share.blocks.keys(), "share.blocks", "those of all workloads")

    @property
    def is_dealt(self) -> bool:
        """Is it a share of an experiment, or gathered of shares? Its blocks were dealt beforehand,
        and are looked at once.
        """
        return self.share is not None or self.gathered is not None

    @property
    def due_blocks(self) -> dict[str, int]:
        """How many valid blocks of each of its workloads a share is due, or all the shares that a
        run was gathered of; none of another run.
        """
        shares = [self.share] if self.share else []
        if self.gathered:
            shares = [each.share for each in self.gathered.shares if each.share]
        dealt = [each.blocks for each in shares]
        names = [plan.name for plan in self.workloads] if shares else []
        return {name: sum(own[name].due for own in dealt if name in own) for name in names}

    def find_next_block(self, workload: str, block: int = -1) -> int | None:
        """The number of the block of `workload` after `block`; None where no more may be played."""
        if self.share:
            return self.share.find_next_block(workload, block)
        return block + 1 if block + 1 < self.design.most_blocks else None

    def count_most_blocks(self, workload: str) -> int:
        """How many blocks of `workload` it plays at the very most."""
        return len(self.share.blocks[workload].numbers) if self.share else self.design.most_blocks

    @property
    def samples_stacks(self) -> bool:
        """Is a trial of each candidate played for the callers of functions?"""
        sampling = self.cpu_sampling
        return sampling is not None and sampling.stacks and not sampling.missing

    def find_echo_stand(self, side: Candidate) -> Candidate:
        """The candidate whose echo counts for the server `side`."""
        return find_echo_stand(side, self.candidates, self.design.controls)


class GatheredRun(Record):
    """What a run was put together of.

    `shares` are the runs of the shares, by index, each with the facts, pilot, slices, noise limits
    and calibration of its own host; their `candidates` and `workloads` are left out, since they are
    those of the run (`list_share_runs`). `missing` are the indexes of shares that were not there,
    `incomplete` of those that had not played all they were due, `torn` is how many trials of
    interrupted attempts were left out.
    """

    shares: tuple[Run, ...]
    missing: tuple[Int64, ...] = ()
    incomplete: tuple[Int64, ...] = ()
    torn: Int64 = 0


def list_share_runs(run: Run) -> tuple[Run, ...]:
    """The run of each share that a run was gathered of, whole again; none of another run."""
    shares = run.gathered.shares if run.gathered else ()
    return tuple(
        replace(
            each,
            candidates=run.candidates,
            workloads=tuple(w for w in run.workloads if each.share and w.name in each.share.blocks),
        )
        for each in shares
    )


def find_echo_stand(
    side: Candidate, candidates: Sequence[Candidate], run_controls: Mapping[str, str]
) -> Candidate:
    """The first of `candidates` that is of the engine of the server `side`, reached and placed as
    it is, and sends the same requests: its echo counts for all of these.
    """

    def list_parts(each: Candidate) -> tuple[str, ...]:
        pinning = each.controls.get("pinning", run_controls.get("pinning", ""))
        options = (f"{name}={value}" for name, value in sorted(each.options.items()))
        return each.engine, pinning, each.build.get("address", ""), *options

    return next(each for each in candidates if list_parts(each) == list_parts(side))
