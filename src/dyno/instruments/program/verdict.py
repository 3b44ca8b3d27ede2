"""A run of programs judged: block by block their numbers, with the intervals, interim analyses and
words of every comparison (METHOD.md, The words).
"""

from __future__ import annotations

from dyno.judge.analysis.block_pairs import BLOCKS_LEAST, BlockPair, compare_blocks
from dyno.judge.analysis.sentence import build_result_clause
from dyno.numbers import format_count
from dyno.record import Comparison, Finding, Verdict
from dyno.record.program import ProgramRun
from dyno.record.verdict import find_overall

#: What a number alone does not tell, by the audit that looks at it elsewhere.
UNSEEN = {
    "operations": "whether both sides did the same work: a program tells its number alone",
    "contents": "whether both sides answer the same",
    "durability": "whether what was committed reached the disk",
    "latency": "how long single requests took",
    "client_bottleneck": "whether the program, and not what it measures, was the limit",
    "noise": "what else the host did meanwhile",
}


def judge_programs(run: ProgramRun) -> Verdict:
    """The verdict on all blocks of the record."""
    rows = compare_programs(run)
    overall = find_overall(rows)
    blocks = format_count(run.blocks, "block")
    few = f"{blocks} of {BLOCKS_LEAST} that a comparison takes at least"
    sentence = f"{blocks}; a second file would be compared."
    if len(run.sides) > 1:
        overall = overall if rows else "inconclusive"
        sentence = f"{build_result_clause(overall, rows)}." if rows else f"Inconclusive: {few}."
    return Verdict(
        overall=overall,
        sentence=sentence,
        reason=few if overall == "inconclusive" and not rows else "",
        complete=is_over(run),
        comparisons=rows,
        findings=tuple(list_findings(run)),
        dropped=(),
    )


def list_findings(run: ProgramRun) -> list[Finding]:
    """What was looked at, and by name what was not."""
    told = "each file that is started was the same before every start"
    found = [Finding("programs", "sound", told)]
    if any(side.setup for side in run.sides):
        told = "whether another setup gives other numbers: all starts of a side share one"
        found.append(Finding("loads", "not checked", told))
    return found + [Finding(name, "not checked", told) for name, told in UNSEEN.items()]


def compare_programs(run: ProgramRun) -> tuple[Comparison, ...]:
    """Each side against the first; none before the second block."""
    if len(run.sides) < 2 or run.blocks < BLOCKS_LEAST:
        return ()
    base, *others = run.sides
    values = {side.name: run.find_values(side.name) for side in run.sides}
    pairs = [
        BlockPair(run.metric, base.name, side.name, values[base.name], values[side.name])
        for side in others
    ]
    return tuple(compare_blocks(pairs, run.analyses, run.margin_percent))


def is_over(run: ProgramRun) -> bool:
    """Is no block missing?"""
    if run.blocks >= run.analyses[-1]:
        return True
    return run.blocks in run.analyses and all(
        row.verdict != "inconclusive" for row in compare_programs(run)
    )
