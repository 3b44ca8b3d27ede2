"""A run of disks judged: block by block the time of an operation beside the base's, with the
intervals, interim analyses and words of every comparison (METHOD.md, The words).
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from msgspec.structs import replace

from dyno.instruments.disk.audits import judge_run
from dyno.judge.analysis.rows import build_row
from dyno.judge.analysis.sentence import build_result_clause
from dyno.judge.stats.interim_analyses import InterimAnalyses, choose_analyses_up_to
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.power import compute_detectable
from dyno.judge.stats.simulate import compute_clopper_pearson
from dyno.judge.stats.verdict import adjust_holm, choose_verdicts
from dyno.record import Comparison, Doubt, VerdictName
from dyno.record.disk import DiskErrorRates, DiskFinding, DiskJob, DiskRun, DiskSide, DiskVerdict
from dyno.record.verdict import WORST_FIRST, find_overall

ALPHA = 0.05
#: Blocks at which a comparison is judged.
ANALYSES = choose_analyses_up_to(10)
#: Fewer blocks have no spread.
BLOCKS_LEAST = 2


def judge_disks(run: DiskRun) -> DiskVerdict:
    """The verdict on all blocks of the record."""
    findings = tuple(judge_run(run))
    rows = compare_sides(run, findings)
    overall = find_overall(rows)
    wrong = next((it.sentence for it in findings if it.soundness == "invalid"), "")
    if not rows and (wrong or len(run.sides) > 1):
        overall = "invalid" if wrong else "inconclusive"
    blocks = f"{run.blocks} block{'s' * (run.blocks != 1)}"
    few = f"{blocks} of {BLOCKS_LEAST} that a comparison takes at least"
    sentence = f"Invalid: {wrong}" if wrong else f"Inconclusive: {few}."
    if overall == "measured":
        jobs = f"{len(run.jobs)} job{'s' * (len(run.jobs) != 1)}"
        sentence = f"{jobs}, {blocks}; a second path would be compared."
    elif rows and overall != "invalid":
        sentence = f"{build_result_clause(overall, rows)}."
    return DiskVerdict(
        overall=overall,
        sentence=sentence,
        reason=few if overall == "inconclusive" and not rows else "",
        complete=is_over(run),
        comparisons=rows,
        findings=findings,
        dropped=(),
        error_rates=measure_error_rates(run),
    )


def compare_sides(run: DiskRun, findings: tuple[DiskFinding, ...] = ()) -> tuple[Comparison, ...]:
    """Each side against the first, in every job; none before the second block."""
    if len(run.sides) < 2 or run.blocks < BLOCKS_LEAST:
        return ()
    base, *others = run.sides
    pairs = [(side, job) for side in others for job in run.jobs]
    analyses = InterimAnalyses(run.analyses, ALPHA)
    level = analyses.compute_level(run.blocks)
    intervals = [
        compute_t_interval(np.array(_collect_logs(run, base, *pair)), level) for pair in pairs
    ]
    p_values = adjust_holm(np.array([analyses.adjust_p(it.p, run.blocks) for it in intervals]))
    rows = []
    for (side, job), interval, p in zip(pairs, intervals, p_values, strict=True):
        word = choose_verdicts(
            interval,
            to_log(run.margin_percent),
            blocks=run.blocks,
            last=run.blocks >= analyses.maximum,
            significant=p <= ALPHA,
        )
        own = [
            it for it in findings if any(it.covers(each.name, job.name) for each in (base, side))
        ]
        wrong = any(it.soundness == "invalid" for it in own)
        names, metric = (base.name, side.name), run.find_metric(job.name)
        rates = (compute_mean_rate(run, base, job), compute_mean_rate(run, side, job))
        seen = compute_detectable(run.blocks, float(interval.sd), level)
        rows.append(
            replace(
                build_row(metric, names, rates, interval, run.margin_percent, run.blocks),
                mde80_percent=to_percent(seen),
                p_value=float(p),
                verdict="invalid" if wrong else cast("VerdictName", str(word)),
                doubts=tuple(
                    Doubt(it.audit, it.sentence) for it in own if it.soundness == "doubtful"
                ),
            )
        )
    return tuple(rows)


def _collect_logs(run: DiskRun, base: DiskSide, side: DiskSide, job: DiskJob) -> list[float]:
    """The log of the time ratio of an operation, by block."""
    ours, theirs = (run.compute_rates(each.name, job.name) for each in (base, side))
    return [math.log(one / other) for one, other in zip(ours, theirs, strict=True)]


def measure_error_rates(run: DiskRun) -> DiskErrorRates | None:
    """What an A/A run in parts says, each as long as a comparison at most, and ended where one
    would be; None for another run, and before the first part is whole.
    """
    most = ANALYSES[-1]
    parts = run.blocks // most
    if not run.is_aa or not parts:
        return None
    words = {str(word): 0 for word in WORST_FIRST[1:]}
    wrong = 0
    for part in range(parts):
        rows = _judge_part(run, range(part * most, (part + 1) * most))
        for row in rows:
            words[row.verdict] += 1
        wrong += any(row.verdict in ("slower", "faster") for row in rows)
    low, high = compute_clopper_pearson(wrong, parts)
    return DiskErrorRates(parts, wrong, 100.0 * low, 100.0 * high, words)


def _judge_part(run: DiskRun, blocks: range) -> tuple[Comparison, ...]:
    rows: tuple[Comparison, ...] = ()
    for count in ANALYSES:
        plays = tuple(play for play in run.plays if play.block in blocks[:count])
        rows = compare_sides(replace(run, plays=plays, analyses=ANALYSES))
        if all(row.verdict != "inconclusive" for row in rows):
            break
    return rows


def compute_mean_rate(run: DiskRun, side: DiskSide, job: DiskJob) -> float:
    """The geometric mean over the blocks, in operations a second; 0 without one."""
    rates = run.compute_rates(side.name, job.name)
    return math.exp(sum(map(math.log, rates)) / len(rates)) if rates else 0.0


def is_decided(run: DiskRun) -> bool:
    """Is no comparison open, so that no more blocks are needed?"""
    return all(row.verdict != "inconclusive" for row in compare_sides(run))


def is_over(run: DiskRun) -> bool:
    """Is no block missing?"""
    blocks = run.blocks
    return blocks >= run.analyses[-1] or (blocks in run.analyses and is_decided(run))
