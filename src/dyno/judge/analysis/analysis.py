"""A run laid out for judging: what is compared at each interim analysis, and what the audits found.

For a gate that asks whether a build is slower on the whole (`gate = "mean"`) the geometric mean
over all primaries of all workloads decides, block by block. Each workload's own primaries are
judged as ever and stand beside it: all of eight equal workloads rarely pass in one run, and their
mean nearly always does (docs/evidence/code-choices.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from msgspec import structs

from dyno.judge.analysis.audit import (
    Audit,
    JudgesEveryTrial,
    JudgesGathered,
    JudgesWallTime,
    load_audits,
)
from dyno.judge.analysis.blocks import align_blocks, find_latest_attempts
from dyno.judge.analysis.comparisons import (
    ComparisonContext,
    PairedMetric,
    Place,
    count_restarts,
    pair_metrics,
)
from dyno.judge.analysis.effects import Effect, list_effects
from dyno.judge.analysis.rows import judge_comparisons
from dyno.judge.analysis.run_view import BLOCKS_LEAST, RunView
from dyno.judge.analysis.spread import compute_restart_spreads
from dyno.record import Comparison, Doubt, Finding, Metric, Soundness, Spread

#: What the mean is called where a metric is asked for; its values are time ratios.
MEAN = Metric("all workloads", "every phase", "geometric", "mean", "", "lower")


def compute_suite_means(
    context: ComparisonContext, lines: Sequence[PairedMetric]
) -> list[PairedMetric]:
    """One line for each candidate (or main effect), from its primaries in `lines`.

    None for a candidate that lacks one of the declared primaries: a mean over fewer is another
    number. The nth valid blocks of the workloads are taken together; the margin is the run's.
    """
    effects = {line.effect.candidate: line.effect for line in lines if line.primary}
    declared = context.primaries // max(1, context.rivals)
    made = []
    for candidate, effect in effects.items():
        own = [x for x in lines if x.primary and x.effect.candidate == candidate]
        if len(own) == declared and len({line.logs.size for line in own}) == 1:
            made.append(_compute_mean(context, effect, own))
    return made


def _compute_mean(
    context: ComparisonContext, effect: Effect, own: Sequence[PairedMetric]
) -> PairedMetric:
    ratios = np.exp(np.mean([line.logs for line in own], axis=0))
    # where loads come again, the fewest of any workload: their luck is in the mean too
    shared = [line.groups for line in own if line.groups is not None]
    reasons = (line.grey or context.find_invalid_sentence(line) for line in own)
    return PairedMetric(
        metric=MEAN,
        effect=effect,
        primary=True,
        margin_percent=context.run.design.margin_percent,
        base_values=np.ones_like(ratios),
        values=ratios,
        grey=next((reason for reason in reasons if reason), ""),
        groups=min(shared, key=lambda groups: len(set(groups))) if shared else None,
    )


class Analysis:
    """Everything that `analyse_now` and `judge` ask of a run; made anew for each question.

    `asked` are the audits to ask, all there are where none are named.
    """

    def __init__(self, view: RunView, asked: Mapping[str, Audit] | None = None) -> None:
        self.view, self.run = view, view.run
        self.audits = load_audits() if asked is None else asked

    @cached_property
    def findings(self) -> list[Finding]:
        """What the audits say that have something to judge: the trials that count, or all. Of a
        gathered run they hear one share at a time, since hosts may differ in everything.
        """
        found: list[Finding] = []
        for name, audit in self.audits.items():
            if not self.view.shares or isinstance(audit, JudgesGathered):
                found += _ask_audit(name, audit, self.view)
                continue
            told = [(share, _ask_audit(name, audit, share)) for share in self.view.shares]
            found += join_findings(told)
        return found

    @cached_property
    def case(self) -> ComparisonContext:
        """What is the same for all comparisons."""
        rivals = sum(not effect.interaction for effect in list_effects(self.run))
        declared = len(self.view.primaries)
        dropped = {name: len(blocks.dropped) for name, blocks in self.view.blocks.items()}
        primaries, doubts = declared * rivals, self._find_doubts()
        restarts = count_restarts(self.view.trials)
        invalid = self._find_invalid()
        return ComparisonContext(self.run, primaries, invalid, dropped, rivals, doubts, restarts)

    @property
    def deciding(self) -> int:
        """How many comparisons decide: all primaries, or a mean for each candidate."""
        return self.case.rivals if self._by_mean else self.case.primaries

    @property
    def _by_mean(self) -> bool:
        return self.run.design.gate == "mean"

    def list_lines(self, blocks: int, *, together: bool = False) -> list[PairedMetric]:
        """Every comparison in the first `blocks` valid blocks of each workload; in all that there
        are where these were dealt. `together`: in as many, and of the same hosts, of each.
        """
        found: list[PairedMetric] = []
        chosen = {name: own.valid[:blocks] for name, own in self.view.blocks.items()}
        if self.run.is_dealt:
            chosen = {name: own.valid for name, own in self.view.blocks.items()}
            chosen = align_blocks(chosen) if together else chosen
        for workload in self.run.workloads:
            valid = chosen[workload.name]
            if len(valid) >= BLOCKS_LEAST:
                found += pair_metrics(self.view, workload, valid)
        return found

    def compute_means(self, blocks: int) -> tuple[list[PairedMetric], list[Comparison]]:
        """The mean over all primaries for each candidate, in the first `blocks`; and judged."""
        lines = self.list_lines(blocks, together=True)
        found = compute_suite_means(self.case, lines)
        context = replace(self.case, primaries=self.case.rivals)
        rows = judge_comparisons(context, found)
        return found, [
            structs.replace(row, doubts=self._find_doubts_of_mean(row, lines)) for row in rows
        ]

    def _find_doubts_of_mean(
        self, row: Comparison, lines: Sequence[PairedMetric]
    ) -> tuple[Doubt, ...]:
        """What doubts any of the primaries that a mean is of."""
        own = (line for line in lines if line.primary and line.effect.candidate == row.candidate)
        return tuple(dict.fromkeys(doubt for line in own for doubt in self.case.find_doubts(line)))

    def count_decided(self, blocks: int) -> int:
        """How many of those that decide have their verdict, as precise as was asked for, at the
        look at `blocks`.

        An invalid one has, and so has one in a grey cell: more blocks would not change it.
        """
        if self._by_mean:
            found, rows = self.compute_means(blocks)
        else:
            found = [line for line in self.list_lines(blocks) if line.primary]
            rows = judge_comparisons(self.case, found)
        judged = zip(found, rows, strict=True)
        return sum(bool(line.grey) or self._is_decided(row) for line, row in judged)

    def _is_decided(self, row: Comparison) -> bool:
        precision = self.run.design.precision_percent
        is_precise = precision is None or row.reach_percent <= precision
        return row.verdict == "invalid" or (row.verdict != "inconclusive" and is_precise)

    def judge_comparisons(self) -> list[Comparison]:
        """All comparisons, each workload at the last analysis that it reached."""
        found: list[PairedMetric] = []
        for name, valid in self.view.valid_blocks.items():
            at = self.case.analyses.find_last_reached(valid) or valid
            found += [line for line in self.list_lines(at) if line.metric.workload == name]
        return judge_comparisons(self.case, found)

    def judge_suite(self) -> list[Comparison]:
        """The means at the last analysis that all workloads reached; empty where they do not
        decide.
        """
        least = min(self.view.valid_blocks.values(), default=0)
        at = self.case.analyses.find_last_reached(least) or least
        return self.compute_means(at)[1] if self._by_mean else []

    def compute_spread(self) -> list[Spread]:
        """How far each candidate's restarts lie apart, over the blocks of `judge_comparisons`."""
        found: list[Spread] = []
        for workload in self.run.workloads:
            valid = self.view.blocks[workload.name].valid
            blocks = valid[: self.case.analyses.find_last_reached(len(valid)) or len(valid)]
            if len(blocks) >= BLOCKS_LEAST:
                found += compute_restart_spreads(self.view, workload, blocks)
        return found

    def describe_history(self) -> tuple[dict[str, float], ...]:
        """The interim analyses that every workload reached: blocks, nominal level, primaries
        decided.
        """
        analyses = self.case.analyses
        least = min(self.view.valid_blocks.values(), default=0)
        reached = [n for n in analyses.blocks if n <= least]
        if self.run.is_dealt:
            reached = [least] if reached else []
        of = self.deciding
        return tuple(
            {
                "blocks": n,
                "level": analyses.compute_level(n),
                "decided": self.count_decided(n),
                "primaries": of,
            }
            for n in reached
        )

    @property
    def has_invalid_primary(self) -> bool:
        """Some primary is invalid, measured or not."""
        judged = {(each.workload, each.phase) for each in self.view.primaries}
        return any(
            not phase or (workload, phase) in judged for workload, _, phase in self.case.invalid
        )

    def _find_invalid(self) -> dict[Place, str]:
        """(workload, candidate, phase or "" for all) to the sentence that makes it invalid.

        A finding that names no trial makes all invalid; one of the client-only baseline's trials,
        the base and with it the workload. Trials that count for nothing (torn, failed) make nothing
        so.
        """
        found: dict[Place, str] = {}
        for finding, places in self._find_places("invalid", self._find_counted_places()):
            for place in places:
                found.setdefault(place, finding.sentence)
        return found

    def _find_doubts(self) -> dict[Place, list[Doubt]]:
        """What doubts a candidate in a phase (or "", in all) of a workload. Trials that count for
        nothing doubt theirs too: who often failed is doubtful by those that failed.
        """
        every = {trial.number: (trial.workload, trial.candidate) for trial in self.view.trials}
        found: dict[Place, list[Doubt]] = {}
        for finding, places in self._find_places("doubtful", every | self._find_counted_places()):
            for place in places:
                found.setdefault(place, []).append(Doubt(finding.audit, finding.sentence))
        return found

    def _find_places(
        self, word: Soundness, sides: Mapping[int, tuple[str, str]]
    ) -> Iterator[tuple[Finding, list[Place]]]:
        """The findings of this word, each with what it concerns by the sides of its trials."""
        every = {(w.name, self.run.design.base) for w in self.run.workloads}
        for finding in self.findings:
            if finding.soundness == word:
                named = {sides[number] for number in finding.trials if number in sides}
                concerned = sorted(named) if finding.trials else sorted(every)
                yield finding, [(*side, finding.phase) for side in concerned]

    def _find_counted_places(self) -> dict[int, tuple[str, str]]:
        """Good trials of each block's latest attempt, and the client-only baseline's, by number."""
        base = self.run.design.base
        found = {
            trial.number: (name, trial.candidate)
            for name in self.view.blocks
            for block in find_latest_attempts(name, self.view.trials).values()
            for trial in block
            if trial.status == "ok"
        }
        return found | {
            t.number: (t.workload, base) for t in self.view.trials if t.is_client_baseline
        }


