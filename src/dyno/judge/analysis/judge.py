"""The judge: a run and its trials in, a verdict out (docs/METHOD.md).

It reads records only. `instruments/time/run.py` calls `analyse_now` after each block, and `judge`
gives the verdict so far; both see the same blocks and apply the same rule. Each
interim analysis uses exactly its own number of valid blocks, the first ones played; blocks beyond
wait for the next interim analysis. Nothing is kept from an earlier analysis: the words always
follow from the intervals shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from msgspec import structs

from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.audit import Audit
from dyno.judge.analysis.blocks import Blocks
from dyno.judge.analysis.cause import find_causes
from dyno.judge.analysis.cpu_time import BLIND, describe_offer
from dyno.judge.analysis.effects import note_interactions
from dyno.judge.analysis.rehearsal import judge_rehearsal
from dyno.judge.analysis.run_view import BLOCKS_LEAST, RunView
from dyno.judge.analysis.sentence import build_sentence, find_worst_verdict, put_doubt_first
from dyno.record import Comparison, Rehearsal, Run, Trial, Verdict, VerdictName
from dyno.record.count import Count

State = Literal["go on", "decided", "undecided", "too noisy", "failed"]

#: The remedy of a host on which too few blocks are valid; `{}` is the limit that took most of them.
QUIET_IT = (
    "reduce its load (`dyno doctor` names it), or allow more in the next run "
    "(`--limit {}`, or [limits] in the experiment)"
)


@dataclass(frozen=True)
class InterimResult:
    """Whether a run goes on, and how far it is.

    `state` is `go on` (play until every workload has `blocks` valid blocks; `missing` says how many
    each still lacks), `decided` (all primaries are), `undecided` (MAX is reached), `too noisy`
    (1.5 × MAX blocks played, too few of them valid; or as many as the first interim analysis takes,
    and none of them valid) or `failed` (the same, for failed trials). `sentence` says it in words,
    for the progress line and the log. `decided` of `of` primary comparisons had a verdict at the
    last analysis.
    """

    state: State
    blocks: int
    sentence: str
    valid: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    decided: int = 0
    of: int = 0

    @property
    def over(self) -> bool:
        """Nothing more is to be played."""
        return self.state != "go on"


def analyse_now(
    run: Run, trials: Sequence[Trial], audits: Mapping[str, Audit] | None = None
) -> InterimResult:
    """What to do after the trials so far; cheap between two analyses, so ask after each block."""
    return _analyse(Analysis(RunView(run, trials), audits))


def judge(
    run: Run,
    trials: Sequence[Trial],
    audits: Mapping[str, Audit] | None = None,
    counts: Sequence[Count] = (),
) -> Verdict:
    """The verdict so far; `complete` is False where the run is not over.

    A workload with fewer than two valid blocks has no comparison; `sentence` says so.
    `audits` are those that are asked, all there are where none are named. `counts` of instructions
    join the causes.
    """
    analysis = Analysis(RunView(run, trials), audits)
    now = _analyse(analysis)
    rows = note_interactions(analysis.judge_comparisons(), run.design.alpha)
    primaries, means = [row for row in rows if row.primary], analysis.judge_suite()
    decisive = means if run.design.gate == "mean" else primaries
    word = find_worst_verdict(decisive, analysis.deciding, invalid=analysis.has_invalid_primary)
    complete = now.state in ("decided", "undecided", "too noisy")
    reason = _explain_reason(analysis, now)
    imprecise = _explain_imprecise(run.design.precision_percent, decisive, complete)
    told = build_sentence(run, word, decisive, reason)
    offer = describe_offer(analysis.view) if word == "inconclusive" else ""
    parts = (told, _describe_hidden(means, primaries), imprecise, offer)
    verdict = Verdict(
        overall=word,
        sentence="; ".join(filter(None, parts)),
        complete=complete,
        comparisons=tuple(rows),
        findings=tuple(analysis.findings),
        dropped=analysis.view.dropped,
        analyses=analysis.describe_history(),
        spread=tuple(analysis.compute_spread()),
        means=tuple(means),
        causes=find_causes(analysis.view, rows, counts),
        reason="; ".join(filter(None, (reason, imprecise, offer))),
    )
    if run.design.rehearses:
        return _as_rehearsal(verdict, judge_rehearsal(analysis.view))
    sentence = put_doubt_first(verdict.sentence, verdict.doubts)
    if run.design.by == "cpu":
        sentence = f"{sentence}; {BLIND}"
    return structs.replace(verdict, sentence=sentence)


def _as_rehearsal(verdict: Verdict, found: Rehearsal) -> Verdict:
    """The verdict with the classes, and what a list of runs says of them."""
    word: VerdictName = "not slower"
    if found.exit_code == 1:
        told = {it.word for it in (*found.classes, *found.tables) if it.is_grave}
        is_time = told <= {"slower", "plan changed"} and not found.failure
        word = "slower" if is_time else "invalid"
    elif found.exit_code or not found.blocks:
        word = "inconclusive"
    return structs.replace(verdict, overall=word, sentence=found.sentence, rehearsal=found)


def _describe_hidden(means: Sequence[Comparison], primaries: Sequence[Comparison]) -> str:
    """What a mean hides: the bound of the workload that may be the slowest by itself."""
    if not means or not primaries:
        return ""
    worst = max(primaries, key=lambda row: row.high_percent)
    metric = worst.metric
    return (
        f"by itself {metric.workload} / {metric.phase} may take up to "
        f"{worst.high_percent:+.1f} % on {worst.candidate}"
    )


def _explain_imprecise(wanted: float | None, decisive: Sequence[Comparison], complete: bool) -> str:
    """That a run is over and an interval still reaches further than was wished."""
    reaches = [row.reach_percent for row in decisive if row.verdict != "invalid"]
    if wanted is None or not complete or max(reaches, default=0.0) <= wanted:
        return ""
    return (
        f"the precision asked for, {wanted:g} %, was not reached: the widest interval reaches "
        f"{max(reaches):.2g} % to either side"
    )


def _analyse(analysis: Analysis) -> InterimResult:
    if analysis.run.is_dealt:
        return _analyse_dealt(analysis)
    if analysis.run.design.untimed:
        return InterimResult("undecided", 0, "no time is measured")
    analyses, valid = analysis.case.analyses, analysis.view.valid_blocks
    least = min(valid.values(), default=0)
    reached, of = analyses.find_last_reached(least), analysis.deciding
    decided = analysis.count_decided(reached) if reached else 0
    following = analyses.find_next(reached)
    missing = {name: max(0, following - n) for name, n in valid.items()}
    now = InterimResult("go on", following, "", valid, missing, decided, of)
    said = f"{decided} of {of} primary comparisons decided"
    if least == reached > 0 and of and decided == of:
        return _end_analysis(now, "decided", f"decided at {reached} valid blocks")
    if reached == analyses.maximum:
        return _end_analysis(now, "undecided", f"all {reached} blocks are played, {said}")
    if stuck := _explain_stuck(analysis, missing):
        return _end_analysis(now, *stuck)
    told = f"{least} of {following} valid blocks for the next interim analysis"
    return replace(now, sentence=f"{told}, {said}" if reached else told)


def _analyse_dealt(analysis: Analysis) -> InterimResult:
    """A share goes on until each of its cells has the blocks that it is due, or can get no more;
    what was gathered is judged once.
    """
    view, run = analysis.view, analysis.run
    due, valid = run.due_blocks, view.valid_blocks
    missing = {name: max(0, due[name] - valid[name]) for name in due}
    told = f"{sum(valid.values())} of {sum(due.values())} valid blocks"
    now = InterimResult("go on", max(due.values(), default=0), told, valid, missing)
    if run.gathered:
        if why := describe_absent(run):
            return replace(now, sentence=why, missing={})
        return _end_analysis(now, "undecided", f"{told} were gathered")
    found = {name: _explain_share_stuck(view, name) for name in due if missing[name]}
    stuck = {name: state for name, state in found.items() if state}
    open_cells = {name: n for name, n in missing.items() if n and name not in stuck}
    if open_cells:
        return replace(now, missing=open_cells)
    if stuck:
        return _end_analysis(now, *next(iter(stuck.values())))
    return _end_analysis(now, "undecided", told)


def describe_absent(run: Run) -> str:
    """Which shares of a gathered run are missing or were not played to their end."""
    found = run.gathered
    if found is None:
        return ""
    of = next((each.share.of for each in found.shares if each.share), 0)
    words = {"missing": found.missing, "not complete": found.incomplete}
    told = [
        f"share{'s' * (len(shares) > 1)} {', '.join(map(str, shares))} of {of} "
        f"{'are' if len(shares) > 1 else 'is'} {word}"
        for word, shares in words.items()
        if shares
    ]
    return " and ".join(told)


def describe_short(view: RunView) -> str:
    """Which cells of a share, or of a gathered run, have fewer blocks than were dealt; empty where
    none has.
    """
    due, valid = view.run.due_blocks, view.valid_blocks
    short = [f"{valid[name]} of {n} blocks of {name}" for name, n in due.items() if valid[name] < n]
    return ", ".join(short)


def _explain_share_stuck(view: RunView, name: str) -> tuple[State, str] | None:
    """Why a cell of a share can get no more blocks; None where it can."""
    blocks = view.blocks[name]
    due, most = view.run.due_blocks[name], view.run.count_most_blocks(name)
    never = not blocks.valid and len(blocks.dropped) >= max(due, BLOCKS_LEAST)
    return _describe_stuck(name, blocks) if never or blocks.played >= most else None


def _end_analysis(now: InterimResult, state: State, text: str) -> InterimResult:
    return replace(now, state=state, blocks=min(now.valid.values()), sentence=text, missing={})


def _explain_stuck(analysis: Analysis, missing: dict[str, int]) -> tuple[State, str] | None:
    """Why a workload can get no more blocks; None where all can."""
    most, first = analysis.view.run.design.most_blocks, analysis.case.analyses.blocks[0]
    for name, blocks in analysis.view.blocks.items():
        never = not blocks.valid and len(blocks.dropped) >= first
        if missing[name] and (never or blocks.played >= most):
            return _describe_stuck(name, blocks)
    return None


def _describe_stuck(name: str, blocks: Blocks) -> tuple[State, str]:
    if len(blocks.failed) > len(blocks.dropped):
        why = next(iter(blocks.failed.values()))
        return "failed", f"{len(blocks.failed)} blocks of {name} failed: {why}"
    reason = f"{len(blocks.dropped)} of {blocks.played} blocks of {name} were dropped"
    often = blocks.often_broken
    if often[-1].standstill:
        return "too noisy", f"{reason}: {often[-1].reason}"
    more = QUIET_IT.format(f"{often[-1].limit}={math.ceil(max(d.percent for d in often))}")
    return "too noisy", f"this host is too noisy: {reason} ({often[-1].reason}); {more}"


def _explain_reason(analysis: Analysis, now: InterimResult) -> str:
    """Why a run has found less than it should have; empty for one that was played to its end."""
    if analysis.run.share:
        share = analysis.run.share
        whole = f"this is share {share.index} of {share.of}: `dyno gather` judges all of them"
        return whole if now.state == "undecided" else f"{now.sentence}; {whole}"
    if now.state in ("decided", "undecided"):
        return ""
    if now.state != "go on":
        return now.sentence
    failures = [why for blocks in analysis.view.blocks.values() for why in blocks.failed.values()]
    failed = f"; {len(failures)} blocks failed: {failures[-1]}" if failures else ""
    return f"the run is not finished: {now.sentence}{failed}"
