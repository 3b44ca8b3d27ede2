"""A run of disks judged: block by block the time of an operation beside the base's, with the
intervals, interim analyses and words of every comparison (METHOD.md, The words).
"""

from __future__ import annotations

import math

import numpy as np

from dyno.disk.audits import judge_run
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import compute_t_interval, to_log, to_percent
from dyno.judge.stats.verdict import adjust_holm, choose_verdicts
from dyno.record import VerdictName
from dyno.record.disk import DiskComparison, DiskFinding, DiskJob, DiskRun, DiskSide, DiskVerdict

ALPHA = 0.05
#: The worst first.
ORDER: tuple[VerdictName, ...] = ("invalid", "slower", "inconclusive", "not slower", "faster")
#: Fewer blocks have no spread.
BLOCKS_LEAST = 2


def judge_disks(run: DiskRun) -> DiskVerdict:
    """The verdict on all blocks of the record."""
    findings = tuple(judge_run(run))
    rows = compare_sides(run, findings)
    overall = min((row.verdict for row in rows), key=ORDER.index, default=None)
    return DiskVerdict(overall, describe_overall(run, overall, rows, findings), rows, findings)


def compare_sides(
    run: DiskRun, findings: tuple[DiskFinding, ...] = ()
) -> tuple[DiskComparison, ...]:
    """Each side against the first, in every job; none before the second block."""
    if len(run.sides) < 2 or run.blocks < BLOCKS_LEAST:
        return ()
    base, *others = run.sides
    pairs = [(side, job) for side in others for job in run.jobs]
    logs = np.array([_collect_logs(run, base, side, job) for side, job in pairs])
    blocks = logs.shape[-1]
    analyses = InterimAnalyses(run.analyses, ALPHA)
    interval = compute_t_interval(logs, analyses.compute_level(blocks))
    p_values = adjust_holm(analyses.adjust_p(interval.p, blocks))
    words = choose_verdicts(
        interval,
        to_log(run.margin_percent),
        blocks=blocks,
        last=blocks >= analyses.maximum,
        significant=p_values <= ALPHA,
    )
    rows = []
    for at, (side, job) in enumerate(pairs):
        wrong = any(
            it.soundness == "invalid"
            and (it.covers(side.name, job.name) or it.covers(base.name, job.name))
            for it in findings
        )
        rows.append(
            DiskComparison(
                job=job.name,
                base=base.name,
                candidate=side.name,
                base_rate=compute_mean_rate(run, base, job),
                candidate_rate=compute_mean_rate(run, side, job),
                slowdown_percent=to_percent(float(interval.estimate[at])),
                low_percent=to_percent(float(interval.low[at])),
                high_percent=to_percent(float(interval.high[at])),
                margin_percent=run.margin_percent,
                blocks=blocks,
                p_value=float(p_values[at]),
                verdict="invalid" if wrong else str(words[at]),  # type: ignore[arg-type]
            )
        )
    return tuple(rows)


def _collect_logs(run: DiskRun, base: DiskSide, side: DiskSide, job: DiskJob) -> list[float]:
    """The log of the time ratio of an operation, by block."""
    ours, theirs = (run.find_plays(each.name, job.name) for each in (base, side))
    return [math.log(one.rate / other.rate) for one, other in zip(ours, theirs, strict=True)]


def compute_mean_rate(run: DiskRun, side: DiskSide, job: DiskJob) -> float:
    """The geometric mean over the blocks, in operations a second; 0 without one."""
    rates = [play.rate for play in run.find_plays(side.name, job.name)]
    return math.exp(sum(map(math.log, rates)) / len(rates)) if rates else 0.0


def is_decided(run: DiskRun) -> bool:
    """Is no comparison open, so that no more blocks are needed?"""
    return all(row.verdict != "inconclusive" for row in compare_sides(run))


def describe_overall(
    run: DiskRun,
    overall: VerdictName | None,
    rows: tuple[DiskComparison, ...],
    findings: tuple[DiskFinding, ...],
) -> str:
    """The verdict in a sentence."""
    wrong = [it for it in findings if it.soundness == "invalid"]
    if overall is None:
        if wrong:
            return f"Invalid: {wrong[0].sentence}"
        jobs, blocks = len(run.jobs), run.blocks
        return (
            f"{jobs} job{'s' * (jobs != 1)}, {blocks} block{'s' * (blocks != 1)}; a second path "
            "would be compared."
        )
    worst = [row for row in rows if row.verdict == overall]
    row = max(worst, key=lambda it: it.slowdown_percent)
    if overall == "invalid":
        return f"Invalid: {wrong[0].sentence}"
    number = f"{row.slowdown_percent:+.1f} % [{row.low_percent:+.1f}, {row.high_percent:+.1f}]"
    of = f"in {len(worst)} of {len(rows)} comparisons"
    lead = {
        "slower": f"{row.candidate} is slower {of}, most in '{row.job}': {number} time",
        "inconclusive": f"Inconclusive {of}, most in '{row.job}': {number} time",
        "not slower": f"Not slower: at most {max(it.high_percent for it in rows):.1f} % in any job",
        "faster": f"Faster in every job, least in '{row.job}': {number} time",
    }[overall]
    return f"{lead} (margin {run.margin_percent:g} %, {row.blocks} blocks)."
