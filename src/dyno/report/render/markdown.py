"""A document in Markdown, for a pull request or an issue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from dyno.printable import escape_line, escape_text
from dyno.report.document import (
    Block,
    Details,
    Document,
    Heading,
    Listing,
    Prose,
    RowTable,
    TextSpan,
)


def render_markdown(document: Document) -> str:
    """The document's text; what others wrote makes neither tags, nor cells, nor mentions."""
    return "\n".join(line for block in document for line in _write_block(block))


def _write_block(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            yield from (f"#### {escape_markdown(block.text)}", "")
        case Prose():
            yield from ("".join(map(_write_span, block.spans)), "")
        case Listing():
            longest = max(map(len, re.findall("`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            title = [escape_markdown(block.title), ""] if block.title else []
            yield from (*title, fence, escape_text(block.text), fence, "")
        case RowTable():
            yield f"| {' | '.join(escape_markdown(it.title) for it in block.columns)} |"
            yield f"|{'|'.join('--:' if it.kind == 'number' else '---' for it in block.columns)}|"
            yield from (f"| {' | '.join(map(_write_span, row))} |" for row in block.rows)
            yield ""
        case Details():
            yield f"<details><summary>{''.join(map(_write_html, block.summary))}</summary>"
            yield ""
            yield from (line for own in block.blocks for line in _write_block(own))
            yield from ("</details>", "")


def _write_span(span: TextSpan) -> str:
    text = escape_markdown(span.text)
    if span.code and text:
        return f"<code>{text}</code>"
    return f"**{text}**" if span.tone == "bad" and text.strip() else text


def _write_html(span: TextSpan) -> str:
    """Words of a line in which Markdown is not read."""
    text = escape(escape_line(span.text), quote=False).replace("@", "@\u200b")
    return f"<code>{text}</code>" if span.code else text


def escape_markdown(text: str) -> str:
    """Text of ours or of users, so that it makes neither cells, nor tags, nor mentions."""
    plain = escape_line(text).replace("&", "&amp;").replace("<", "&lt;")
    for sign in ("\\", "|", "*", "_", "`", "["):
        plain = plain.replace(sign, f"\\{sign}")
    return plain.replace("@", "@\u200b")
