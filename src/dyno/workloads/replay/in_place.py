"""What of a log is played in a server that runs already and is only read: by lists of what is known
to change nothing.

A server's family says what these lists hold (`Harmless`), the server itself what it adds to them or
takes from them (`ServerRules`), asked once before the replay. A statement is played where every
reading that its session may have finds in it nothing but what is listed. Whatever sets the session
is taken apart and written anew (`SessionWords`), so that the server gets no unknown text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise, takewhile

from dyno.sql.lexing import Token, UnreadableError, read_tokens
from dyno.sql.tokens import Quoting

#: Letters of a statement that is judged; a longer one is left out.
LETTERS_MOST = 1 << 20
#: A session's statement that is written as an executable comment, as dumps have it.
_WRAPPED = re.compile(
    r"\s*+/\*!\d{5,6}\s++(SET\s(?:[^*/\\]*[^*/\\\s])?)\s*+\*/[\s;]*+", re.IGNORECASE
)
#: What stands for a byte that is no UTF-8.
_NO_LETTER = re.compile("[\ud800-\udfff]")
#: What may change how a session reads.
_READING_WORDS = ("sql_mode", "standard_conforming_strings")
#: What a log holds that has one of these words in it: also with a letter that folds to an s, or
#: with letters written as JSON's escapes.
READING_MARKS = (b"ql_mode", b"tandard_conforming_", b"\\u00")


@dataclass(frozen=True)
class Allowed:
    """A statement that is played as `text`. `asks`: it may have changed what keeps the session from
    writing, so the server is asked before anything else is sent. `reading`: how the session reads
    from now on, if the statement says that. `reads`: it is sent as it came, but for its end,
    whatever its literals hold.
    """

    text: str
    asks: bool = False
    reading: Quoting | None = None
    reads: bool = False


@dataclass(frozen=True)
class RefusedStatement:
    """A statement that is left out; `why` completes "left out: 3 …"."""

    why: str


Judgement = Allowed | RefusedStatement

#: Takes a session's statement apart (SET, BEGIN, …) and writes it anew; None: it is none.
SessionWords = Callable[[Sequence[Token]], Judgement | None]


@dataclass(frozen=True)
class Harmless:
    """What servers of a family may be asked without being changed.

    `verbs`: first words of statements that read. `functions`: those that may be called.
    `constructs`: words before a parenthesis that call nothing, or what the grammar itself knows.
    `changing`: bare words that make of a reading statement one that writes, locks or stores.
    `schemas`: those whose functions may be named with them. `hints`: what a hint may say.
    `fills_variables`: INTO may fill a session's variables. `name_bytes_most`: longer names are cut.
    """

    verbs: frozenset[str]
    functions: frozenset[str]
    constructs: frozenset[str]
    changing: frozenset[str]
    schemas: frozenset[str] = frozenset()
    hints: frozenset[str] = frozenset()
    fills_variables: bool = False
    name_bytes_most: int = 1 << 20


@dataclass(frozen=True, eq=False)
class ServerRules:
    """What one server said of itself.

    `readings`: how its sessions may read a text. `shadowed`: functions of its users by names that
    may be listed as harmless. `dotted`: functions that are not known to be harmless, where a server
    calls them without parentheses as well (`(1).name`). `tainted`: names of views and tables that a
    statement may not even mention, each with its reason. `account` warns of what the account may
    write; empty where nothing was found. `log_prefix`: what it writes before a line of its log.
    """

    harmless: Harmless
    session_words: SessionWords
    readings: frozenset[Quoting]
    shadowed: frozenset[str] = frozenset()
    dotted: frozenset[str] = frozenset()
    tainted: Mapping[str, str] = field(default_factory=dict)
    account: str = ""
    log_prefix: str = ""

    def judge(self, sql: str, values: Sequence[str | None] = ()) -> Judgement:
        """Return whether it is played, and as which text. A text with values is sent as it is: it
        has the server's own marks for them.
        """
        if len(sql) > LETTERS_MOST:
            return RefusedStatement("over a million letters")
        if not sql.isascii() and _NO_LETTER.search(sql):
            return RefusedStatement("not in UTF-8")
        if values and (self._has_wrapped or "?" in sql):
            return RefusedStatement("with values whose places are not certain")
        shape = empty_literals(sql)
        if shape and isinstance(found := _judge(self, shape), Allowed) and found.reads:
            return Allowed(sql.rstrip(_ENDS), reads=True)
        wrapped = _WRAPPED.fullmatch(sql) if self._has_wrapped else None
        return _judge(self, wrapped[1] if wrapped else sql)

    @property
    def _has_wrapped(self) -> bool:
        return any(not reading.dollars for reading in self.readings)

    def with_readings(self, statements: Iterable[str]) -> ServerRules:
        """Return the same server, read in every way that one of the statements may have a session
        read.
        """
        found = {
            judgement.reading
            for sql in statements
            if _has_reading(sql) and isinstance(judgement := self.judge(sql), Allowed)
            if judgement.reading is not None
        }
        return replace(self, readings=self.readings | found)


def _has_reading(sql: str) -> bool:
    folded = sql.casefold()
    return any(word in folded for word in _READING_WORDS)


def judge_for_all(
    rules: Sequence[ServerRules], sql: str, values: Sequence[str | None]
) -> Judgement:
    """Return whether a statement with its parameters' values is played in all these servers, and as
    which text.
    """
    if len(rules) == 1:
        return rules[0].judge(sql, values)
    found = {each.judge(sql, values) for each in rules}
    refused = [it for it in found if isinstance(it, RefusedStatement)]
    if refused:
        return min(refused, key=lambda it: it.why)
    (one, *others) = found
    return RefusedStatement("that would be played in two ways") if others else one


@lru_cache(maxsize=1 << 14)
def _judge(server: ServerRules, sql: str) -> Judgement:
    """Return the judgement on which all readings agree, of the words of a session, and of what
    reads.
    """
    found: set[Judgement] = set()
    for reading in server.readings:
        try:
            found.add(_judge_tokens(server, read_tokens(sql, reading), sql))
        except UnreadableError as error:
            found.add(RefusedStatement(f"not read with certainty ({error})"))
    refused = [it for it in found if isinstance(it, RefusedStatement)]
    if refused:
        return min(refused, key=lambda it: it.why)
    (one, *others) = found
    return RefusedStatement("that a session may read in two ways") if others else one


def _judge_tokens(server: ServerRules, tokens: list[Token], sql: str) -> Judgement:
    while tokens and tokens[-1].mark == ";":
        tokens.pop()
    if not tokens:
        return RefusedStatement("without a word")
    if any(it.mark == ";" for it in tokens):
        return RefusedStatement("that are several in one")
    if (session := server.session_words(tokens)) is not None:
        return session
    why = explain_not_read(server, tokens)
    return RefusedStatement(why) if why else Allowed(sql.rstrip(_ENDS), reads=True)


_ENDS = "; \t\n\r\f\v"
#: With these a text may hold quotes that begin or end nothing.
_INTRICATE = ('"', "`", "$", "#", "--", "/*")
_NUMBER = re.compile(r"(?<![\w.@:])\d++(?:\.\d++)?+(?![\w.])")


def empty_literals(sql: str) -> str:
    """Return the text with its literals emptied, if every server finds them at the same places: its
    other tokens are the same. Empty if that is not certain.
    """
    if "\\" in sql or "\0" in sql:
        return ""
    parts = sql.split("'")
    code = "''".join(parts[::2])
    if not len(parts) % 2 or any(it in code for it in _INTRICATE):
        return ""
    # a word before a literal says how it is read
    for part in parts[:-1:2]:
        if part and (part[-1].isalnum() or part[-1] in "_@"):
            return ""
    return _NUMBER.sub("0", code)


def explain_not_read(server: ServerRules, tokens: Sequence[Token]) -> str:
    """Return why these tokens are not known to read only, or ""."""
    rules = server.harmless
    first = next((it for it in tokens if it.mark != "("), tokens[0])
    if first.word not in rules.verbs:
        return "that begin with a word not known to read only"
    if first.word in _EXPLAINS and (why := _explain_not_explained(tokens)):
        return why
    return (
        _find_changing_word(rules, tokens)
        or _find_tainted_name(server, tokens)
        or _find_unknown_call(server, tokens)
        or _find_dotted_call(server, tokens)
        or _find_unknown_hint(rules, tokens)
    )


_EXPLAINS = frozenset({"explain", "describe", "desc"})
#: What is explained: a statement that reads.
_EXPLAINED = frozenset({"select", "with", "values", "table"})
_EXPLAIN_OPTIONS = frozenset({"analyze", "verbose", "extended", "partitions", "format", "json"})
_EXPLAIN_OPTIONS |= {"tree", "traditional"}
_DESCRIBED_MOST = 5


def _explain_not_explained(tokens: Sequence[Token]) -> str:
    """Check the statement inside: EXPLAIN may execute what it explains, so that has to read."""
    rest = list(tokens[1:])
    if len(rest) > 1 and rest[0].mark == "(" and rest[1].word not in _EXPLAINED | {""}:
        end = next((at for at, it in enumerate(rest) if it.mark == ")"), len(rest) - 1)
        rest = rest[end + 1 :]
    while rest and (rest[0].word in _EXPLAIN_OPTIONS or rest[0].mark == "="):
        rest = rest[1:]
    if rest and (rest[0].word in _EXPLAINED or rest[0].mark == "("):
        return ""
    # a table and a column of it, or a connection's number
    is_name = all(
        it.kind in ("name", "string", "number") or it.mark == "." or it.word for it in rest
    )
    runs = {"execute", "create", "refresh", "call", "declare", "replace", "prepare"}
    if is_name and len(rest) <= _DESCRIBED_MOST and not runs.intersection(it.word for it in rest):
        return ""
    return "that explain what is not known to read only"


def _find_changing_word(rules: Harmless, tokens: Sequence[Token]) -> str:
    for at, token in enumerate(tokens):
        word = token.word
        if word in rules.changing and not (at and tokens[at - 1].mark == "."):
            return f"with {word.upper()}"
        if word == "into" and not (rules.fills_variables and _is_into_variables(tokens, at)):
            return "with INTO"
    return ""


def _is_into_variables(tokens: Sequence[Token], at: int) -> bool:
    """Return whether it is `INTO @a, @b`: the session's own variables."""
    named = [it for it in takewhile(lambda it: it.kind != "word", tokens[at + 1 :]) if not it.mark]
    return bool(named) and all(
        it.kind == "variable" and not it.text.startswith("@@") for it in named
    )


