"""A document in Markdown, for a pull request or an issue."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from html import escape

from dyno.printable import escape_line, escape_text
from dyno.record import Comparison
from dyno.report import document as doc
from dyno.report import words
from dyno.report.document import Block, Document, TableCell, TextSpan, Words, list_spans
from dyno.report.names import NamedRow

#: Characters of a drawn interval; an odd number has a middle.
WIDTH = 25
#: Signs beside the word, for who skims: colour never tells alone.
SIGNS = {"slower": "🔴", "faster": "🟢", "not slower": "🟢", "inconclusive": "⚪", "invalid": "⛔"}
SIGNS |= {"doubtful": "🟡", "accepted": "☑️", "loses": "🔴", "loses as permitted": "⚪"}
#: The most letters of a name in a cell.
NAME_LETTERS = 70


def render_markdown(document: Document) -> str:
    """The document's text; what others wrote makes neither tags, nor cells, nor mentions."""
    return "\n".join(line for block in document for line in _write_block(block))


def _write_block(block: Block) -> Iterator[str]:
    match block:
        case doc.Heading():
            yield from (f"#### {escape_markdown(block.text)}", "")
        case doc.Prose():
            text = _write_words(block.words)
            yield from (f"**{text}**" if block.tone == "bad" and text.strip() else text, "")
        case doc.Items() if block.items:
            yield from ([escape_markdown(block.title), ""] if block.title else [])
            yield from (*(f"- {_write_words(it)}" for it in block.items), "")
        case doc.Terms():
            for name, own in block.rows:
                yield from ((f"**{escape_markdown(name)}**", "") if own else ())
                yield from (line for it in own for line in _write_block(it))
        case doc.Tiles():
            yield from (escape_markdown(join_tiles(block)), "")
        case doc.Listing():
            longest = max(map(len, re.findall("`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            title = [escape_markdown(block.title), ""] if block.title else []
            yield from (*title, fence, escape_text(block.text), fence, "")
        case doc.RowTable() if block.rows:
            yield from ([escape_markdown(block.title), ""] if block.title else [])
            yield f"| {' | '.join(escape_markdown(it.title) for it in block.columns)} |"
            yield f"|{'|'.join('--:' if it.kind == 'number' else '---' for it in block.columns)}|"
            yield from (f"| {' | '.join(_write_row(block, row))} |" for row in block.rows)
            yield ""
        case doc.Forest() if block.rows:
            yield from _write_forest(block.rows)
        case doc.Figure() | doc.Flame():
            yield from _write_block(doc.Prose(describe_drawing(block)))
        case doc.Bars():
            for name, parts in block.rows:
                told = ", ".join(f"{part} {said}" for part, _, said in parts)
                yield f"- {escape_markdown(f'{name}: {told}')}"
            yield ""
        case doc.Details():
            yield f"<details><summary>{_write_html(block.summary)}</summary>"
            yield ""
            yield from (line for own in block.blocks for line in _write_block(own))
            yield from ("</details>", "")


def join_tiles(block: doc.Tiles) -> str:
    return " · ".join(", ".join(filter(None, (it.text, said))) for it, said in block.tiles)


def describe_drawing(block: doc.Figure | doc.Flame) -> str:
    if isinstance(block, doc.Flame):
        return f"{block.title}: drawn in the report's page."
    return " ".join(f"{it.described}: drawn in the report's page." for it in block.charts[:1])


def _write_row(table: doc.RowTable, row: doc.TableRow) -> Iterator[str]:
    if isinstance(row, doc.Group):
        yield f"**{escape_markdown(row.text)}**"
        yield from ("" for _ in table.columns[1:])
        return
    for it in row:
        cell = it if isinstance(it, TableCell) else TableCell(it)
        beside = f" ({_write_words(cell.beside)})" if cell.beside else ""
        yield f"{_write_words(cell.words)}{beside}"


def _write_words(told: Words) -> str:
    return "".join(map(_write_span, list_spans(told)))


def _write_span(span: TextSpan) -> str:
    text = escape_markdown(span.text)
    if span.link.startswith("http"):
        return f"[{text}](<{span.link}>)"
    if span.code and text:
        return f"<code>{text}</code>"
    return f"**{text}**" if span.tone in ("bad", "strong") and text.strip() else text


def _write_html(told: Words) -> str:
    parts = []
    for span in list_spans(told):
        text = escape(escape_line(span.text), quote=False).replace("@", "@\u200b")
        parts.append(f"<code>{text}</code>" if span.code else text)
    return "".join(parts)


def escape_markdown(text: str) -> str:
    """Text of ours or of users, so that it makes neither cells, nor tags, nor mentions."""
    plain = escape_line(text).replace("&", "&amp;").replace("<", "&lt;")
    for sign in ("\\", "|", "*", "_", "`", "["):
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("@", "@\u200b")


def _write_forest(rows: Sequence[NamedRow]) -> Iterator[str]:
    reach = _find_reach([it.row for it in rows])
    axis = f"−{reach:g} % … 0 … +{reach:g} %"
    yield f"| candidate | metric | base → candidate | slowdown | {axis} | verdict |"
    yield "|---|---|---|---|---|---|"
    for it in rows:
        row = it.row
        standing = "accepted" if it.word else words.choose_standing(row)
        cells = (
            escape_markdown(_cut(row.candidate)),
            escape_markdown(_cut(words.format_full_metric(row.metric))),
            escape_markdown(" → ".join(words.format_values(row))),
            words.format_size(row),
            f"`{draw_interval(row, reach)}`",
            f"{SIGNS[standing]} {escape_markdown(it.word) or words.format_verdict(row)}",
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _cut(name: str) -> str:
    """A name without its middle where it is too long for a cell: both ends tell it from others."""
    half = NAME_LETTERS // 2
    return name if len(name) <= NAME_LETTERS else f"{name[:half]}…{name[-half:]}"


def _find_reach(rows: Sequence[Comparison]) -> float:
    """The end of the axis in percent: intervals and margins are on it, or are cut at the last."""
    ends = [abs(e) for r in rows for e in (r.low_percent, r.high_percent, r.margin_percent)]
    largest = max(filter(math.isfinite, ends), default=1.0)
    steps = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    return next((step for step in steps if step >= largest), 100.0)


def draw_interval(row: Comparison, reach: float) -> str:
    """`····│·┊─●──········`: the interval `─`, its middle `●`, zero `│`, the margin `┊`."""

    def find_place(percent: float) -> int:
        return round((max(-reach, min(percent, reach)) + reach) / (2 * reach) * (WIDTH - 1))

    drawn = ["·"] * WIDTH
    drawn[find_place(0.0)] = "│"
    drawn[find_place(row.margin_percent)] = "┊"
    if math.isfinite(row.slowdown_percent):
        first, last = map(find_place, (row.low_percent, row.high_percent))
        drawn[first : last + 1] = "─" * (last - first + 1)
        drawn[find_place(row.slowdown_percent)] = "●"
    return "".join(drawn)
