"""An experiment as data: candidates, workloads and how they are measured, within which limits.

The TOML file makes one, and so does the command line (`compare_candidates`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dyno.errors import UsageError, build_unknown_error
from dyno.record import LeftOut, OptionVerdict
from dyno.runs.experiment import candidates
from dyno.runs.experiment.candidates import CrossedFactors, Spec

T = TypeVar("T")

BLOCKS = range(3, 201)
LOADS = range(25)
MARGIN_PERCENT_MAX = 50.0
PRECISION_PERCENT_LEAST = 0.1
LIMITS = ("steal_percent", "foreign_percent")
GATES = ("each", "mean")
BYS = ("time", "cpu")
CHECKS = ("quick", "full")


#: What says of two candidates that they are the same on purpose.
NAMED = "names say that this is meant: a=BUILD b=BUILD"


def check_unlike(specs: Sequence[Spec], meant: str = NAMED) -> None:
    """`UsageError` where the same candidate was typed twice, and given no name; `meant`: what says
    that it is meant.
    """
    unnamed = [spec.text for spec in specs if spec.name.partition("#")[0] == spec.text]
    if twice := [text for text in unnamed if unnamed.count(text) > 1]:
        hint = f"{meant}; or name another build"
        raise UsageError(f"{twice[0]} is compared with itself", hint=hint)


@dataclass(frozen=True)
class Measuring:
    """How an experiment is measured; None leaves our default, or the workload's own.

    `blocks` is the number at the last analysis; `fixed` makes it the only analysis. `limits` are
    the noise limits (`steal_percent`, `foreign_percent`), `controls` those of every candidate.
    `loads` is how many loads of its data each candidate has; 0: every trial loads them anew. `aa`
    declares an A/A comparison: the candidates are the same on purpose. `gate` is what decides:
    `each` primary, or their geometric `mean` over all workloads. `sequential` plays restarts one
    after the other, False only interleaved; None: interleaved where that is sound.
    `hold_connections` keeps those of a trial that is interleaved, where users else connect anew
    about every second. `cpu_profile` samples where the engines' CPU time goes, where that can be
    had; `cpu_stacks` plays a trial of each candidate for its callers, too. A verdict ends the run;
    with `precision_percent` only once each interval reaches no further to either side. `accepted`
    are statements that may be answered otherwise, each with its reason. `check` is how thoroughly
    an engine's data are looked at: `quick`, or `full` by means that read all of them.
    `count_events` are those whose instructions are counted before the blocks, 0 for none.
    `rehearses`, `untimed`, `hides_literals`, `saves_answers`, `old_answers`, `options`,
    `upgrades_folder`, `left_out`, `tried`, `tried_for` and `by` are as `Design` has them.
    """

    margin_percent: float | None = None
    alpha: float = 0.05
    blocks: int | None = None
    fixed: bool = False
    quick: bool = False
    seed: int | None = None
    limits: dict[str, float] = field(default_factory=dict)
    controls: dict[str, str] = field(default_factory=dict)
    loads: int | None = None
    aa: bool = False
    gate: str = "each"
    sequential: bool | None = None
    hold_connections: bool = False
    precision_percent: float | None = None
    cpu_profile: bool = True
    cpu_stacks: bool = False
    accepted: dict[str, str] = field(default_factory=dict)
    check: str = "quick"
    count_events: int = 0
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
    by: str = "time"

    def __post_init__(self) -> None:
        """`UsageError` for values that no run could be judged by."""
        if self.blocks is not None and self.blocks not in BLOCKS:
            hint = f"{BLOCKS[0]} to {BLOCKS[-1]}"
            raise UsageError(f"the number of blocks is out of range (got {self.blocks})", hint=hint)
        if self.margin_percent is not None and not 0 < self.margin_percent <= MARGIN_PERCENT_MAX:
            hint = f"above 0 % and up to {MARGIN_PERCENT_MAX:g} %"
            raise UsageError(
                f"the margin is out of range (got {self.margin_percent:g} %)", hint=hint
            )
        precision = self.precision_percent
        if precision is not None and not PRECISION_PERCENT_LEAST <= precision <= 50:
            hint = f"{PRECISION_PERCENT_LEAST:g} % to 50 %"
            raise UsageError(f"the precision is out of range (got {precision:g} %)", hint=hint)
        if self.loads is not None and self.loads not in LOADS:
            hint = f"0 (anew in every trial) to {LOADS[-1]}; few loads are few data"
            raise UsageError(f"the number of loads is out of range (got {self.loads})", hint=hint)
        if not 0.001 <= self.alpha <= 0.2:
            message = f"alpha is out of range (got {self.alpha:g})"
            raise UsageError(message, hint="0.001 to 0.2")
        if self.count_events and self.count_events < 2:
            message = f"count_events is out of range (got {self.count_events})"
            raise UsageError(message, hint="2 or more; 0 counts none")
        if self.gate not in GATES:
            raise build_unknown_error("gate", self.gate, GATES)
        if self.by not in BYS:
            raise build_unknown_error("word for by", self.by, BYS)
        if self.check not in CHECKS:
            raise build_unknown_error("check", self.check, CHECKS)
        for name, percent in self.limits.items():
            if name not in LIMITS:
                raise build_unknown_error("limit", name, LIMITS)
            if not 0 <= percent <= 100:
                message = f"the limit '{name}' is out of range (got {percent:g} %)"
                raise UsageError(message, hint="0 to 100; 100 drops no block")


#: The instrument of an experiment that names none: times and rates, block by block.
COMPARISON = "comparison"
#: All defaults.
AS_USUAL = Measuring()


#: What a stream can be judged by.
METRICS = (
    "rate_per_s",
    *(f"latency_ns_{kind}" for kind in ("p50", "p95", "p99", "p99.9", "max", "mean")),
    "failed_percent",
)


@dataclass(frozen=True)
class Workload:
    """A workload's name (or a script's path), the options set for it, as text, and what it is
    judged by, where that is not the script's own choice: ``phase``, ``stream``, ``metric``.

    `sweep` is the option among them, with its value, in which the workloads of a sweep differ.
    """

    name: str
    options: dict[str, str] = field(default_factory=dict)
    primary: tuple[dict[str, Any], ...] = ()
    sweep: dict[str, str] = field(default_factory=dict)


def format_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Options by the driver's names: sysbench writes ``table-size`` and ``table_size``."""
    return {normalize_option_name(name): as_text(value) for name, value in options.items()}