def _find_tainted_name(server: ServerRules, tokens: Sequence[Token]) -> str:
    for token in tokens if server.tainted else ():
        if token.kind in ("word", "name"):
            cut = _cut_name(server, token)
            if why := server.tainted.get(cut) or server.tainted.get(cut.lower()):
                return why
    return ""


def _cut_name(server: ServerRules, token: Token) -> str:
    """The name as the server takes it: some cut what is too long."""
    return token.text.encode()[: server.harmless.name_bytes_most].decode(errors="ignore")


def _find_dotted_call(server: ServerRules, tokens: Sequence[Token]) -> str:
    for before, token in pairwise(tokens):
        if before.mark == "." and token.kind in ("word", "name") and server.dotted:
            name = _cut_name(server, token)
            if {name, name.lower()} & server.dotted:
                return "that may call a function as a column is named"
    return ""


def _find_unknown_call(server: ServerRules, tokens: Sequence[Token]) -> str:
    for at in range(1, len(tokens)):
        name = tokens[at - 1]
        if tokens[at].mark != "(" or name.kind in ("mark", "hint"):
            continue
        if not is_harmless_call(server, tokens, at - 1):
            return "that call a function not known to read only"
    return ""


def is_harmless_call(server: ServerRules, tokens: Sequence[Token], at: int) -> bool:
    """Return whether the word before a parenthesis is known to change nothing there."""
    rules, token = server.harmless, tokens[at]
    if token.kind not in ("word", "name"):
        return False
    name = token.word or token.text
    is_listed = name in rules.functions and name not in server.shadowed
    before = tokens[at - 1] if at else None
    if before is not None and before.mark == ".":
        schema = tokens[at - 2] if at > 1 else token
        return (schema.word or schema.text) in rules.schemas and is_listed
    if before is not None and (before.word == "as" or _is_cast(tokens, at)):
        return True
    if token.kind == "word" and name in rules.constructs and name not in server.shadowed:
        return True
    if is_listed:
        # some families call their users' functions by a quoted name, and never their own
        return token.kind == "word" or bool(rules.schemas)
    return _is_column_list(tokens, at)