def _ask_audit(name: str, audit: Audit, view: RunView) -> list[Finding]:
    if view.run.design.by == "cpu" and isinstance(audit, JudgesWallTime):
        return [Finding(name, "does not apply", "the verdict rests on CPU time, not on wall time")]
    heard = view if isinstance(audit, JudgesEveryTrial) else view.counted_only
    return audit.judge(heard) if heard.trials else [Finding(name, "not checked", "no trial counts")]


def join_findings(told: Sequence[tuple[RunView, Sequence[Finding]]]) -> list[Finding]:
    """What an audit said of each share: what is wrong by itself, with its host; the rest once for
    each word.
    """
    found: list[Finding] = []
    alike: dict[tuple[Soundness, str], list[Finding]] = {}
    for view, findings in told:
        for each in findings:
            if each.soundness in ("doubtful", "invalid"):
                own = each.trials or tuple(trial.number for trial in view.trials)
                host = f"on {view.run.share.host}: " if view.run.share else ""
                found.append(structs.replace(each, sentence=f"{host}{each.sentence}", trials=own))
            else:
                alike.setdefault((each.soundness, each.phase), []).append(each)
    for same in alike.values():
        first, sentences = same[0], {each.sentence for each in same}
        also = f" (and likewise in {len(same) - 1} more)" if len(sentences) > 1 else ""
        numbers = tuple(number for each in same for number in each.trials)
        found.append(structs.replace(first, sentence=f"{first.sentence}{also}", trials=numbers))
    return found
