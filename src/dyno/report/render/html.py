"""A document as HTML, everything escaped, for the frame of `html/page.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from markupsafe import Markup

from dyno.report import document as doc
from dyno.report.document import Block, Document, TableCell, TextSpan, Words, join_text, list_spans
from dyno.report.html.markup import escape_words
from dyno.report.render.flame import draw_frames
from dyno.report.render.forest import build_forest
from dyno.report.render.svg import draw_figure

#: A cell of more letters is broken, and a narrow page puts the cells of its row below each other.
_LONG = 40
#: Colours of the parts of bars, of those that candidates have.
_COLOURS = (2, 4, 1, 0, 3)
#: A smaller part of a bar is not seen.
_SHARE_SHOWN = 1e-3
_TABLE = Markup(
    '{}<div class="scroll" tabindex="0"><table{}{}><thead><tr>{}</tr></thead>\n'
    "<tbody>\n{}\n</tbody></table></div>"
)


def render_html(document: Document) -> Markup:
    return Markup("\n").join(filter(None, map(_render_block, document)))


def _render_block(block: Block) -> Markup:
    match block:
        case doc.Heading():
            return _wrap("h3", escape_words(block.text), id=block.anchor)
        case doc.Prose():
            tone = "aside" if block.tone == "quiet" else block.tone
            kind = f"box {tone}".strip() if block.boxed else tone
            text = _render_words(block.words)
            return _wrap("p", text, **{"class": kind}) if text else text
        case doc.Items():
            items = _join(_wrap("li", _render_words(it)) for it in block.items)
            title = _wrap("h3", escape_words(block.title)) if block.title else ""
            return Markup("{}<ul>{}</ul>").format(title, items) if block.items else Markup("")
        case doc.Terms():
            return _wrap("dl", _join(_render_term(*it) for it in block.rows), **{"class": "terms"})
        case doc.Tiles():
            tiles = _join(_render_tile(*it) for it in block.tiles)
            return _wrap("ul", tiles, **{"class": "tiles"})
        case doc.Listing():
            title = _wrap("p", _wrap("small", escape_words(block.title))) if block.title else ""
            return Markup("{}<pre>{}</pre>").format(title, escape_words(block.text))
        case doc.RowTable():
            return _render_table(block) if block.rows else Markup("")
        case doc.Forest():
            return build_forest(block.sides, block.rows, block.level) if block.rows else Markup("")
        case doc.Figure():
            return draw_figure(block.charts, block.caption) if block.charts else Markup("")
        case doc.Flame():
            return draw_frames(block)
        case doc.Bars():
            return _render_bars(block)
        case doc.Details():
            summary = _wrap("summary", _render_words(block.summary))
            inner = Markup("{}\n{}\n").format(summary, render_html(block.blocks))
            opened = "open" if block.is_open else ""
            printed = {"class": "proof" if block.is_printed else ""}
            return _wrap("details", inner, id=block.anchor, open=opened, **printed)


def _wrap(tag: str, inner: Markup, **attributes: str) -> Markup:
    """An element; attributes that are empty are left out."""
    told = _join(
        Markup(' {}="{}"').format(name, escape_words(value))
        for name, value in attributes.items()
        if value
    )
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), told, inner)


def _join(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def _render_words(words: Words) -> Markup:
    return _join(map(_render_span, list_spans(words)))


def _render_span(span: TextSpan) -> Markup:
    text = escape_words(span.text)
    attributes = {"class": span.tone, "title": span.why}
    if span.code:
        text = _wrap("code", text, **attributes)
    elif span.tone or span.why:
        text = _wrap("b" if span.tone else "span", text, **attributes)
    return _wrap("a", text, href=span.link) if span.link else text


def _render_term(name: str, blocks: Document) -> Markup:
    if not blocks:
        return Markup("")
    told = Markup("<dt>{}</dt><dd>{}</dd>").format(escape_words(name), render_html(blocks))
    return _wrap("div", told)


def _render_tile(figure: TextSpan, told: str) -> Markup:
    text = Markup("{} {}").format(
        _wrap("b", escape_words(figure.text), **{"class": figure.tone}), escape_words(told)
    )
    return _wrap("li", _wrap("a", text, href=figure.link))


def _render_table(table: doc.RowTable) -> Markup:
    cells = [it for row in table.rows if not isinstance(row, doc.Group) for it in row]
    is_long = len(table.columns) > 3 and any(_measure(it) > _LONG for it in cells)
    kinds = ["stacked"] * is_long + ["searched"] * table.searched
    attribute = Markup(' class="{}"').format(" ".join(kinds)) if kinds else ""
    anchor = Markup(' id="{}"').format(table.anchor) if table.anchor else ""
    title = _wrap("h3", escape_words(table.title)) if table.title else ""
    heads = _join(
        _wrap("th", escape_words(it.title), scope="col", **{"class": _name_kind(it)})
        for it in table.columns
    )
    rows = Markup("\n").join(_render_row(table, row) for row in table.rows)
    return _TABLE.format(title, attribute, anchor, heads, rows)


def _measure(cell: Words | TableCell) -> int:
    return len(join_text(cell.words if isinstance(cell, TableCell) else cell))


def _name_kind(column: doc.TableColumn) -> str:
    return "n" if column.kind == "number" else ""


def _render_row(table: doc.RowTable, row: doc.TableRow) -> Markup:
    if isinstance(row, doc.Group):
        form = '<tr class="group"><th scope="rowgroup" colspan="{}">{}</th></tr>'
        return Markup(form).format(len(table.columns), escape_words(row.text))
    first = row[0] if row else ""
    anchor = first.anchor if isinstance(first, TableCell) else ""
    return _wrap("tr", _join(_list_cells(table, row)), id=anchor)


def _list_cells(table: doc.RowTable, row: Iterable[Words | TableCell]) -> Iterator[Markup]:
    for at, (column, it) in enumerate(zip(table.columns, row, strict=True)):
        cell = it if isinstance(it, TableCell) else TableCell(it)
        text = _render_words(cell.words)
        if cell.beside:
            text += Markup(" ") + _wrap("small", _render_words(cell.beside))
        is_long = column.kind == "text" and _measure(cell) > _LONG
        kinds = {"n": column.kind == "number", "wrap": is_long, f"ground {cell.tone}": cell.tone}
        kind = " ".join(name for name, holds in kinds.items() if holds)
        if at == 0 and column.kind == "text":
            yield _wrap("th", text, scope="row", **{"class": kind})
        else:
            yield _wrap("td", text, **{"class": kind, "data-label": column.title})


def _render_bars(bars: doc.Bars) -> Markup:
    """Each bar has parts, whose widths are shares of the whole; beside its name are its figures."""
    colours = dict(zip(bars.names, _COLOURS, strict=False))
    seen, drawn = set(), []
    for name, parts in bars.rows:
        whole = sum(size for _, size, _ in parts) or 1.0
        shown = [it for it in parts if it[1] >= _SHARE_SHOWN * whole]
        seen |= {part for part, _, _ in shown}
        figures = escape_words(", ".join(f"{part}: {told}" for part, _, told in shown))
        widths = _join(
            Markup('<i class="c{}" style="width:{:.2f}%" title="{}: {}"></i>').format(
                colours[part], 100.0 * size / whole, escape_words(part), escape_words(told)
            )
            for part, size, told in shown
        )
        drawn.append(
            Markup(
                '<div class="shares"><p>{} <small>{}</small></p><div role="img" '
                'aria-label="{}">{}</div></div>'
            ).format(escape_words(name), figures, figures, widths)
        )
    legend = _join(
        Markup('<span><i class="swatch c{}"></i>{}</span>').format(colour, escape_words(name))
        for name, colour in colours.items()
        if name in seen
    )
    return Markup("{}\n{}").format(_wrap("p", legend, **{"class": "legend"}), _join(drawn))
