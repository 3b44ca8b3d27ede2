"""A document as data: what a section of a report says, whoever draws it (`render/`).

A section knows records and no renderer, a renderer knows blocks and no section.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: How a reader is to take it; a renderer has a colour for each, and none where colour is lost.
Tone = Literal["", "bad", "doubt", "good", "quiet"]


@dataclass(frozen=True)
class TextSpan:
    """Some words; `code` are a statement, an error or a command, as it was or is to be typed."""

    text: str
    tone: Tone = ""
    code: bool = False


@dataclass(frozen=True)
class Heading:
    """The title of a section, and the name that links to it."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    spans: tuple[TextSpan, ...]

    @classmethod
    def from_text(cls, text: str, tone: Tone = "") -> Prose:
        """A paragraph of one kind of words."""
        return cls((TextSpan(text, tone),))


@dataclass(frozen=True)
class Listing:
    """Lines of text as they are, such as a statement to be pasted, or a plan."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class TableColumn:
    """What stands in a table's column; numbers are drawn to the right and never broken."""

    title: str
    kind: Literal["text", "number"] = "text"


@dataclass(frozen=True)
class RowTable:
    """Rows of as many cells as there are columns."""

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[TextSpan, ...], ...]


@dataclass(frozen=True)
class Details:
    """What a reader may skip: its summary, and what it holds."""

    summary: tuple[TextSpan, ...]
    blocks: tuple[Block, ...]


Block = Heading | Prose | Listing | RowTable | Details
Document = Sequence[Block]
