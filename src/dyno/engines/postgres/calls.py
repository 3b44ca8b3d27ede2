"""What a statement calls, by oid as the server resolves it, followed to what those call in turn.

The server tells the parse tree of a statement that it prepares and does not execute
(`debug_print_parse`): its functions, operators, types and relations by oid. From there the
catalogue leads on, until nothing new comes: views, policies, index expressions, triggers and
defaults are trees as well. Each function has to be known to change nothing; what cannot be followed
is refused by its name.

A routine's body in SQL or PL/pgSQL is a text until it is executed (`read_body`). A name in it
stands for every function of that name and so many arguments, in any schema. A text that the routine
puts together itself cannot be followed, nor can a command that is none of a statement's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dyno.engines import Talk
from dyno.engines.postgres.catalogue import (
    CANDIDATES,
    CASTS,
    EDGES,
    FUNCTIONS,
    PARSED,
    SYMBOLS,
    FunctionRow,
    quote_oids,
    quote_texts,
)
from dyno.engines.postgres.in_place import (
    EXTENSIONS,
    HARMLESS,
    LIBRARIES,
    MEMBERS,
    TYPES,
    UNDONE,
    USERS_FROM,
    VOLATILE,
    split_words,
)
from dyno.errors import UsageError
from dyno.sql.lexing import Token, UnreadableError, read_tokens
from dyno.sql.tokens import Quoting

NAME_BYTES_MOST = 63
_STATEMENTS = split_words("select with values table insert update delete merge")
_CHANGING = frozenset({"insert", "update", "delete", "merge"})
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
    """`calls`: functions by name, each with how many arguments it gets; `names`: possible tables or
    types; `symbols`: operators; `changes`: whether a statement in it writes.
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
    found = BodyNames(changes=any(it.word in _CHANGING for it in tokens))
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
    """Yield every operator that a row of signs may be: spaces between them are not kept."""
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
    """Raise `UnfollowedError` for a statement that is no query, or a text that is executed."""
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


#: What has the server tell the tree of what it parses, to this session; and an end to it.
_TELL = (
    "SET debug_pretty_print = off",
    "SET client_min_messages = log",
    "SET debug_print_parse = on",
)
_TELL_NO_MORE = (
    "RESET debug_print_parse",
    "RESET client_min_messages",
    "RESET debug_pretty_print",
)
_UNLOGGED = ("SET log_min_messages = panic", "RESET log_min_messages")
_ONLY_OURS, _ALL = "SET search_path = pg_catalog", "RESET search_path"
_TITLE = "parse tree:"
_FIELD = re.compile(r":(\w++)\s++(?:(\d++)|\(o\s++([\d\s]++)\))")
_CHANGES = re.compile(r":commandType\s++[2-5]\b")
#: Fields of a tree, by what their number is.
_KINDS = {
    **dict.fromkeys(
        split_words(
            "funcid aggfnoid winfnoid opfuncid hashfuncid negfuncid elemfuncid tsmhandler"
            " startInRangeFunc endInRangeFunc"
        ),
        "function",
    ),
    **dict.fromkeys(split_words("opno opnos eqop sortop cycle_mark_neop"), "operator"),
    "relid": "relation",
}
_IS_TYPE = re.compile(r"\w*types?(?:id)?", re.IGNORECASE)
HINT = "neither a read-only transaction nor a rollback holds all that a function may do"
#: The catalogue is asked so often at most.
ROUNDS_MOST = 100


@dataclass(frozen=True)
class CallRules:
    """`writes`: what is called is rolled back. `plans`: the statement is planned and not executed,
    which calls no volatile function.
    """

    quoting: Quoting
    writes: bool = False
    plans: bool = False


@dataclass(frozen=True)
class Node:
    """An object that is reached; `runs`: whether it is executed, or planned only."""

    kind: str
    oid: int
    runs: bool