def _is_cast(tokens: Sequence[Token], at: int) -> bool:
    return at > 1 and tokens[at - 1].mark == tokens[at - 2].mark == ":"


def _is_column_list(tokens: Sequence[Token], at: int) -> bool:
    """Return whether columns follow: `WITH name (a, b) AS (SELECT`; a function in FROM may be
    followed by `AS (` and columns.
    """
    after = iter(tokens[at + 2 :])
    for token in after:
        if token.kind not in ("word", "name") and token.mark != ",":
            break
    else:
        return False
    following = [token, *(next(after, None) for _ in range(5))]
    words = [it.mark or it.word if it is not None else "" for it in following]
    if words[:2] != [")", "as"]:
        return False
    rest = [it for it in words[2:] if it not in ("not", "materialized")]
    return rest[:1] == ["("] and rest[1:2] in (["select"], ["with"], ["table"], ["("])


_HINT = re.compile(r"\b(\w+)\s*+\(")


def _find_unknown_hint(rules: Harmless, tokens: Sequence[Token]) -> str:
    hints = [_HINT.findall(it.text.lower()) for it in tokens if it.kind == "hint"]
    if all(found and rules.hints.issuperset(found) for found in hints):
        return ""
    return "with a hint that is not known to read only"


def taint_definitions(
    server: ServerRules, definitions: Sequence[tuple[str, str, str]]
) -> ServerRules:
    """Return the server with those names tainted whose definition is not known to read only, and
    those that name one of them. `definitions`: what it is ("view"), its name, and its text as a
    query, empty if the server does not show it.
    """
    tainted = dict(server.tainted)
    left = list(definitions)
    while left:
        known = replace(server, tainted=tainted)
        found = {
            name: f"that name a {what} not known to read only"
            for what, name, text in left
            if not text or isinstance(known.judge(text), RefusedStatement)
        }
        if not found:
            return known
        tainted = {**tainted, **found}
        left = [it for it in left if it[1] not in tainted]
    return replace(server, tainted=tainted)


def spell(tokens: Sequence[Token], quote: str) -> str:
    """Return the tokens with a space between them, names in quotes: what `SessionWords` look at."""
    return " ".join(
        f"{quote}{it.text.replace(quote, quote * 2)}{quote}" if it.kind == "name" else it.text
        for it in tokens
    )
