"""What the text of a routine may call, where no parse tree tells: names, and how many arguments.

A body in SQL or PL/pgSQL is a text until it is executed. A name in it stands for every function of
that name and so many arguments, in any schema. A text that the routine puts together itself cannot
be followed, nor can a command that is none of a statement's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dyno.engines.postgres.harmless import split_words
from dyno.sql.lexing import Token, UnreadableError, read_tokens
from dyno.sql.tokens import Quoting

NAME_BYTES_MOST = 63
_STATEMENTS = split_words("select with values table insert update delete merge")
_CHANGES = frozenset({"insert", "update", "delete", "merge"})
#: What else may begin in PL/pgSQL; a name does before what is assigned to it.
_CONTROL = split_words(
    "declare begin end if elsif elseif else loop while for foreach return raise perform null case"
    " when exception exit continue get open fetch close move assert call"
)
#: After these words of PL/pgSQL a statement begins, or an expression goes on.
_BRANCHES = frozenset({"then", "else"})
#: Commands of the server that no routine is followed into.
_COMMANDS = split_words(
    "abort alter analyze checkpoint cluster comment commit copy create deallocate discard do drop"
    " execute explain grant import listen load lock notify prepare reassign refresh reindex release"
    " repack reset revoke rollback savepoint security set show start truncate unlisten vacuum"
    " wait"
)
#: `#variable_conflict use_column`: what a body says to PL/pgSQL's compiler.
_DIRECTIVES = re.compile(r"\A(?:\s*+#[^\n]*+)++")
_OPERATOR_SIGNS = frozenset("+-*/<>=~!@#%^&|?")
#: Operators that words and constructs stand for.
IMPLIED = frozenset({"=", "<>", "<", ">", "<=", ">=", "~~", "!~~", "~~*", "!~~*", "~", "!~"})


class UnfollowedError(Exception):
    """Why a body is not followed; the message is a clause."""


@dataclass
class BodyNames:
    """`calls`: functions by name, each with how many arguments it gets; `names`: all that may be
    a table or a type; `symbols`: operators; `changes`: does a statement in it write?
    """

    calls: set[tuple[str, int]] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    symbols: set[str] = field(default_factory=lambda: set(IMPLIED))
    changes: bool = False


def read_body(text: str, language: str, quoting: Quoting) -> BodyNames:
    """The names in it; `UnfollowedError` where it may do what they do not tell."""
    try:
        tokens = read_tokens(_DIRECTIVES.sub("", text), quoting)
    except UnreadableError as why:
        raise UnfollowedError(f"its text cannot be read with certainty: {why}") from None
    _refuse_commands(tokens, language)
    found = BodyNames(changes=any(it.word in _CHANGES for it in tokens))
    for at, it in enumerate(tokens):
        if it.kind not in ("word", "name"):
            continue
        spelled = {_cut(name) for name in (it.text, it.word or it.text, it.text.lower())}
        found.names |= spelled
        following = tokens[at + 1].mark if at + 1 < len(tokens) else ""
        if following == "(":
            count = _count_arguments(tokens, at + 2)
            found.calls |= {(name, count) for name in spelled}
        elif at and tokens[at - 1].mark == ".":  # f(x) may be written as (x).f
            found.calls |= {(name, 1) for name in spelled}
    found.symbols |= set(_list_symbols(tokens))
    return found


def _cut(name: str) -> str:
    return name.encode()[:NAME_BYTES_MOST].decode(errors="ignore")


def _count_arguments(tokens: Sequence[Token], at: int) -> int:
    """The commas of this level, and one; 0 for `()` and `(*)`."""
    depth, commas, start = 0, 0, at
    while at < len(tokens):
        mark = tokens[at].mark
        if mark in ("(", "["):
            depth += 1
        elif mark in (")", "]"):
            if not depth:
                break
            depth -= 1
        elif mark == "," and not depth:
            commas += 1
        at += 1
    inner = tokens[start:at]
    is_empty = not inner or (len(inner) == 1 and inner[0].mark == "*")
    return 0 if is_empty else commas + 1


def _list_symbols(tokens: Sequence[Token]) -> Iterator[str]:
    """Every operator that a row of signs may be: whether a space parts them is not told."""
    row = ""
    for it in [*tokens, Token("mark", ";")]:
        if it.mark in _OPERATOR_SIGNS and it.mark:
            row += it.mark
            continue
        for start in range(len(row)):
            for end in range(start + 1, len(row) + 1):
                yield row[start:end]
        row = ""


def _refuse_commands(tokens: Sequence[Token], language: str) -> None:
    """`UnfollowedError` for a statement that is no query, or a text that is executed."""
    is_procedural = language != "sql"
    if is_procedural and any(it.word == "execute" for it in tokens):
        raise UnfollowedError("it executes a text that it puts together (EXECUTE)")
    declares = False
    padded = [Token("mark", ";"), *tokens, Token("mark", ";")]
    for before, it, after in zip(padded, padded[1:], padded[2:], strict=False):
        branches = is_procedural and (before.word in _BRANCHES or before.mark == ">")
        begins = before.mark == ";" or (is_procedural and before.word in ("begin", "loop"))
        if not (begins or branches) or it.mark:
            continue
        if it.word in ("declare", "begin"):
            declares = it.word == "declare"
        if branches:  # of a CASE an expression, and behind a label or > as well
            is_known = it.word not in _COMMANDS
        elif is_procedural:
            is_assigned = after.mark in (":", "=", ".", "[")
            is_known = declares or it.word in _STATEMENTS | _CONTROL or is_assigned
        else:
            is_known = it.word in _STATEMENTS
        if not is_known:
            raise UnfollowedError(f"it has the command {(it.word or it.text).upper()}")
