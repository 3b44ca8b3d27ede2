"""Everything that a statement reaches on a server of MySQL's family: tables, views, routines,
triggers, tables that reference others. It is followed until nothing new is found.

A READ ONLY transaction holds back writes to tables and nothing else: a stored function may set a
global variable, write a file or end a session. A rollback undoes what transactional tables were
told. So the bodies of all that is called have statements of known kinds only, and what cannot be
followed is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines._statements import build_writing_error
from dyno.engines.mysql.attached import quote_name
from dyno.engines.mysql.in_place import EFFECTS, STORAGE_ENGINES, choose_harmless, read_loadable
from dyno.engines.mysql.session_words import find_quoting, judge_session_words
from dyno.engines.mysql.texts import (
    QualifiedName,
    find_body_problem,
    find_heads,
    find_names,
    find_table_places,
    is_write,
)
from dyno.errors import UsageError
from dyno.sql.lexing import Token, UnreadableError, read_tokens
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import ServerRules, is_harmless_call

#: Storage engines whose changes a rollback undoes. Others call themselves transactional, too:
#: Spider and FederatedX hand the word on to another server.
UNDONE = frozenset({"innodb", "rocksdb", "tokudb"})
#: Schemas of a server's own, in which a write is no transaction's.
OWN = frozenset({"performance_schema", "mysql", "sys"})
#: Tables that MariaDB makes up as they are named.
_MADE_UP = re.compile(r"seq_\d+_to_\d+(?:_step_\d+)?")
#: Sizes as they are now: MySQL 8.0 keeps them for a day otherwise.
FRESH = "SET @dyno_fresh = 0 /*!80003 , SESSION information_schema_stats_expiry = 0 */"
_TRIGGER_RIGHT = re.compile(r"GRANT (.+?) ON (\S+) TO ")

#: A grant's database is a pattern.
_LIKE, _LIKE_PARTS = {"_": ".", "%": ".*"}, re.compile(r"\\.|.", re.DOTALL)

Key = tuple[str, str]


@dataclass(frozen=True)
class FollowedText:
    """A text to be followed: its account, the schema of its bare names, its tokens in every way
    that they may be read. `body`: those of a routine's statements. `shown`: its account sees what
    it names, or gets an error for it. `writes`: it changes tables itself.
    """

    what: str
    schema: str
    readings: tuple[tuple[Token, ...], ...]
    body: tuple[tuple[Token, ...], ...] = ()
    shown: bool = False
    writes: bool = False


@dataclass(frozen=True)
class Table:
    """A table that is reached, by which text first, and its size in bytes as the server estimates
    it.
    """

    schema: str
    name: str
    kind: str
    engine: str
    size_bytes: int = 0
    by: str = ""

    @property
    def spelled(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass
class Reach:
    """What was found: every table by schema and name, and the stored functions."""

    tables: dict[Key, Table] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    writes: bool = False


def follow(
    ask: Ask, session: Session, version: str, statement: FollowedText, *, undoes: bool
) -> Reach:
    """Everything that the statement reaches. `UsageError` for what could leave a change: where it
    is rolled back (`undoes`), and where it must not write at all.
    """
    walk = _Walk(ask, session, "mariadb" in version.lower(), undoes)
    walk.go_on([statement])
    return walk.reach


@dataclass
class _Call:
    by: FollowedText
    key: Key
    parts: tuple[str, ...]
    is_harmless: bool
    is_procedure: bool


class _Walk:
    def __init__(self, ask: Ask, session: Session, is_mariadb: bool, undoes: bool) -> None:
        self._ask, self._session = ask, session
        self._is_mariadb, self._undoes = is_mariadb, undoes
        self._loadable = read_loadable(ask, session)
        self._rules = ServerRules(choose_harmless(self._loadable), judge_session_words, frozenset())
        (variables,) = ask(session, ["SHOW VARIABLES"])
        self._variables = frozenset(str(row[0]).lower() for row in variables)
        self.reach = Reach()
        self._seen: set[tuple[str, Key]] = set()
        self._triggered: set[Key] = set()
        self._has_default = False
        self._calls: list[_Call] = []
        self._named: dict[Key, FollowedText] = {}
        self._placed: dict[Key, FollowedText] = {}

    def go_on(self, texts: list[FollowedText]) -> None:
        while texts:
            self._calls, self._named, self._placed = [], {}, {}
            for text in texts:
                if text.writes:
                    self._note_write(text)
                for tokens in text.readings:
                    self._read_names(text, tokens)
                for body in text.body:
                    if problem := find_body_problem(body, self._variables):
                        _refuse(text, problem)
                    if any(is_write(body, at) for at in find_heads(body)):
                        self._note_write(text)
            texts = [*self._find_routines(), *self._find_tables()]
            if self.reach.writes:
                texts += self._find_triggers()
        self._check_definitions()

    def _read_names(self, text: FollowedText, tokens: tuple[Token, ...]) -> None:
        self._refuse_words(text, tokens)
        try:
            names = list(find_names(tokens))
        except UnreadableError as why:
            _refuse(text, str(why))
        for name in names:
            key = _make_key(text, name)
            before = tokens[name.begin - 1] if name.begin else None
            if before is not None and before.word == "call":
                self._calls.append(_Call(text, key, name.parts, False, True))
            elif name.is_call:
                is_known = is_harmless_call(self._rules, tokens, name.end - 1)
                word = tokens[name.begin].word
                # of texts, and of a column, whose definition is looked at
                is_known = is_known or word in ("insert", "default")
                self._has_default = self._has_default or word == "default"
                self._calls.append(_Call(text, key, name.parts, is_known, False))
            if name.may_be_table:
                for each in name.list_keys(text.schema):
                    self._named.setdefault(each, text)
        if not text.shown:
            for name in find_table_places(tokens):
                self._placed.setdefault(_make_key(text, name), text)

    def _refuse_words(self, text: FollowedText, tokens: Sequence[Token]) -> None:
        for at, it in enumerate(tokens):
            if it.word in ("outfile", "dumpfile"):
                _refuse(text, f"INTO {it.word.upper()} writes a file")
            follows = tokens[at + 1].word if at + 1 < len(tokens) else ""
            if it.word in ("nextval", "setval") or (it.word, follows) == ("next", "value"):
                _refuse(text, "a sequence is advanced for good")

    def _note_write(self, text: FollowedText) -> None:
        if not self._undoes:
            raise build_writing_error(f"{text.what} writes")
        self.reach.writes = True

    def _find_routines(self) -> Iterator[FollowedText]:
        """The bodies of routines that were called, of those not seen yet."""
        wanted = {key for call in self._calls for key in _list_callees(call)}
        asked = (
            "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_TYPE, ROUTINE_BODY, ROUTINE_DEFINITION,"
            " SQL_MODE FROM information_schema.ROUTINES WHERE"
        )
        found = {}
        for row in self._look_up(asked, "ROUTINE_SCHEMA", "ROUTINE_NAME", wanted):
            of, name, kind = (str(it) for it in row[:3])
            found[kind, (of.lower(), name.lower())] = row
        for call in self._calls:
            callee = self._resolve(call, found)
            if callee is not None and (callee, call.key) not in self._seen:
                self._seen.add((callee, call.key))
                yield self._read_routine(found[callee, call.key])

    def _resolve(self, call: _Call, found: dict[tuple[str, Key], list[str | None]]) -> str | None:
        """What kind of routine it calls; None for a function of the server's that is harmless."""
        name, spelled = call.parts[-1].lower(), ".".join(call.parts).lower()
        package = (call.by.schema.lower(), call.parts[0].lower())
        if len(call.parts) > 1 and (len(call.parts) > 2 or ("PACKAGE", package) in found):
            _refuse(call.by, f"{spelled} is a stored package's")
        kind = "PROCEDURE" if call.is_procedure else "FUNCTION"
        is_bare = len(call.parts) == 1 and not call.is_procedure
        if is_bare and name in EFFECTS:
            _refuse_call(call.by, spelled, "which is not known to change nothing")
        if is_bare and name in (self._loadable or ()):
            _refuse_call(call.by, spelled, "a loadable function, whose code cannot be followed")
        if (kind, call.key) in found:
            if is_bare and self._loadable is None and not call.is_harmless:
                hint = "GRANT SELECT ON mysql.func TO that user, or write its schema before it"
                _refuse_call(call.by, spelled, "which may be a loadable function", hint)
            return kind
        if not call.is_harmless:
            _refuse_call(call.by, spelled, "which is not known to change nothing")
        return None

    def _read_routine(self, row: Sequence[str | None]) -> FollowedText:
        schema, name, kind, language, text, mode = (str(it or "") for it in row)
        what = f"the {kind.lower()} {schema}.{name}"
        if kind == "FUNCTION":
            self.reach.functions.append(f"{schema}.{name}")
        if language != "SQL" or not text:
            why = f"it is in {language}" if language != "SQL" else "this account may not read it"
            raise _build_unfollowed_error(what, why)
        readings = [self._read(what, text, mode)]
        if self._is_mariadb:
            # parameters may have defaults, which are called
            made = f"SHOW CREATE {kind} {quote_name(schema)}.{quote_name(name)}"
            shown = str(self._ask(self._session, [made])[0][0][2] or "")
            readings.append(_cut_parameters(self._read(what, shown, mode)))
        return FollowedText(what, schema, tuple(readings), body=(readings[0],))

    def _read(self, what: str, text: str, mode: str) -> tuple[Token, ...]:
        quoting = find_quoting(mode)
        if quoting is None:
            raise _build_unfollowed_error(what, f"its sql_mode is {mode}")
        return _read_text(what, text, quoting)

    def _find_tables(self) -> Iterator[FollowedText]:
        """The texts of views that were named; tables are kept."""
        asked = (
            "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, DATA_LENGTH"
            " FROM information_schema.TABLES WHERE"
        )
        views, keys = dict[Key, FollowedText](), set[Key]()
        for schema, name, kind, engine, size in self._look_up(
            asked, "TABLE_SCHEMA", "TABLE_NAME", self._named
        ):
            key = (str(schema).lower(), str(name).lower())
            keys.add(key)
            if "VIEW" in str(kind):
                views[key] = self._named[key]
            elif key[0] != "information_schema" and key not in self.reach.tables:
                named = Table(str(schema), str(name), str(kind), str(engine or ""))
                self._keep_table(
                    replace(named, size_bytes=int(size or 0), by=self._named[key].what)
                )
        for key, text in self._placed.items():
            is_own = key[0] == "information_schema" or _MADE_UP.fullmatch(key[1])
            if key not in keys and not is_own:
                _refuse(text, f"{'.'.join(key)} is not among what this account sees")
        yield from self._read_views(views)

    def _keep_table(self, table: Table) -> None:
        if table.engine.lower() not in STORAGE_ENGINES:
            what = table.engine or "a storage engine that the server does not name"
            raise _build_unfollowed_error(f"the table {table.spelled}", f"it is of {what}")
        self.reach.tables[table.schema.lower(), table.name.lower()] = table

    def _read_views(self, named: dict[Key, FollowedText]) -> Iterator[FollowedText]:
        asked = "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"
        new = {key for key in named if ("VIEW", key) not in self._seen}
        self._seen |= {("VIEW", key) for key in new}
        for schema, name, text in self._look_up(
            f"{asked} WHERE", "TABLE_SCHEMA", "TABLE_NAME", new
        ):
            what = f"the view {schema}.{name}"
            if (str(schema).lower(), str(name).lower()) in new:
                if not text:
                    raise _build_unfollowed_error(what, "this account may not read it")
                # the server spells views in its own way, whatever a session's sql_mode
                both = (Quoting(False, it, names_in_double=False) for it in (True, False))
                readings = {_read_text(what, str(text), it) for it in both}
                yield FollowedText(what, str(schema), tuple(readings))

    def _find_triggers(self) -> Iterator[FollowedText]:
        """The bodies of triggers of tables that were reached; and the tables that reference
        these, which a cascade may change, join them.
        """
        while new := self.reach.tables.keys() - self._triggered:
            self._triggered |= new
            self._check_writes(new)
            yield from self._read_triggers(new)
            self._add_referencing(new)

    def _read_triggers(self, keys: set[Key]) -> Iterator[FollowedText]:
        asked = (
            "SELECT TRIGGER_SCHEMA, TRIGGER_NAME, ACTION_STATEMENT, SQL_MODE"
            " FROM information_schema.TRIGGERS WHERE"
        )
        if not self._is_mariadb:
            self._check_trigger_rights(keys)
        for schema, name, text, mode in self._look_up(
            asked, "EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", keys
        ):
            what = f"the trigger {schema}.{name}"
            if not text:
                raise _build_unfollowed_error(what, "this account may not read it")
            tokens = self._read(what, str(text), str(mode or ""))
            yield FollowedText(what, str(schema), (tokens,), body=(tokens,))

    def _check_trigger_rights(self, keys: set[Key]) -> None:
        """Raise `UsageError` if triggers may be hidden: MySQL shows them only to accounts that may
        make them.
        """
        (rows,) = self._ask(self._session, ["SHOW GRANTS"])
        grants = [str(row[0]) for row in rows]
        for key in sorted(keys):
            table = self.reach.tables[key]
            if not may_see_triggers(grants, table.schema, table.name):
                raise UsageError(
                    f"this account does not see the triggers of {table.spelled}",
                    cause="they may write where a rollback undoes nothing",
                    hint=f"GRANT TRIGGER ON {table.spelled} TO it",
                )

    def _add_referencing(self, keys: set[Key]) -> None:
        asked = (
            "SELECT DISTINCT t.TABLE_SCHEMA, t.TABLE_NAME, t.TABLE_TYPE, t.ENGINE, t.DATA_LENGTH,"
            " k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME"
            " FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.TABLES t"
            " ON t.TABLE_SCHEMA = k.TABLE_SCHEMA AND t.TABLE_NAME = k.TABLE_NAME WHERE"
        )
        for row in self._look_up(
            asked, "k.REFERENCED_TABLE_SCHEMA", "k.REFERENCED_TABLE_NAME", keys
        ):
            schema, name, kind, engine, size, *of = (str(it or "") for it in row)
            if (schema.lower(), name.lower()) not in self.reach.tables:
                by = f"a foreign key to {'.'.join(of)}"
                self._keep_table(Table(schema, name, kind, engine, int(size or 0), by))

    def _check_writes(self, keys: Iterable[Key]) -> None:
        """Raise `UsageError` for a table that a rollback would not put back."""
        for key in sorted(keys):
            table = self.reach.tables[key]
            by = f", by {table.by}" if table.by != TOP else ""
            if table.schema.lower() in OWN:
                why, hint = f"{table.schema} is the server's own", ""
            elif table.engine.lower() not in UNDONE:
                why = f"its storage engine {table.engine} knows no transactions"
                hint = "explain the statement on a copy of the table in InnoDB"
            elif table.kind == "SEQUENCE":
                why, hint = "it is a sequence, which is advanced for good", ""
            else:
                continue
            raise UsageError(
                f"a rollback does not undo writes to {table.spelled}{by}", cause=why, hint=hint
            )

    def _check_definitions(self) -> None:
        """MariaDB calls loadable functions and advances sequences where a column's default, or what
        it is generated from, says so.
        """
        tables = [
            it for it in self.reach.tables.values() if it.schema.lower() not in OWN
        ] * self._is_mariadb
        calls_defaults = self._has_default or self.reach.writes
        if not tables or not (self._loadable or calls_defaults):
            return
        asked = [
            f"SHOW CREATE TABLE {quote_name(it.schema)}.{quote_name(it.name)}" for it in tables
        ]
        for table, rows in zip(tables, self._ask(self._session, asked), strict=True):
            what = f"the table {table.spelled}"
            tokens = _read_text(what, str(rows[0][1]), Quoting(False, True, False))
            calls = {it.parts[-1].lower() for it in find_names(tokens) if it.is_call}
            if calls & {"nextval", "setval"} and calls_defaults:
                raise _build_unfollowed_error(what, "a default of it advances a sequence for good")
            if theirs := sorted(calls & (self._loadable or set())):
                raise _build_unfollowed_error(
                    what, f"a column of it calls {theirs[0]}(), a loadable function"
                )

    def _look_up(
        self, asked: str, schema: str, name: str, keys: Iterable[Key]
    ) -> list[list[str | None]]:
        """Return the rows of exactly these names, in any case."""
        by_schema: dict[str, list[str]] = {}
        for key in sorted(keys):
            by_schema.setdefault(key[0], []).append(key[1])
        if not by_schema:
            return []
        each = (
            f"(LOWER({schema}) = {_spell(of)} AND LOWER({name}) IN ({_spell(*them)}))"
            for of, them in by_schema.items()
        )
        answers = self._ask(self._session, [FRESH, f"{asked} {' OR '.join(each)}"])
        return answers[1]


