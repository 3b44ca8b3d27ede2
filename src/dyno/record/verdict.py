"""What is derived from a run's trials."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from dyno.record.cause import Cause
from dyno.record.rehearsal import Rehearsal
from dyno.record.schema import SCHEMA, Int64, Record
from dyno.record.trial import Metric

VerdictName = Literal["slower", "not slower", "faster", "inconclusive", "invalid"]
#: A run's word: of its comparisons the worst, that what it has was measured and not compared, or
#: that an engine loses what it acknowledged, and whether its settings say so.
Overall = Literal[VerdictName, "measured", "loses", "loses as permitted"]
WORST_FIRST: tuple[VerdictName, ...] = ("invalid", "slower", "inconclusive", "not slower", "faster")

#: Words that say something of a candidate, and that a doubt therefore concerns.
CLAIMS: tuple[VerdictName, ...] = ("slower", "not slower", "faster")


class Doubt(Record):
    """Why a comparison's figures may not say what they seem to: an audit's name and its sentence
    (a finding that is *doubtful*, and that concerns one of the comparison's sides).
    """

    audit: str
    sentence: str


class HostEffect(Record):
    """A comparison on one of the hosts of a gathered run, by its own blocks alone: the slowdown and
    its interval, None where it has one block. It has no say in the verdict.
    """

    host: str
    blocks: Int64
    slowdown_percent: float
    low_percent: float | None = None
    high_percent: float | None = None


class Comparison(Record):
    """One candidate against the base in one metric: a row of the table and of `--json`.

    Percentages are slowdowns turned into the metric's own change: `change_percent` is how the
    candidate's number differs from the base's, `slowdown_percent` = time ratio − 1 (positive is
    worse, whatever the metric's direction). `low_percent` and `high_percent` bound the slowdown.
    `error_percent` is the standard error of its log, with `freedom` degrees of freedom: fewer than
    blocks where these share loads or hosts.
    `base_value` and `candidate_value` are geometric means over the blocks judged. `p_value` counts
    all analyses and all comparisons (Holm over the primaries, Benjamini-Hochberg over the others).
    From 8 blocks on `sign_flip_p` and `hodges_lehmann_percent` stand beside as a second opinion.
    `share_unseen_percent` stands with *not slower* and *faster*: a slow mode in less than that
    share of restarts may have been missed by so many `blocks` (95 %, Clopper and Pearson).
    `doubts` are the doubtful findings that concern one of its sides. `bound` says that one side's
    events took longer than the phase, and what would measure them: what is called slower (or
    faster) is so by the nearer end of the interval at least.

    Where factors are crossed, it is an effect, and `levels` maps its factors to their levels: with
    one a main effect, that level against the factor's first; with several an interaction, the
    cells at these levels against what the effects of fewer factors would have made of them.

    In a gathered run `hosts` tell of each host that played it. Where these are several, a host's
    mean is one datum of the interval; `between_hosts_percent` is the standard deviation of the
    effect from host to host, `heterogeneity_percent` is I² (`stats/hosts.py`); None: not known.
    """

    metric: Metric
    primary: bool
    base: str
    candidate: str
    base_value: float
    candidate_value: float
    change_percent: float
    slowdown_percent: float
    low_percent: float
    high_percent: float
    margin_percent: float
    blocks: Int64
    dropped: Int64
    sd_percent: float
    mde80_percent: float
    p_value: float
    verdict: VerdictName
    notes: tuple[str, ...] = ()
    sign_flip_p: float | None = None
    hodges_lehmann_percent: float | None = None
    levels: dict[str, str] = {}
    share_unseen_percent: float | None = None
    doubts: tuple[Doubt, ...] = ()
    hosts: tuple[HostEffect, ...] = ()
    between_hosts_percent: float | None = None
    heterogeneity_percent: float | None = None
    error_percent: float = 0.0
    freedom: Int64 = 0
    bound: str = ""

    @property
    def is_doubtful(self) -> bool:
        """It says something, and an audit doubts it."""
        return bool(self.doubts) and self.verdict in CLAIMS

    @property
    def reach_percent(self) -> float:
        """How far its interval reaches to either side, as a time ratio: ± so many percent."""
        low, high = (1 + end / 100 for end in (self.low_percent, self.high_percent))
        return 100 * (math.sqrt(high / low) - 1) if low > 0 else math.inf


def find_overall(rows: Iterable[Comparison]) -> Overall:
    """The worst word; *measured* where nothing is compared."""
    return min((row.verdict for row in rows), key=WORST_FIRST.index, default="measured")


class Spread(Record):
    """How far the restarts of a candidate lie apart in one primary metric.

    `value` is their geometric mean; `range_percent` largest ÷ smallest − 1; `cov_percent` standard
    deviation ÷ mean, with its 95 % interval for normal errors (`low_percent`, `high_percent`).
    """

    candidate: str
    metric: Metric
    restarts: Int64
    value: float
    range_percent: float
    cov_percent: float
    low_percent: float
    high_percent: float


#: A noise limit's name to what it limits.
LIMITED = {"steal_percent": "steal", "foreign_percent": "foreign CPU"}

#: `not checked`: it could not be looked at; `does not apply`: the run has nothing of what the audit
#: judges, by what was asked for. The sentence says why.
Soundness = Literal["sound", "does not apply", "not checked", "doubtful", "invalid"]


class Finding(Record):
    """An audit's judgement: how sound, one sentence why, and the trials meant.

    Where `phase` is given, an invalid one concerns only what was measured in that phase.
    """

    audit: str
    soundness: Soundness
    sentence: str
    trials: tuple[Int64, ...] = ()
    phase: str = ""


class Standstill(Record):
    """Who stood still while a block was played (`Dyno`, `the driver of new`, `the host`), and how
    long at a stretch.
    """

    who: str
    duration_s: float


class Dropped(Record):
    """A block that does not count: `percent` was its share of what `limit` is on, `most` what that
    allows. Where somebody stood still it is the share of a candidate's own time.
    """

    workload: str
    block: Int64
    limit: str
    percent: float
    most: float
    standstill: Standstill | None = None

    @property
    def what(self) -> str:
        """`foreign CPU`: what the limit is on, a share of all CPU time there was."""
        return LIMITED.get(self.limit, self.limit)

    @property
    def reason(self) -> str:
        """`foreign CPU 12.3 % > 10 %`, or `Dyno stood still for 4.0 s`."""
        if self.standstill:
            return f"{self.standstill.who} stood still for {self.standstill.duration_s:.1f} s"
        return f"{self.what} {self.percent:.1f} % > {self.most:g} %"


class Verdict(Record):
    """`verdict.json`: everything derived from a run's trials.

    `overall` is the worst of invalid > slower > inconclusive > not slower over the primaries, or
    *measured* where nothing is compared, *loses* where a crash took what was acknowledged, *loses
    as permitted* where the engine's settings promise no more;
    `sentence` says it in words, `reason` why it found less than it should have (too noisy, not
    finished), empty where nothing stood in its way; `dropped` are the blocks that do not count: a
    noise limit was broken, or somebody stood still; `spread` is that of every candidate in every
    primary metric, over the blocks judged. Where the design's gate is the mean, `means` holds a row
    for each candidate (or main effect), the geometric mean of the time ratios of all primaries, and
    `overall` is the worst of these alone; else it is empty.
    `causes` say what changed on each candidate; none where nothing was looked at. `rehearsal` has
    the classes of a rehearsed log, and `sentence` is then its first line.
    """

    overall: Overall
    sentence: str
    complete: bool
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    dropped: tuple[Dropped, ...]
    analyses: tuple[dict[str, float], ...] = ()
    spread: tuple[Spread, ...] = ()
    means: tuple[Comparison, ...] = ()
    causes: tuple[Cause, ...] = ()
    reason: str = ""
    rehearsal: Rehearsal | None = None
    schema: Int64 = SCHEMA

    def list_findings(self, *soundness: Soundness) -> list[Finding]:
        """Those of some kinds."""
        return [it for it in self.findings if it.soundness in soundness]

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Those of the primaries, or of the means that decide, that say something; none where the
        run is invalid, or open in all of them: it then claims nothing that could be doubted. Of
        what was measured alone all doubtful findings are.
        """
        if self.overall == "invalid":
            return ()
        if self.overall == "measured":
            return tuple(Doubt(it.audit, it.sentence) for it in self.list_findings("doubtful"))
        decisive = self.means or [row for row in self.comparisons if row.primary]
        doubted = [row for row in decisive if row.is_doubtful]
        return tuple(dict.fromkeys(doubt for row in doubted for doubt in row.doubts))
