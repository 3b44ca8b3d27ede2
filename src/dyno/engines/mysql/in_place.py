"""What a MySQL or MariaDB that runs already says of itself before a log is played in it, only
reading.

A statement names whatever it calls, but for what a view calls: views are judged by their own text,
as statements are. Stored and loadable functions are not played: what a user wrote of a function
(DETERMINISTIC, READS SQL DATA) no server checks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql.harmless import HARMLESS, LATER, STORAGE_ENGINES
from dyno.engines.mysql.session_words import find_quoting, judge_session_words
from dyno.errors import TrialFailed, UsageError
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import Harmless, ServerRules, taint_definitions

_OWN = "('information_schema', 'performance_schema', 'mysql', 'sys')"
STATE = (
    "SELECT @@SESSION.sql_mode, @@GLOBAL.sql_mode, @@SESSION.character_set_client, CURRENT_USER()"
)
STORED = "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'"
VIEWS = (
    "SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"
    f" WHERE TABLE_SCHEMA NOT IN {_OWN}"
)
ELSEWHERE = (
    "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES"
    f" WHERE TABLE_SCHEMA NOT IN {_OWN} AND ENGINE IS NOT NULL"
    f" AND LOWER(ENGINE) NOT IN ({', '.join(repr(it) for it in sorted(STORAGE_ENGINES))})"
)
GRANTS = "SHOW GRANTS"
QUESTIONS = (STATE, STORED, VIEWS, ELSEWHERE, GRANTS)
#: Loadable functions, where the account may see them; 8.0 has those of components in the second.
LOADABLE = (
    "SELECT name FROM mysql.func",
    "SELECT UDF_NAME FROM performance_schema.user_defined_functions",
)
#: Tables of MariaDB's whose generated columns may call loadable functions; MySQL's may not.
GENERATED = (
    "SELECT DISTINCT TABLE_NAME FROM information_schema.COLUMNS"
    f" WHERE TABLE_SCHEMA NOT IN {_OWN} AND EXTRA REGEXP 'VIRTUAL|STORED|PERSISTENT'"
    " AND VERSION() LIKE '%MariaDB%'"
)
#: Rights with which nothing is changed.
_READING = frozenset(
    [
        "USAGE",
        "SELECT",
        "SHOW DATABASES",
        "SHOW VIEW",
        "PROCESS",
        "REPLICATION CLIENT",
        "BINLOG MONITOR",
    ]
)
_GRANT = re.compile(r"GRANT (.+?) ON (\S+) TO ")
_SHOWN = 4


def look_in_place(ask: Ask, session: Session) -> ServerRules:
    """What the server says; `UsageError` where its texts are read in a way that is not known."""
    state, stored, views, elsewhere, grants = ask(session, QUESTIONS)
    own_mode, global_mode, characters, user = (str(it or "") for it in state[0])
    readings = {find_quoting(own_mode), find_quoting(global_mode)}
    known = frozenset(it for it in readings if it is not None)
    if len(known) < len(readings) or not characters.startswith("utf8"):
        cause = f"sql_mode is '{own_mode}' and character_set_client {characters}"
        hint = "play the log on a copy (--data), or with --writes where it may be written to"
        raise UsageError("cannot tell how the server reads statements", cause=cause, hint=hint)
    loadable = read_loadable(ask, session)
    names = {str(name).lower() for (name,) in stored} | (loadable or set())
    server = ServerRules(
        choose_harmless(loadable),
        judge_session_words,
        known,
        shadowed=frozenset(names),
        tainted=_find_tainted_tables(ask, session, elsewhere, loadable),
        account=_describe_account(user, [str(row[0]) for row in grants]),
    )
    texts = [("view", str(name), str(text or "")) for name, text in views]
    # the server spells views in its own way, whatever a session's sql_mode
    both = frozenset(Quoting(False, escapes, names_in_double=False) for escapes in (True, False))
    judged = taint_definitions(replace(server, readings=both), texts)
    return replace(server, tainted=judged.tainted)


def _find_tainted_tables(
    ask: Ask,
    session: Session,
    elsewhere: Sequence[Sequence[str | None]],
    loadable: Collection[str] | None,
) -> dict[str, str]:
    """Tables that a statement may not mention, each with its reason."""
    (generated,) = ask(session, [GENERATED]) if loadable is None or loadable else ([],)
    calls = "that name a table whose generated column may call a loadable function"
    reaches = "that name a table of a storage engine not known to read only"
    return {
        **{str(name): calls for (name,) in generated},
        **{str(name): reaches for name, _ in elsewhere},
    }


def choose_harmless(loadable: Collection[str] | None) -> Harmless:
    """What a server may be asked, by whether it tells its loadable functions."""
    functions = HARMLESS.functions if loadable is not None else HARMLESS.functions - LATER
    return replace(HARMLESS, functions=functions)


def read_loadable(ask: Ask, session: Session) -> set[str] | None:
    """The names of loadable functions; None where no table of them may be read."""
    found: list[set[str]] = []
    for question in LOADABLE:
        try:
            (rows,) = ask(session, [question])
        except TrialFailed:
            continue
        found.append({str(name).lower() for (name,) in rows})
    return set().union(*found) if found else None


def _describe_account(user: str, grants: Sequence[str]) -> str:
    """What the account may write, in words; empty where nothing was found."""
    rights = list(dict.fromkeys(_find_writing_grants(grants)))
    if not rights:
        return ""
    more = ", …" if len(rights) > _SHOWN else ""
    return f"the account {user} has {', '.join(rights[:_SHOWN])}{more}"


def _find_writing_grants(grants: Sequence[str]) -> Iterator[str]:
    for line in grants:
        found = _GRANT.match(line)
        if found is None:
            yield "what its roles may"
            continue
        rights = re.sub(r"(?<!\s)\s*+\([^()]*\)", "", found[1]).split(",")
        for right in rights:
            if right.strip().upper() not in _READING:
                yield f"{right.strip()} on {found[2]}"