def judge_calls(talk: Talk, sql: str, rules: CallRules) -> list[str]:
    """The functions of the database's users that it reaches, each followed. `UsageError` for one
    that is not known to change nothing, or cannot be followed; nothing of it was executed.
    """
    walk = CallWalk(talk, rules)
    # nothing of users' stands in for what the catalogue is asked with
    talk([_ONLY_OURS], "counts")
    # a literal calls what its type reads it with while it is parsed
    for oid, via in talk([PARSED], "rows")[0].rows:
        walk.add("function", int(oid or 0), str(via), True)
    walk.follow()
    talk([_ALL], "counts")
    walk.add_tree(ask_tree(talk, sql), "", not rules.plans)
    talk([_ONLY_OURS], "counts")
    walk.follow()
    talk([_ALL], "counts")
    return list(walk.followed)


def ask_tree(talk: Talk, sql: str) -> str:
    """The parse tree of a statement that is prepared and not executed. It goes into the server's
    log as well, unless a superuser's session keeps it out.
    """
    ((is_superuser,),) = talk(["SHOW is_superuser"], "rows")[0].rows
    unlogged, logged = ([_UNLOGGED[0]], [_UNLOGGED[1]]) if is_superuser == "on" else ([], [])
    talk([*unlogged, *_TELL], "counts")
    (answer,) = talk([sql], "prepares")
    talk([*_TELL_NO_MORE, *logged], "counts")
    trees = [it.detail for it in answer.notices if it.message == _TITLE]
    if len(trees) != 1 or not trees[0].startswith("{QUERY") or answer.notices_dropped:
        raise UsageError(
            "the server does not show what the statement calls",
            cause="its notices hold no parse tree (debug_print_parse)",
            hint="name the server itself, and let client_min_messages be set",
        )
    return trees[0]


