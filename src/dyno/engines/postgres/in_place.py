"""What a PostgreSQL that runs already says of itself before a log is played in it, only reading.

A statement calls functions that it does not name: through operators, casts, types, views, policies.
Those of the server's users are looked for in its catalogue. Where an operator, a cast or a type is
made of one that is not known, no statement can be told from its text, and nothing is played. Views
and policies are judged by their own text, as statements are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.postgres.harmless import EXTENSIONS, HARMLESS, VOLATILE
from dyno.engines.postgres.session_words import judge_session_words
from dyno.errors import UsageError
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import Harmless, ServerRules, taint_definitions

#: The first object that was not made with the cluster.
USERS_FROM = 16384
_NAMES = ", ".join(f"'{name}'" for name in sorted(EXTENSIONS))
#: The functions of users: whether each is one that a range type brings along, or one of a known
#: extension that writes nothing.
_FUNCTIONS = f"""
SELECT p.oid, p.proname,
  (p.provolatile <> 'v' OR p.proname IN ('unaccent_init', 'unaccent_lexize'))
  AND NOT p.prosecdef AND p.proconfig IS NULL
  AND (p.prosrc ~ '^(multi)?range_constructor[0-3]$' AND l.lanname = 'internal'
    OR l.lanname IN ('c', 'internal', 'sql') AND EXISTS (
    SELECT 1 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
      AND d.refclassid = 'pg_extension'::regclass AND e.extname IN ({_NAMES}))) AS is_harmless
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.oid >= {USERS_FROM}
"""
#: A row per name: are all of them harmless?
NAMED = f"SELECT proname, bool_and(is_harmless) FROM ({_FUNCTIONS}) f GROUP BY 1"
#: The server's own functions: does it call one of the name volatile?
OWN = f"""
SELECT proname, bool_or(provolatile = 'v') FROM pg_proc WHERE oid < {USERS_FROM} GROUP BY 1
"""
#: What calls a function without naming it, where that is not known to be harmless.
UNNAMED = f"""
WITH f AS ({_FUNCTIONS})
SELECT 'operator ' || oprname FROM pg_operator o JOIN f ON f.oid = oprcode WHERE NOT is_harmless
UNION ALL SELECT 'cast to ' || format_type(casttarget, NULL)
  FROM pg_cast JOIN f ON f.oid = castfunc WHERE NOT is_harmless
UNION ALL SELECT 'type ' || typname FROM pg_type t JOIN f
  ON f.oid IN (typinput, typoutput, typreceive, typsend, typmodin, typmodout)
  WHERE NOT is_harmless
UNION ALL SELECT 'range type ' || rngtypid::regtype FROM pg_range JOIN f
  ON f.oid IN (rngcanonical, rngsubdiff) WHERE NOT is_harmless
UNION ALL SELECT 'operator class over ' || format_type(amproclefttype, NULL)
  FROM pg_amproc JOIN f ON f.oid = amproc WHERE NOT is_harmless
UNION ALL SELECT 'text search template ' || tmplname FROM pg_ts_template JOIN f
  ON f.oid IN (tmplinit, tmpllexize) WHERE NOT is_harmless
UNION ALL SELECT 'text search parser ' || prsname FROM pg_ts_parser JOIN f
  ON f.oid IN (prsstart, prstoken, prsend, prsheadline, prslextype) WHERE NOT is_harmless
