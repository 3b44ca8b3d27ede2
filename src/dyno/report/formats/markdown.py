"""Format: Markdown for a pull request, an issue, or `$GITHUB_STEP_SUMMARY`.

The intervals are drawn with characters, because these places show no picture of ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dyno import numbers
from dyno.printable import escape_line
from dyno.record import Comparison
from dyno.report import Book, words
from dyno.report.basis import summarize_restarts
from dyno.report.document import Document, Prose
from dyno.report.formats._rows import list_primaries
from dyno.report.rehearsal import build_rehearsal
from dyno.report.render.markdown import escape_markdown as _escape
from dyno.report.render.markdown import render_markdown

#: Characters of a drawn interval; an odd number has a middle.
WIDTH = 25
#: Signs beside the word, for who skims: colour never tells alone.
SIGNS = {"slower": "🔴", "faster": "🟢", "not slower": "🟢", "inconclusive": "⚪", "invalid": "⛔"}
DOUBTFUL = "🟡"


class _Markdown:
    summary = "Markdown for a pull request or $GITHUB_STEP_SUMMARY"

    def render(self, book: Book, strict: bool) -> str:
        """Sentence, table with drawn intervals, cause, what it rests on."""
        if book.verdict.rehearsal:
            return render_markdown(_build_rehearsal(book)) + "\n"
        return "\n".join(_write_lines(book)) + "\n"


def _build_rehearsal(book: Book) -> Document:
    return [Prose.from_text(book.verdict.sentence, "bad"), *build_rehearsal(book)]


def _write_lines(book: Book) -> Iterator[str]:
    verdict = book.verdict
    sign = DOUBTFUL if verdict.doubts else SIGNS[verdict.overall]
    yield f"### {sign} {_escape(book.run.name)}: {verdict.overall}"
    yield ""
    yield _escape(verdict.sentence)
    yield ""
    yield from _write_table(list_primaries(book))
    yield from (f"- **What changed:** {_escape(cause.sentence)}" for cause in verdict.causes)
    for finding in verdict.findings:
        if finding.soundness in ("doubtful", "invalid"):
            yield f"- **{finding.soundness}** by `{finding.audit}`: {_escape(finding.sentence)}"
    yield f"- {_escape(summarize_restarts(book).counted)}"
    if book.run.command:
        yield f"- to repeat: `{escape_line(book.run.command)}` (seed {book.run.seed})"


def _write_table(rows: Sequence[Comparison]) -> Iterator[str]:
    reach = _find_reach(rows)
    axis = f"−{reach:g} % … 0 … +{reach:g} %"
    yield f"| candidate | metric | base → candidate | slowdown | {axis} | verdict |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        values = (row.base_value, row.candidate_value)
        sides = " → ".join(numbers.format_quantity(value, row.metric.unit) for value in values)
        size = f"{numbers.format_signed_percent(row.slowdown_percent)} %"
        bounds = numbers.format_interval(row.low_percent, row.high_percent)
        sign = DOUBTFUL if row.is_doubtful else SIGNS[row.verdict]
        cells = (
            _escape(row.candidate),
            _escape(words.format_full_metric(row.metric)),
            _escape(sides),
            f"{size} {bounds}",
            f"`{draw_interval(row, reach)}`",
            f"{sign} {words.format_verdict(row)}",
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _find_reach(rows: Sequence[Comparison]) -> float:
    """The end of the axis in percent: intervals and margins are on it, or are cut at the last."""
    ends = [abs(e) for r in rows for e in (r.low_percent, r.high_percent, r.margin_percent)]
    largest = max(filter(math.isfinite, ends), default=1.0)
    steps = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    return next((step for step in steps if step >= largest), 100.0)


def draw_interval(row: Comparison, reach: float) -> str:
    """`····│·┊─●──········`: the interval `─`, its middle `●`, zero `│`, the margin `┊`."""
    drawn = ["·"] * WIDTH
    drawn[_find_place(0.0, reach)] = "│"
    drawn[_find_place(row.margin_percent, reach)] = "┊"
    if math.isfinite(row.slowdown_percent):
        first, last = (_find_place(end, reach) for end in (row.low_percent, row.high_percent))
        drawn[first : last + 1] = "─" * (last - first + 1)
        drawn[_find_place(row.slowdown_percent, reach)] = "●"
    return "".join(drawn)


def _find_place(percent: float, reach: float) -> int:
    share = (max(-reach, min(percent, reach)) + reach) / (2 * reach)
    return round(share * (WIDTH - 1))


FORMAT = _Markdown()
