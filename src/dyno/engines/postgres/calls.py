"""What a statement calls, by oid as the server resolves it, followed to what those call in turn.

The server tells the parse tree of a statement that it prepares and does not execute
(`debug_print_parse`): its functions, operators, types and relations by oid. From there the
catalogue leads on, until nothing new comes: views, policies, index expressions, triggers and
defaults are trees as well; the text of a routine is read by `bodies`. Each function has to be known
to change nothing; what cannot be followed is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dyno.engines import Talk
from dyno.engines.postgres.bodies import UnfollowedError, read_body
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
from dyno.engines.postgres.harmless import (
    EXTENSIONS,
    HARMLESS,
    LIBRARIES,
    MEMBERS,
    TYPES,
    UNDONE,
    VOLATILE,
    split_words,
)
from dyno.engines.postgres.in_place import USERS_FROM
from dyno.errors import UsageError
from dyno.sql.tokens import Quoting

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
    """Something that is reached; `runs`: is it executed, or planned only?"""

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
            "the server does not tell what the statement calls",
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
        """Something reached; the server's own relations, types and operators are harmless."""
        node = Node(kind, oid, runs)
        if oid and (kind == "function" or oid >= USERS_FROM) and node not in self._found:
            self._found[node] = via
            self._new.append(node)

    def add_tree(self, tree: str, via: str, runs: bool) -> None:
        """All that a tree names."""
        self._note_changes(bool(_CHANGES.search(tree)))
        for name, number, numbers in _FIELD.findall(tree):
            kind = _KINDS.get(name) or ("type" if _IS_TYPE.fullmatch(name) else "")
            for oid in (number or numbers).split() if kind else ():
                self.add(kind, int(oid), via, runs)

    def _note_changes(self, changes: bool) -> None:
        """From the first write on what tables do with one counts as well."""
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
    """Is it one of a known extension's own library that changes nothing?"""
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