class CallWalk:
    """All that is reached, each once, with what reached it."""

    def __init__(self, talk: Talk, rules: CallRules) -> None:
        self._talk, self._rules = talk, rules
        self._found: dict[Node, str] = {}
        self._new: list[Node] = []
        self._symbols: set[str] = set()
        self._changes = rules.writes
        #: Functions of users that were followed, by signature.
        self.followed: dict[str, None] = {}

    def add(self, kind: str, oid: int, via: str, runs: bool) -> None:
        """Note an object as reached; the server's own relations, types and operators are
        harmless.
        """
        node = Node(kind, oid, runs)
        if oid and (kind == "function" or oid >= USERS_FROM) and node not in self._found:
            self._found[node] = via
            self._new.append(node)

    def add_tree(self, tree: str, via: str, runs: bool) -> None:
        self._note_changes(bool(_CHANGES.search(tree)))
        for name, number, numbers in _FIELD.findall(tree):
            kind = _KINDS.get(name) or ("type" if _IS_TYPE.fullmatch(name) else "")
            for oid in (number or numbers).split() if kind else ():
                self.add(kind, int(oid), via, runs)

    def _note_changes(self, changes: bool) -> None:
        """Count what tables do with a write, from the first write on."""
        if changes and not self._changes:
            self._changes = True
            self._new += [it for it in self._found if it.kind == "relation" and it not in self._new]

    def follow(self) -> None:
        """Follows what is new until nothing is; `UsageError` at the first that is not harmless."""
        for _ in range(ROUNDS_MOST):
            if not self._new:
                return
            batch, self._new = self._new, []
            for runs in (True, False):
                self._follow_batch([it for it in batch if it.runs == runs], runs)
        raise UsageError("cannot follow all that the statement calls", cause="it is too much")

    def _follow_batch(self, batch: Sequence[Node], runs: bool) -> None:
        if not batch:
            return
        functions = quote_oids(it.oid for it in batch if it.kind == "function")
        for row in self._talk([FUNCTIONS.format(oids=functions)], "rows")[0].rows:
            self._judge(FunctionRow.read(row), runs)
        asked = []
        for kind, edges in EDGES.items():
            theirs = [it.oid for it in batch if it.kind == kind and it.oid >= USERS_FROM]
            values = {"oids": quote_oids(theirs), "writes": str(self._changes).lower()}
            asked += [sql.format(**values) for sql in edges if theirs]
        for answer in self._talk(asked, "rows") if asked else ():
            self._add_edges(answer.rows, runs)
        types = quote_oids(it.oid for it in self._found if it.kind == "type")
        unnamed = [CASTS.format(oids=types, all=str(bool(self._symbols)).lower())]
        unnamed += [SYMBOLS.format(oids=types, names=quote_texts(self._symbols))]
        for answer in self._talk(unnamed, "rows"):
            self._add_edges(answer.rows, runs=True)

    def _add_edges(self, rows: Sequence[Sequence[str | None]], runs: bool) -> None:
        for via, kind, value in rows:
            if kind == "foreign":
                raise UsageError(
                    f"the statement uses {value}, a foreign table",
                    cause="another server or a program is asked, which may change something",
                    hint="explain the statement there",
                )
            if kind == "tree":
                self.add_tree(str(value), str(via), runs)
            else:
                self.add(str(kind), int(value or 0), str(via), runs)

    def _judge(self, it: FunctionRow, runs: bool) -> None:
        via = self._found.get(Node("function", it.oid, runs), "")
        if not runs and it.is_volatile and it.language != "sql":
            return
        if it.oid < USERS_FROM and it.language in ("internal", "sql", "c"):
            is_known_so = not it.is_volatile or it.name in VOLATILE
            is_listed = it.name in HARMLESS.functions | TYPES and is_known_so
            is_undone = bool(via) and self._rules.writes and it.name in UNDONE
            if not (is_listed or it.is_implied or is_undone):
                raise _build_error(it, via, "")
        elif it.language in ("sql", "plpgsql") and not it.is_aggregate:
            self.followed[it.signature] = None
            # a volatile one in SQL may be written into the plan, others are called for it
            self._follow_body(it, via, runs or not it.is_volatile)
        elif it.same_as and not it.is_aggregate:
            self.add("function", it.same_as, f"function {it.signature}", runs or not it.is_volatile)
        elif not (it.is_aggregate or _is_known_member(it)):
            where = f"of the extension {it.extension}" if it.extension else f"in {it.language}"
            raise _build_error(it, via, f"it is a function {where}, which is not followed")

    def _follow_body(self, it: FunctionRow, via: str, runs: bool) -> None:
        inside = f"function {it.signature}"
        if it.tree:
            self.add_tree(it.tree, inside, runs)
            return
        try:
            names = read_body(it.text, it.language, self._rules.quoting)
        except UnfollowedError as why:
            raise _build_error(it, via, str(why)) from None
        self._note_changes(names.changes)
        self._symbols |= names.symbols
        spelled = quote_texts({name for name, _ in names.calls})
        asked = CANDIDATES.format(calls=spelled, names=quote_texts(names.names))
        for kind, oid, name, least, most, is_exact in self._talk([asked], "rows")[0].rows:
            counts = [count for called, count in names.calls if called == name]
            fits = is_exact != "t" or any(int(least or 0) <= it <= int(most or 0) for it in counts)
            if kind != "function" or fits:
                self.add(str(kind), int(oid or 0), inside, runs)


def _is_known_member(it: FunctionRow) -> bool:
    """Return whether it belongs to a known extension's own library, and changes nothing."""
    library = it.library.rpartition("/")[2]
    if it.language != "c" or not library.startswith(LIBRARIES.get(it.extension, it.extension)):
        return False
    is_listed = it.name in MEMBERS.get(it.extension, ())
    return is_listed or (it.extension in EXTENSIONS and not it.is_volatile)


def _build_error(it: FunctionRow, via: str, why: str) -> UsageError:
    called = f"by {via}" if via else ""
    return UsageError(
        f"the statement calls {it.signature}, which is not known to change nothing",
        cause="; ".join(filter(None, [called, why])),
        hint=HINT,
    )
