"""What triggers and stored functions of the copy send: general logs of MySQL and MariaDB write it
as the session's own, behind the statement that fired them, so that a replay would do it twice.

Of a procedure they have the CALL alone. Local variables are logged as `NAME_CONST('name',value)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dyno.sql.lexing import Token, UnreadableError, read_tokens
from dyno.workloads.replay.logs import LogEntry
from dyno.workloads.replay.statements import Dialect, Statement, read_statement, strip_schema

#: Marks of comments that a server executes: dumps write triggers in them.
_EXECUTED = re.compile(r"/\*!\d*|\*/")
_KINDS = ("trigger", "function")
#: First words of statements that are logged, and words behind which one begins in a body.
_LOGGED = frozenset(("select", "insert", "update", "delete", "replace", "call", "do", "with"))
_BEFORE = frozenset(("begin", "then", "else", "do", "loop", "repeat", "row"))
#: Letters that are remembered of what a session's last statement has sent, to know what it calls.
CALLS = 1 << 12


@dataclass
class _Sending:
    """What a session has sent last, and what that caused: tables written to, and the texts of
    both.
    """

    tables: set[str] = field(default_factory=set)
    sent: str = ""
    inner: str = ""


class RoutineStatements:
    def __init__(self, texts: Iterable[str], dialect: Dialect) -> None:
        self._quoting = dialect.quoting
        #: By the tables that they name: their tokens, and the kinds and names of what holds them.
        self._known = dict[frozenset[str], dict[tuple[str, ...], set[tuple[str, str]]]]()
        self._sessions = dict[str, _Sending]()
        for text in texts:
            if any(it in text[:2000].lower() for it in _KINDS):
                self._learn(text, dialect)

    def _learn(self, text: str, dialect: Dialect) -> None:
        try:
            tokens = read_tokens(_EXECUTED.sub(" ", text), self._quoting)
        except UnreadableError:
            return
        source = _find_source(tokens)
        for body in _split_body(tokens) if source else ():
            statement = read_statement(" ".join(it.text for it in _quote_names(body)), dialect)
            known = self._known.setdefault(_strip(statement), {})
            known.setdefault(tuple(_spell(body)), set()).add(source)

    def has_sent(self, entry: LogEntry, statement: Statement) -> bool:
        """Return whether this is of a trigger or a function which the session's last statement has
        fired.
        """
        if not self._known:
            return False
        sending = self._sessions.setdefault(entry.session, _Sending())
        tables, calls = _strip(statement), f"{statement.digest[:CALLS].lower()};"
        if self._is_inner(entry, tables, sending):
            sending.tables |= tables
            sending.inner = (sending.inner + calls)[-CALLS:]
            return True
        sending.tables = set(tables) if statement.kind == "write" else set()
        sending.sent, sending.inner = calls, ""
        return False

    def _is_inner(self, entry: LogEntry, tables: frozenset[str], sending: _Sending) -> bool:
        known = self._known.get(tables)
        if known is None:
            return False
        try:
            spelled = tuple(_spell(read_tokens(entry.sql, self._quoting)))
        except UnreadableError:
            return False
        # a client's statement names no row of a trigger, and no local variable
        is_inner = "new." in "".join(spelled) or "old." in "".join(spelled)
        is_inner |= "name_const" in entry.sql.lower()
        sources = known.get(spelled, set())
        return bool(sources) and (is_inner or any(_is_fired(it, sending) for it in sources))


def _strip(statement: Statement) -> frozenset[str]:
    return frozenset(map(strip_schema, statement.tables))


def _is_fired(source: tuple[str, str], sending: _Sending) -> bool:
    kind, name = source
    if kind == "trigger":
        return name in sending.tables
    return f"{name}(" in f"{sending.sent}{sending.inner}".replace("`", "")


def _find_source(tokens: Sequence[Token]) -> tuple[str, str]:
    """A trigger and its table, or a routine and its name; ("", "") of any other statement."""
    words = [it.word for it in tokens]
    at = next((at for at, word in enumerate(words[:40]) if word in _KINDS), 0)
    if words[:1] != ["create"] or not at:
        return "", ""
    begin = "on" if words[at] == "trigger" else words[at]
    named = words.index(begin, at) + 1 if begin in words[at:] else 0
    while named + 1 < len(tokens):
        if words[named] in ("if", "not", "exists"):
            named += 1
        elif tokens[named + 1].mark == ".":
            named += 2
        else:
            break
    name = tokens[named].text.lower() if named and named < len(tokens) else ""
    return (words[at], name) if name else ("", "")


def _split_body(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The statements of a body that are logged."""
    begin = None
    for at, token in enumerate(tokens):
        before = tokens[at - 1]
        begins = before.mark in (";", ":") or before.word in _BEFORE
        # FOR EACH ROW FOLLOWS other INSERT …
        begins |= at > 1 and tokens[at - 2].word in ("follows", "precedes")
        if begin is None and begins and token.word in _LOGGED:
            begin = at
        if begin is not None and token.mark == ";":
            yield tokens[begin:at]
            begin = None
    if begin is not None:
        ends = tokens[-1].word == "end" and any(it.word == "begin" for it in tokens[:begin])
        yield tokens[begin : len(tokens) - ends]


def _quote_names(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        quoted = "`" + token.text.replace("`", "``") + "`"
        yield Token("name", quoted) if token.kind == "name" else token


def _spell(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield tokens that are alike if servers take them for the same, local variables by name."""
    at, end = 0, len(tokens) - (bool(tokens) and tokens[-1].mark == ";")
    while at < end:
        token = tokens[at]
        if token.word == "name_const" and at + 2 < end and tokens[at + 2].kind == "string":
            yield tokens[at + 2].text[1:-1].lower()
            depth = 0
            while at < end:
                depth += (tokens[at].mark == "(") - (tokens[at].mark == ")")
                at += 1
                if not depth and tokens[at - 1].mark == ")":
                    break
            continue
        yield token.text if token.kind in ("string", "hint") else token.text.lower()
        at += 1