ORDER BY 1
"""
DOMAINS = f"""
SELECT format_type(contypid, NULL), regexp_replace(pg_get_constraintdef(oid), '^CHECK', 'SELECT')
FROM pg_constraint WHERE contypid <> 0 AND contype = 'c' AND oid >= {USERS_FROM} ORDER BY 1
"""
VIEWS = f"""
SELECT 'view', relname, pg_get_viewdef(oid) FROM pg_class
WHERE relkind = 'v' AND oid >= {USERS_FROM}
UNION ALL SELECT 'table with a policy', relname, 'SELECT ' || pg_get_expr(polqual, polrelid)
FROM pg_policy JOIN pg_class c ON c.oid = polrelid WHERE polqual IS NOT NULL
"""
#: Foreign tables, and the tables that have one among their parts.
FOREIGN = """
WITH RECURSIVE whole AS (
  SELECT oid FROM pg_class WHERE relkind = 'f'
  UNION SELECT inhparent FROM pg_inherits JOIN whole ON whole.oid = inhrelid)
SELECT relname FROM pg_class JOIN whole USING (oid)
"""
STATE = """
SELECT current_setting('standard_conforming_strings'), current_setting('log_line_prefix'),
  current_user,
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
  (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
   WHERE relkind IN ('r', 'p', 'v', 'f') AND nspname NOT IN ('pg_catalog', 'information_schema')
     AND nspname NOT LIKE 'pg\\_toast%' AND has_schema_privilege(n.oid, 'USAGE')
     AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
  (SELECT count(*) FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
     AND has_schema_privilege(oid, 'CREATE')),
  has_database_privilege(current_database(), 'CREATE')
"""
QUESTIONS = (STATE, NAMED, OWN, UNNAMED, DOMAINS, VIEWS, FOREIGN)
_Rows = list[list[str | None]]


def look_in_place(ask: Ask, session: Session) -> ServerRules:
    """What the server says; `UsageError` where no statement can be told from its text there."""
    state, named, own, unnamed, domains, views, foreign = ask(session, QUESTIONS)
    if unnamed:
        raise _build_untold_error([str(row[0]) for row in unnamed])
    conforming, log_prefix, *rights = state[0]
    harmless = _choose_harmless(named, own)
    theirs = frozenset(str(name) for name, is_harmless in named if is_harmless != "t")
    server = ServerRules(
        harmless,
        judge_session_words,
        frozenset({Quoting(True, conforming != "on", names_in_double=True)}),
        shadowed=theirs,
        dotted=theirs | ({str(name) for name, _ in own} - harmless.functions),
        tainted={str(name): "that name a table of another server" for (name,) in foreign},
        account=_describe_account(rights),
        log_prefix=log_prefix or "",
    )
    checks = [("domain", str(name), str(text)) for name, text in domains]
    if unknown := sorted(set(taint_definitions(server, checks).tainted) - set(server.tainted)):
        raise _build_untold_error([f"domain {name}" for name in unknown])
    texts = [(str(what), str(name), str(text or "")) for what, name, text in views]
    return taint_definitions(server, texts)


def _build_untold_error(things: Sequence[str]) -> UsageError:
    shown = ", ".join(things[:3]) + (", …" if len(things) > 3 else "")
    return UsageError(
        "the database may call functions that write",
        cause=f"{shown}: made of functions that are not known to only read",
        hint="play the log on a copy (--data), or with --writes where it may be written to",
    )


def _choose_harmless(named: _Rows, own: _Rows) -> Harmless:
    """The listed functions and known extensions', without those that this server calls volatile."""
    volatile = {str(name) for name, is_volatile in own if is_volatile == "t"} - VOLATILE
    unlisted = {str(name) for name, _ in own} - HARMLESS.functions
    added = {str(name) for name, is_harmless in named if is_harmless == "t"} - unlisted
    return replace(HARMLESS, functions=(HARMLESS.functions | added) - volatile)


def _describe_account(rights: Sequence[str | None]) -> str:
    """What the account may write, in words; empty where nothing was found."""
    user, is_superuser, tables, schemas, may_create = rights
    if is_superuser == "t":
        return f"the account {user} is a superuser"
    found = [f"write to {tables} tables"] if tables not in ("0", None) else []
    found += ["make tables"] if schemas not in ("0", None) or may_create == "t" else []
    return f"the account {user} may {' and '.join(found)}" if found else ""
