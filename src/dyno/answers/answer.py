"""All that a statement is answered with, as data, and what a comparison of two answers says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Word = Literal["same", "differs", "undecidable", "not compared"]


@dataclass(frozen=True)
class Column:
    """A column of an answer; `type` is the engine's own name of it, "" if unknown."""

    name: str
    type: str = ""


@dataclass(frozen=True)
class Notice:
    """A warning or a notice beside an answer: its level, its code and its text."""

    level: str
    code: str
    text: str


@dataclass(frozen=True)
class Refusal:
    """The error that a statement ended with; its class is `code`: SQLSTATE, or the engine's own."""

    code: str
    text: str


@dataclass(frozen=True)
class Answer:
    """All that a statement is answered with. A cell is as the engine spells it; None is NULL.

    `cut` says why the rows are not all here: rows that are not whole are not compared. What the
    engine does not report (rows changed, an insert id) is None.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    rows_changed: int | None = None
    insert_id: int | None = None
    notices: tuple[Notice, ...] = ()
    refusal: Refusal | None = None
    cut: str = ""


@dataclass(frozen=True)
class Sameness:
    """The word and why; `kind` is what differs (error, columns, rows, …); the first rows that
    differ: `ours` are of the base, `theirs` of the other.
    """

    word: Word
    why: str = ""
    kind: str = ""
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
