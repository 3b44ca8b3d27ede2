"""What statement is explained: one, that reads, or that writes and is undone; others by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from dyno.errors import UsageError
from dyno.sql.lexing import Token, UnreadableError, read_tokens
from dyno.sql.tokens import Quoting

READS = frozenset({"select", "with", "values", "table"})
WRITES = frozenset({"insert", "update", "delete", "replace", "merge"})
#: The hint of every statement that is none of these.
TAKEN = "dyno explain takes SELECT, WITH, VALUES and TABLE, and with --rollback INSERT, UPDATE, "
TAKEN += "DELETE, REPLACE and MERGE"

#: Words before a statement that ask for its plan.
EXPLAINS = frozenset({"EXPLAIN", "DESCRIBE", "DESC", "ANALYZE"})
PLACEHOLDER = re.compile(
    r"(?<!\?)\?(?![?|&])|(?<![:\w]):[A-Za-z_]\w*|%s\b|%\(\w+\)s|(?<![@\w])@[pP]\d+\b|#?\{\w*\}|\$\w"
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
#: `\d orders` of psql's, `.schema` of sqlite3's, and what mysql and psql have in the end: `\G`.
COMMAND = re.compile(r"(^\s*[\\.][a-zA-Z!?]\w*\+?|\\\w+(?=\s*+;?\s*+$))")

StatementKind = Literal["reads", "writes"]


def read_statement(sql: str, quoting: Quoting) -> list[Token]:
    """The tokens of the one statement; `UsageError` where it is none, or several."""
    if found := COMMAND.search(_QUOTED.sub("''", sql)):
        hint = "write the SQL alone, without what psql or mysql would do with it"
        raise UsageError(f"{found[1].strip()} is a command of a client's, not SQL", hint=hint)
    try:
        tokens = read_tokens(sql, quoting)
    except UnreadableError as why:
        refuse_placeholders(sql, why)
        hint = "leave comments out, and write plain quotes"
        raise UsageError("cannot read the statement with certainty", cause=why, hint=hint) from None
    while tokens and tokens[-1].mark == ";":
        tokens.pop()
    if not tokens:
        raise UsageError("the statement is empty", hint='dyno explain DSN "SELECT …"')
    if any(it.mark == ";" for it in tokens):
        raise UsageError("the text has several statements", hint="explain one at a time")
    return tokens


def recognise_kind(tokens: Sequence[Token]) -> StatementKind:
    """Whether it reads or writes, by its first word; behind WITH by the words outside brackets.

    `UsageError` for any other statement, by name.
    """
    first = next((it for it in tokens if it.mark != "("), tokens[0])
    if first.word in READS | WRITES and any(it.kind == "parameter" for it in tokens):
        raise build_parameter_error()
    refuse_variables(tokens)
    if first.word in WRITES:
        return "writes"
    if first.word not in READS:
        word = (first.word or first.text).upper()
        inside = any(it.word in READS | WRITES for it in tokens[1:])
        hint = f"leave {word} out: dyno explain explains" if word in EXPLAINS and inside else TAKEN
        raise UsageError(f"{word} cannot be explained", hint=hint)
    depth = 0
    for it in tokens if first.word == "with" else ():
        depth += {"(": 1, ")": -1}.get(it.mark, 0)
        if not depth and it.word in WRITES:
            return "writes"
    return "reads"


def build_parameter_error(cause: object = "") -> UsageError:
    hint = "write a value for each: where time goes depends on it"
    return UsageError("the statement has parameters", cause=cause, hint=hint)


def refuse_placeholders(sql: str, cause: object) -> None:
    """Raise `UsageError` if a statement that was refused for `cause` has a placeholder of programs:
    `?`, `:id`, `%s`, `%(id)s`, `@p1`, `{id}`, `$1`.
    """
    if PLACEHOLDER.search(_QUOTED.sub("''", sql)):
        raise build_parameter_error(cause)


def refuse_variables(tokens: Sequence[Token]) -> None:
    """Raise `UsageError` for a session's variable that the statement does not set: it has no value
    here, so another statement would be explained.
    """
    texts = [it.text for it in tokens]
    for at, it in enumerate(tokens):
        is_own = it.kind == "variable" and not it.text.startswith("@@")
        if is_own and not any(
            text == it.text and texts[here + 1 : here + 2] in ([":="], [":"])
            for here, text in enumerate(texts)
        ):
            hint = f"write a value for {texts[at]}"
            raise UsageError(f"{texts[at]} has no value in a new session", hint=hint)


def check_kind(tokens: Sequence[Token], writes: bool) -> None:
    """Raise `UsageError` for a statement that writes where nothing is rolled back."""
    if recognise_kind(tokens) == "writes" and not writes:
        raise build_writing_error()


def build_writing_error(cause: object = "") -> UsageError:
    hint = "with --rollback it is executed in transactions that are rolled back"
    return UsageError("the statement writes", cause=cause, hint=hint)
