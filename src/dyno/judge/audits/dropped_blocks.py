"""Audit `dropped_blocks`: would the blocks that noise took have said something else?

A block is dropped for the CPU time that others had, unseen. But a candidate's own work may be
taken for others' (a process that left its family, a kernel's thread that works for it), and then it
is the slow blocks that go. So each primary that has its word is judged once more with the dropped
blocks in it, by the same rule. Where the word turns round, or where it is lost and what was dropped
speaks against it by itself (Welch, one-sided, 5 %), the comparison is *doubtful*. A word that is
lost only because noisy blocks spread is none: that is what they were dropped for.

How often it notices, and how often it errs: docs/evidence/dropped-blocks.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.blocks import compute_noise_shares
from dyno.judge.analysis.comparisons import ComparisonContext, PairedMetric, pair_metrics
from dyno.judge.analysis.effect_words import describe_word
from dyno.judge.analysis.rows import CLEARED, judge_comparisons
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.drops import AGAINST_LEVEL, compute_slower_p
from dyno.judge.stats.verdict import OPEN, SLOWER
from dyno.record import Comparison, Finding, Metric, Trial

#: A primary: what is measured, and whose.
Key = tuple[Metric, str]


class DroppedBlocks:
    """Each primary's word with and without the blocks that broke a noise limit."""

    summary = "the blocks dropped for noise do not contradict the others"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each primary whose word falls with the dropped blocks; else one."""
        dropped = sum(each.standstill is None for each in view.dropped)
        if not dropped and not any(map(_is_read, view.played_trials)):
            why = "nothing of the host's noise was read, so that no block could be dropped"
            return [Finding("dropped_blocks", "not checked", why)]
        kept = sum(view.valid_blocks.values())
        if not dropped:
            return [
                Finding("dropped_blocks", "sound", f"none of {kept} blocks was dropped for noise")
            ]
        words = f"with the {dropped} dropped blocks included, every primary is judged the same"
        return list(_find_turned(view)) or [Finding("dropped_blocks", "sound", words)]


def _is_read(trial: Trial) -> bool:
    return bool(compute_noise_shares(trial, {record.phase for record in trial.phases}))


def _find_turned(view: RunView) -> Iterator[Finding]:
    whole = view.without_limits
    analyses, context = Analysis(view, {}).case.analyses, Analysis(whole, {}).case
    kept, every, lost = (_Lines({}) for _ in range(3))
    for name, blocks in view.blocks.items():
        every_block, counted = whole.blocks[name].valid, blocks.trial_numbers
        at = analyses.find_last_reached(len(blocks.valid))
        gone = [b for b in every_block if not {t.number for t in b.values()} <= counted]
        if at and gone:
            kept.add(view, name, blocks.valid[:at])
            every.add(whole, name, every_block)
            lost.add(whole, name, gone)
    words, others = kept.judge_lines(context), every.judge_lines(context)
    for key, row in words.items():
        other, dropped = others.get(key, row), lost.lines.get(key)
        if dropped and _speaks_against(row, other, dropped, kept.lines[key]):
            yield _make_finding(view, replace(row, dropped=dropped.logs.size), other)


@dataclass(frozen=True)
class _Lines:
    """The primaries in some of a run's blocks, by what is measured and whose."""

    lines: dict[Key, PairedMetric]

    def add(self, view: RunView, workload: str, blocks: Sequence[dict[str, Trial]]) -> None:
        """Those of `workload` in these blocks."""
        plan = next(each for each in view.run.workloads if each.name == workload)
        for line in pair_metrics(view, plan, blocks):
            if line.primary:
                self.lines[line.metric, line.effect.candidate] = line

    def judge_lines(self, context: ComparisonContext) -> dict[Key, Comparison]:
        """Each with its word."""
        rows = judge_comparisons(context, list(self.lines.values()))
        return dict(zip(self.lines, rows, strict=True))


def _speaks_against(
    row: Comparison, other: Comparison, dropped: PairedMetric, kept: PairedMetric
) -> bool:
    """Does the word turn round, or is it lost to blocks that speak against it?"""
    if row.verdict in (OPEN, other.verdict) or {row.verdict, other.verdict} <= set(CLEARED):
        return False
    if other.verdict != OPEN:
        return True
    sign = -1.0 if row.verdict == SLOWER else 1.0
    return compute_slower_p(sign * dropped.logs, sign * kept.logs) <= AGAINST_LEVEL


def _make_finding(view: RunView, row: Comparison, other: Comparison) -> Finding:
    lost = {each.block for each in view.dropped if each.workload == row.metric.workload}
    numbers = tuple(
        trial.number
        for trial in view.played_trials
        if trial.workload == row.metric.workload and trial.block in lost
    )
    without, with_them = (describe_word(row.metric, it.verdict) for it in (row, other))
    words = (
        f"{row.metric.workload} on {row.candidate}: {without} ({row.slowdown_percent:+.1f} %) "
        f"without the {row.dropped} blocks dropped for noise, {with_them} "
        f"({other.slowdown_percent:+.1f} %) with them: its own work may be counted as foreign"
    )
    return Finding("dropped_blocks", "doubtful", words, numbers)


AUDIT = DroppedBlocks()
