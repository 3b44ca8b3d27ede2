"""The parameters of a statement with values beside it: `$1` where a server reads a parameter, which
is not within a literal, a quoted name or a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: What may begin something in which no parameter stands; a word is read whole (`a$1`, `E'…'`).
_BEGINS = re.compile(
    r"(?P<escaped>(?<![\w$])[eE]')|(?P<word>[^\W\d][\w$]*+)|(?P<parameter>\$\d++)|(?P<mark>\?)"
    r"|(?P<dollar>\$(?:[^\W\d]\w*+)?\$)|(?P<quote>['\"])|(?P<line>--)|(?P<block>/\*)"
)
_ESCAPED_END = re.compile(r"(?:[^'\\]++|''|\\.)*+'", re.DOTALL)
_EITHER = re.compile(r"/\*|\*/")


class Parameter(NamedTuple):
    """Where a `$1` stands, and its number from 0; -1 for a `?`, which is an operator or a mark."""

    begin: int
    end: int
    number: int


def find_parameters(sql: str) -> Iterator[Parameter]:
    """The parameters of a text, in its order."""
    at = 0
    while found := _BEGINS.search(sql, at):
        at = found.end()
        kind = str(found.lastgroup)
        if kind == "parameter":
            yield Parameter(found.start(), at, int(found[0][1:]) - 1)
        elif kind == "mark":
            yield Parameter(found.start(), at, -1)
        elif kind != "word":
            at = _find_end(sql, kind, found[0], at)


def _find_end(sql: str, kind: str, opener: str, at: int) -> int:
    """Where ends what was opened before `at`; the text's end where it does not."""
    if kind == "escaped":
        ended = _ESCAPED_END.match(sql, at)
        return ended.end() if ended else len(sql)
    if kind != "block":
        closer = "\n" if kind == "line" else opener
        end = sql.find(closer, at)
        return end + len(closer) if end >= 0 else len(sql)
    depth = 1
    for either in _EITHER.finditer(sql, at):
        depth += 1 if either[0] == "/*" else -1
        if not depth:
            return either.end()
    return len(sql)


def count_parameters(sql: str) -> int:
    """How many values a text needs."""
    if "$" not in sql:
        return 0
    return max((it.number + 1 for it in find_parameters(sql)), default=0)


def insert_values(sql: str, values: Sequence[str | None]) -> str:
    """The text with its values in it."""
    found = [it for it in find_parameters(sql) if 0 <= it.number < len(values)]
    literals = list[str]()
    for it in found:
        value = values[it.number]
        literals.append("NULL" if value is None else "'" + value.replace("'", "''") + "'")
    return _replace(sql, found, literals)


def _replace(sql: str, found: Sequence[Parameter], texts: Sequence[str]) -> str:
    parts, at = list[str](), 0
    for it, text in zip(found, texts, strict=True):
        parts += (sql[at : it.begin], text)
        at = it.end
    return "".join([*parts, sql[at:]])
