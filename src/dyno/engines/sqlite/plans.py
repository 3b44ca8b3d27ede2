"""Steps of `EXPLAIN QUERY PLAN` in words of all versions, so that only another plan differs.

What versions word otherwise was read from 3.24 to 3.54. Within its recursive step a query is
scanned by its name in all of them; outside it is a subquery, which had a number or an address
before 3.37.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Pairs of a step's words and what stands for them; earlier pairs first.
_WORDS = (
    # before 3.36 a table was called one
    (re.compile(r"^(SCAN|SEARCH) TABLE\b"), r"\1"),
    # before 3.39 a subquery was told by a number or its address, and a table beside its alias
    (re.compile(r"^(SCAN|SEARCH) (?:SUBQUERY )?\S+ AS (\S+)"), r"\1 \2"),
    (re.compile(r"^(SCAN|SEARCH) SUBQUERY \S+"), r"\1 SUBQUERY"),
    (re.compile(r"^(MATERIALIZE|CO-ROUTINE) .*"), r"\1"),
    # 3.24 numbered no subquery
    (re.compile(r"\b(LIST|SCALAR) SUBQUERY \d+$"), r"\1 SUBQUERY"),
    # since 3.39 the right table of a left join says so
    (re.compile(r" LEFT-JOIN$"), ""),
    # since 3.46 rows of VALUES, and the terms left to sort, are worded otherwise
    (re.compile(r"\b(\d+) CONSTANT ROWS$"), r"\1-ROW VALUES CLAUSE"),
    (re.compile(r"\bFOR LAST (?:\d+ )?TERMS? OF\b"), "FOR RIGHT PART OF"),
)
_SUBQUERY = re.compile(r"^(?:MATERIALIZE|CO-ROUTINE) (.+)$")
#: A heading since 3.31, above each index of a `MULTI-INDEX OR`.
_HEADING = re.compile(r"INDEX \d+")


#: Above the steps of a recursive query that are done again and again.
_RECURSIVE = "RECURSIVE STEP"
_READS = re.compile(r"^(SCAN|SEARCH|BLOOM FILTER ON) (\S+)")


@dataclass(frozen=True)
class PlanStep:
    """A row of `EXPLAIN QUERY PLAN`: its number, that of the step it belongs to, and its words."""

    number: str
    parent: str
    words: str


def convert_steps(steps: Sequence[PlanStep]) -> list[str]:
    """The steps of a plan, in the words of all versions."""
    named = {match[1] for step in steps if (match := _SUBQUERY.match(step.words))}
    repeated: set[str] = set()
    converted = []
    for step in steps:
        if step.words == _RECURSIVE or step.parent in repeated:
            repeated.add(step.number)
        elif (match := _READS.match(step.words)) and match[2] in named:
            rest = step.words[match.end() :]
            converted.append(f"{match[1]} SUBQUERY{rest}")
            continue
        if not _HEADING.fullmatch(step.words):
            converted.append(_convert_words(step.words))
    return converted


def _convert_words(step: str) -> str:
    for pattern, words in _WORDS:
        step = pattern.sub(words, step)
    return step
