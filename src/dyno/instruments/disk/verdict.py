"""A run of disks judged: block by block the time of an operation beside the base's, with the
intervals, interim analyses and words of every comparison (METHOD.md, The words).
"""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from dyno import numbers
from dyno.instruments.disk.audits import judge_run
from dyno.judge.stats.interim_analyses import InterimAnalyses, choose_analyses_up_to
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.simulate import compute_clopper_pearson
from dyno.judge.stats.verdict import adjust_holm, choose_verdicts
from dyno.record import VerdictName
from dyno.record.disk import (
    DiskComparison,
    DiskErrorRates,
    DiskFinding,
    DiskJob,
    DiskRun,
    DiskSide,
    DiskVerdict,
)

ALPHA = 0.05
#: Blocks at which a comparison is judged.
ANALYSES = choose_analyses_up_to(10)
#: From here on a slowdown is told in times.
TIMES_PERCENT = 900.0
#: The worst first.
ORDER: tuple[VerdictName, ...] = ("invalid", "slower", "inconclusive", "not slower", "faster")
#: Fewer blocks have no spread.
BLOCKS_LEAST = 2


def judge_disks(run: DiskRun) -> DiskVerdict:
    """The verdict on all blocks of the record."""
    findings = tuple(judge_run(run))
    rows = compare_sides(run, findings)
    overall = min((row.verdict for row in rows), key=ORDER.index, default=None)
    if overall is None and len(run.sides) > 1:
        wrong = any(it.soundness == "invalid" for it in findings)
        overall = "invalid" if wrong else "inconclusive"
    sentence = describe_overall(run, overall, rows, findings)
    return DiskVerdict(overall, sentence, rows, findings, measure_error_rates(run))


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
    words = {str(word): 0 for word in ORDER[1:]}
    wrong = 0
    for part in range(parts):
        rows = _judge_part(run, range(part * most, (part + 1) * most))
        for row in rows:
            words[row.verdict] += 1
        wrong += any(row.verdict in ("slower", "faster") for row in rows)
    low, high = compute_clopper_pearson(wrong, parts)
    return DiskErrorRates(parts, wrong, 100.0 * low, 100.0 * high, words)


def _judge_part(run: DiskRun, blocks: range) -> tuple[DiskComparison, ...]:
    rows: tuple[DiskComparison, ...] = ()
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
    if not rows and overall != "invalid":
        played = f"{run.blocks} block{'s' * (run.blocks != 1)}"
        return f"Inconclusive: {played} of {BLOCKS_LEAST} that a comparison takes at least."
    worst = [row for row in rows if row.verdict == overall]
    if overall == "invalid":
        return f"Invalid: {wrong[0].sentence}"
    row = max(worst, key=lambda it: it.slowdown_percent)
    number = describe_change(row)
    of = f"in {len(worst)} of {len(rows)} comparisons"
    lead = {
        "slower": f"{row.candidate} is slower {of}, most in '{row.job}': {number}",
        "inconclusive": f"Inconclusive {of}, most in '{row.job}': {number}",
        "not slower": f"Not slower: at most {max(it.high_percent for it in rows):.1f} % in any job",
        "faster": f"Faster in every job, least in '{row.job}': {number}",
    }[overall]
    return f"{lead} (margin {run.margin_percent:g} %, {row.blocks} blocks)."


def describe_change(row: DiskComparison) -> str:
    """The time of an operation beside the base's, with its interval; times where percents end."""
    ends = (row.slowdown_percent, row.low_percent, row.high_percent)
    if row.slowdown_percent < TIMES_PERCENT:
        interval = numbers.format_interval(row.low_percent, row.high_percent)
        return f"{numbers.format_signed_percent(row.slowdown_percent)} % {interval} time"
    whole, low, high = (1.0 + each / 100.0 for each in ends)
    interval = numbers.format_interval(low, high, "{:,.0f}".format)
    return f"{whole:,.0f} {interval} times the time"
