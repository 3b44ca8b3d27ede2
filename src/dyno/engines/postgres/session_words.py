"""Parses and rewrites PostgreSQL's statements that set a session or bound a transaction.

What is written is of known words and plain values. A transaction is always begun READ ONLY, since
all that is played in it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from dyno.sql.lexing import Token
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import Allowed, Judgement, RefusedStatement, spell


def _split_words(text: str) -> list[str]:
    return text.split()


_NAME = r'(?:[a-z_]\w*|"\w+")'
_MODES = re.compile(
    r"(?: ,)? ?(?:ISOLATION LEVEL (?P<level>SERIALIZABLE|REPEATABLE READ|READ COMMITTED"
    r"|READ UNCOMMITTED)|(?P<access>READ WRITE|READ ONLY)|(?P<deferrable>(?:NOT )?DEFERRABLE))",
    re.IGNORECASE,
)
#: A value as it may stand in SET: a number, a word, a plain text, several of these.
_ATOM = r"(?:- ?)?(?:\d[\d.]*|[a-z_]\w*|'[\w ,.:+/$\-]*')"
_VALUE = rf'(?:{_ATOM}|"[\w$]+")(?: , (?:{_ATOM}|"[\w$]+"))*'
_SWITCH = r"(?:on|off|true|false|yes|no|[01]|'(?:on|off|true|false)')"
_UTF8 = r"'?(?:utf-?8|unicode)'?"
_NUMBER = r"\d[\d.]*"

#: Settings that change how the session's own reads are planned, spelled or ended, and nothing else;
#: with the values that are taken.
SETTINGS: dict[str, str] = {
    **dict.fromkeys(
        [
            "application_name",
            "bytea_output",
            "client_min_messages",
            "constraint_exclusion",
            "datestyle",
            "default_text_search_config",
            "default_transaction_deferrable",
            "default_transaction_isolation",
            "intervalstyle",
            "lc_monetary",
            "lc_numeric",
            "lc_time",
            "plan_cache_mode",
            "search_path",
            "synchronous_commit",
            "timezone",
            "transaction_isolation",
            "xmlbinary",
            "xmloption",
        ],
        _VALUE,
    ),
    **dict.fromkeys(
        [
            "array_nulls",
            "enable_bitmapscan",
            "enable_gathermerge",
            "enable_hashagg",
            "enable_hashjoin",
            "enable_incremental_sort",
            "enable_indexonlyscan",
            "enable_indexscan",
            "enable_material",
            "enable_memoize",
            "enable_mergejoin",
            "enable_nestloop",
            "enable_parallel_append",
            "enable_parallel_hash",
            "enable_partition_pruning",
            "enable_partitionwise_aggregate",
            "enable_partitionwise_join",
            "enable_seqscan",
            "enable_sort",
            "enable_tidscan",
            "escape_string_warning",
            "geqo",
            "jit",
            "parallel_leader_participation",
            "quote_all_identifiers",
            "row_security",
            "synchronize_seqscans",
            "standard_conforming_strings",
            "transform_null_equals",
        ],
        _SWITCH,
    ),
    **dict.fromkeys(
        [
            "cpu_index_tuple_cost",
            "cpu_operator_cost",
            "cpu_tuple_cost",
            "cursor_tuple_fraction",
            "effective_io_concurrency",
            "extra_float_digits",
            "from_collapse_limit",
            "geqo_threshold",
            "jit_above_cost",
            "join_collapse_limit",
            "max_parallel_workers_per_gather",
            "parallel_setup_cost",
            "parallel_tuple_cost",
            "random_page_cost",
            "seq_page_cost",
        ],
        rf"-? ?{_NUMBER}",
    ),
    "default_transaction_read_only": "(?:on|true|1)",
    "transaction_read_only": "(?:on|true|1)",
    "client_encoding": _UTF8,
    # a log may not take the server's memory: 1 GB at the most
    "work_mem": r"(?:\d{1,7}|'\d{1,7} ?kB'|'\d{1,4} ?MB'|'1 ?GB')",
    "lock_timeout": r"(?:[1-9]\d*|'[1-9]\d* ?(?:ms|s|min)')",
}
_SET = re.compile(
    rf"SET (?:(?P<scope>SESSION|LOCAL) )?(?:(?P<zone>TIME ZONE) |(?P<name>{_NAME}) (?:=|TO) )"
    rf"(?P<value>DEFAULT|LOCAL|{_VALUE})",
    re.IGNORECASE,
)


def judge_session_words(tokens: Sequence[Token]) -> Judgement | None:
    text = spell(tokens, '"')
    verb = tokens[0].word
    written = _VERBS.get(verb)
    if written is None:
        return None
    return written(text) or RefusedStatement(
        f"with {verb.upper()} that is not known to be harmless"
    )


def _begin(text: str) -> Judgement | None:
    head = re.match(r"(?:BEGIN(?: WORK| TRANSACTION)?|START TRANSACTION)(?= |$)", text, re.I)
    if head is None or (modes := _read_modes(text[head.end() :])) is None:
        return None
    return Allowed(f"BEGIN{modes} READ ONLY")


def _read_modes(text: str) -> str | None:
    """Return the modes of a transaction but for its access; None if they are not understood."""
    found, at = "", 0
    while at < len(text):
        mode = _MODES.match(text, at)
        if mode is None or mode.end() == at:
            return None
        if mode["level"]:
            found = f" ISOLATION LEVEL {mode['level'].upper()}"
        at = mode.end()
    return found


def _read_end(text: str) -> Judgement | None:
    if re.fullmatch(r"(?:ROLLBACK|ABORT)(?: WORK| TRANSACTION)? TO .*", text, re.I):
        found = re.search(rf" TO (?:SAVEPOINT )?({_NAME})$", text, re.IGNORECASE)
        return Allowed(f"ROLLBACK TO SAVEPOINT {found[1]}") if found else None
    form = r"(COMMIT|END|ROLLBACK|ABORT)(?: WORK| TRANSACTION)?( AND(?: NO)? CHAIN)?"
    found = re.fullmatch(form, text, re.IGNORECASE)
    if found is None:
        return None
    verb = "COMMIT" if found[1].upper() in ("COMMIT", "END") else "ROLLBACK"
    return Allowed(verb + (found[2] or "").upper())


def _read_savepoint(text: str) -> Judgement | None:
    found = re.fullmatch(rf"(?:SAVEPOINT|RELEASE(?: SAVEPOINT)?) {_NAME}", text, re.IGNORECASE)
    return Allowed(text) if found else None


def _read_set(text: str) -> Judgement | None:
    transaction = re.match(
        r"SET (SESSION CHARACTERISTICS AS )?TRANSACTION(?= )(?!.* READ WRITE)", text, re.IGNORECASE
    )
    if transaction is not None:
        level = _read_modes(text[transaction.end() :])
        scope = "SESSION CHARACTERISTICS AS " if transaction[1] else ""
        return Allowed(f"SET {scope}TRANSACTION{level}") if level else None
    if re.fullmatch(r"SET CONSTRAINTS ALL (?:DEFERRED|IMMEDIATE)", text, re.IGNORECASE):
        return Allowed(text)
    if re.fullmatch(rf"SET NAMES {_UTF8}", text, re.IGNORECASE):
        return Allowed("SET NAMES 'UTF8'")
    found = _SET.fullmatch(text)
    if found is None:
        return None
    name = "timezone" if found["zone"] else found["name"].strip('"').lower()
    taken, value = SETTINGS.get(name), found["value"]
    if taken is None or value.upper() == "LOCAL":
        return None
    if value.upper() == "DEFAULT":
        return _judge_default(name)
    if not re.fullmatch(taken, value, re.IGNORECASE):
        return None
    scope = f"{found['scope'].upper()} " if found["scope"] else ""
    reading = None
    if name == "standard_conforming_strings":
        escapes = value.strip("'").lower() in ("off", "false", "no", "0")
        reading = Quoting(True, escapes, names_in_double=True)
    return Allowed(f"SET {scope}{name} = {value}", reading=reading)


def _judge_default(name: str) -> Judgement:
    """Return the judgement of a reset: to what the server was asked for, and what the driver
    set.
    """
    return Allowed(f"RESET {name}", asks=True)


def _read_reset(text: str) -> Judgement | None:
    if re.fullmatch(r"RESET ALL", text, re.IGNORECASE):
        return Allowed("RESET ALL", asks=True)
    found = re.fullmatch(rf"RESET ({_NAME})", text, re.IGNORECASE)
    name = found[1].strip('"').lower() if found else ""
    return _judge_default(name) if name in SETTINGS else None


def _discard(text: str) -> Judgement | None:
    found = re.fullmatch(r"DISCARD (ALL|PLANS|SEQUENCES|TEMP|TEMPORARY)", text, re.IGNORECASE)
    return Allowed(f"DISCARD {found[1].upper()}", asks=True) if found else None


_VERBS: dict[str, Callable[[str], Judgement | None]] = {
    **dict.fromkeys(("begin", "start"), _begin),
    **dict.fromkeys(("commit", "end", "rollback", "abort"), _read_end),
    **dict.fromkeys(("savepoint", "release"), _read_savepoint),
    "set": _read_set,
    "reset": _read_reset,
    "discard": _discard,
}
