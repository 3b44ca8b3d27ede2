"""Are two answers to one statement the same?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dyno.answers.answer import Answer

Word = Literal["same", "differs", "undecidable", "not compared"]


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


def compare_answers(
    base: Answer, other: Answer, sql: str, *, kind: str, same_engine: bool = True
) -> Sameness:
    """Compare two answers to `sql`; `kind` is that of the driver's session."""
    if base.cut or other.cut:
        return Sameness("not compared", base.cut or other.cut)
    return Sameness("same") if base == other else Sameness("undecidable", "they are not equal")