#: Who executes the statement that is explained.
TOP = "the statement"
HOLDS = "neither a read-only transaction nor a rollback holds all that it may do"


def _make_key(text: FollowedText, name: QualifiedName) -> Key:
    schema = name.parts[-2] if len(name.parts) > 1 else text.schema
    return schema.lower(), name.parts[-1].lower()


def _list_callees(call: _Call) -> Iterator[Key]:
    yield call.key
    if len(call.parts) > 1:
        yield call.by.schema.lower(), call.parts[0].lower()


def _cut_parameters(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    begin = next((at for at, it in enumerate(tokens) if it.mark == "("), len(tokens))
    depth = 0
    for at in range(begin, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at].mark, 0)
        if not depth:
            return tokens[begin : at + 1]
    return ()


def _read_text(what: str, text: str, quoting: Quoting) -> tuple[Token, ...]:
    try:
        return tuple(read_tokens(text, quoting))
    except UnreadableError as why:
        raise _build_unfollowed_error(what, str(why)) from None


def _refuse(text: FollowedText, why: str) -> NoReturn:
    raise _build_unfollowed_error(text.what, why)


def _refuse_call(text: FollowedText, name: str, why: str, hint: str = "") -> NoReturn:
    raise UsageError(
        f"{text.what} calls {name}(), {why}",
        hint=hint or HOLDS,
    )


def _build_unfollowed_error(what: str, why: str) -> UsageError:
    return UsageError(f"{what} may change what no rollback undoes", cause=why, hint=HOLDS)


def may_see_triggers(grants: Sequence[str], schema: str, table: str) -> bool:
    """Return whether the right is there for this table, and revoked for none of its schema."""
    if any(it.startswith("REVOKE") and f"`{schema}`" in it for it in grants):
        return False
    for grant in grants:
        found = _TRIGGER_RIGHT.match(grant)
        if found is None or not re.search(r"\b(?:TRIGGER|ALL PRIVILEGES)\b", found[1]):
            continue
        of, _, name = found[2].replace("`", "").partition(".")
        like = "".join(_LIKE.get(it) or re.escape(it[-1]) for it in _LIKE_PARTS.findall(of))
        if (of == "*" or re.fullmatch(like, schema, re.IGNORECASE)) and name in ("*", table):
            return True
    return False


def _spell(*names: str) -> str:
    """Return names as literals that read alike in every session."""
    return ", ".join(f"CONVERT(0x{it.encode().hex()} USING utf8)" if it else "''" for it in names)
