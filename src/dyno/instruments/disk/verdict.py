"""A run of disks judged: block by block the time of an operation beside the base's, with the
intervals, interim analyses and words of every comparison (METHOD.md, The words).
"""

from __future__ import annotations

from msgspec.structs import replace

from dyno.instruments.disk.audits import judge_run
from dyno.judge.analysis.block_pairs import BLOCKS_LEAST, BlockPair, compare_blocks
from dyno.judge.analysis.sentence import build_result_clause
from dyno.judge.stats.interim_analyses import choose_analyses_up_to
from dyno.judge.stats.simulate import compute_clopper_pearson
from dyno.numbers import format_count
from dyno.record import Comparison, Doubt, VerdictName
from dyno.record.disk import DiskErrorRates, DiskFinding, DiskRun, DiskVerdict
from dyno.record.verdict import WORST_FIRST, find_overall

#: Blocks at which a comparison is judged.
ANALYSES = choose_analyses_up_to(10)


def judge_disks(run: DiskRun) -> DiskVerdict:
    """The verdict on all blocks of the record."""
    findings = tuple(judge_run(run))
    rows = compare_sides(run, findings)
    overall = find_overall(rows)
    wrong = next((it.sentence for it in findings if it.soundness == "invalid"), "")
    if not rows and (wrong or len(run.sides) > 1):
        overall = "invalid" if wrong else "inconclusive"
    blocks = format_count(run.blocks, "block")
    few = f"{blocks} of {BLOCKS_LEAST} that a comparison takes at least"
    sentence = f"Invalid: {wrong}" if wrong else f"Inconclusive: {few}."
    if overall == "measured":
        jobs = format_count(len(run.jobs), "job")
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
    asked = [(side, job) for side in others for job in run.jobs]
    pairs = [
        BlockPair(
            run.find_metric(job.name),
            base.name,
            side.name,
            run.compute_rates(base.name, job.name),
            run.compute_rates(side.name, job.name),
        )
        for side, job in asked
    ]
    rows = compare_blocks(pairs, run.analyses, run.margin_percent)
    judged = []
    for (side, job), row in zip(asked, rows, strict=True):
        own = [
            it for it in findings if any(it.covers(each.name, job.name) for each in (base, side))
        ]
        wrong = any(it.soundness == "invalid" for it in own)
        doubts = tuple(Doubt(it.audit, it.sentence) for it in own if it.soundness == "doubtful")
        word: VerdictName = "invalid" if wrong else row.verdict
        judged.append(replace(row, verdict=word, doubts=doubts))
    return tuple(judged)


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


def is_decided(run: DiskRun) -> bool:
    """Is no comparison open, so that no more blocks are needed?"""
    return all(row.verdict != "inconclusive" for row in compare_sides(run))


def is_over(run: DiskRun) -> bool:
    """Is no block missing?"""
    blocks = run.blocks
    return blocks >= run.analyses[-1] or (blocks in run.analyses and is_decided(run))