def normalize_option_name(name: str) -> str:
    """An option's name with underscores for dashes."""
    return name.replace("-", "_")


def as_text(value: object) -> str:
    """A TOML value as an option's text: true, 8, 0.5."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Experiment:
    """Candidates (the first is the base) under workloads; `command` is how to repeat it.

    Where factors are `crossed`, every candidate is played in every cell. Those that we start take
    the settings of the server `like`, which runs already (its name, or `attached`). The load is
    played from `client_hosts` together, as `driver/clients/words.py` reads them: words, or tables;
    None: from Dyno's own host. It is measured with the `instrument` of that name, which has words
    of its `own` (`slo`, `events`). Histories keep its run in the `series` of that name.
    """

    name: str
    candidates: tuple[Spec, ...]
    workloads: tuple[Workload, ...]
    measuring: Measuring = AS_USUAL
    question: str = ""
    published: tuple[dict[str, str], ...] = ()
    command: str = ""
    crossed: CrossedFactors = field(default_factory=CrossedFactors)
    like: str = ""
    client_hosts: object = None
    instrument: str = COMPARISON
    own: dict[str, Any] = field(default_factory=dict)
    series: str = ""

    def require_blocks(self, what: str) -> None:
        """Raise `UsageError` for `what` (`dyno shard`) if it is not measured as comparisons are."""
        if self.instrument != COMPARISON:
            raise UsageError(
                f"{what} takes no {self.instrument} ({self.name})",
                cause="only the blocks of a comparison are planned, dealt and gathered",
                hint="play it whole, with `dyno run`",
            )

    def require_plain(self, noun: str, takes: Sequence[str]) -> None:
        """Raise `UsageError` for what an instrument cannot measure: several workloads, crossed
        factors, and fields of `Measuring` other than those that it `takes`.
        """
        if len(self.workloads) > 1 or self.crossed.levels:
            what = "no factors" if self.crossed.levels else "one workload"
            raise UsageError(f"{noun} takes {what}", hint="give each an experiment of its own")
        asked = {each.name for each in fields(Measuring)} - {*takes}
        given = [it for it in asked if getattr(self.measuring, it) != getattr(AS_USUAL, it)]
        given += [it for it in ("like", "client_hosts") if it not in takes and getattr(self, it)]
        given += ["primary"] if self.workloads[0].primary else []
        if given:
            told = min(given).replace("accepted", "accepted answers").replace("_", " ")
            raise UsageError(f"{noun} takes no {told}", hint="leave it out")

    def read_own(self, kind: type[T]) -> T:
        """Return the instrument's own words as a dataclass; raise `UsageError` for one that
        is unknown, missing or of another type.
        """
        known = [each.name for each in fields(kind)]  # type: ignore[arg-type]
        if unknown := next((name for name in self.own if name not in known), ""):
            raise build_unknown_error(f"word of the instrument {self.instrument}", unknown, known)
        try:
            return msgspec.convert(self.own, kind)
        except msgspec.ValidationError as error:
            why = str(error)[:1].lower() + str(error)[1:]
            raise UsageError(f"the instrument {self.instrument}: {why}") from None


def compare_candidates(
    specs: Sequence[str],
    workload: str,
    options: Mapping[str, str],
    measuring: Measuring = AS_USUAL,
    command: str = "",
) -> Experiment:
    """The experiment that `dyno compare` (or `play`, with one spec) asks for."""
    sides = candidates.make_names_unique([candidates.parse_candidate(text) for text in specs])
    chosen = Workload(workload, format_options(options))
    name = f"{Path(workload).stem}-{'-'.join(side.name for side in sides)}"
    return Experiment(name, sides, (chosen,), measuring, command=command)
