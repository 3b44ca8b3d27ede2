"""Parses and rewrites statements of MySQL and MariaDB that set a session or bound a transaction.

What is written is of known words and plain values. A transaction is always begun READ ONLY, since
all that is played in it reads. A text reaches the server in UTF-8, so no other character set of the
client's is set: in some a backslash is half a letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby

from dyno.sql.lexing import Token
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import Allowed, Judgement, RefusedStatement, spell


def _split_words(text: str) -> list[str]:
    return text.split()


_NAME = r"(?:\w+|`\w+`)"
_TEXT = r"""(?:'[\w ,.:+/\-]*'|"[\w ,.:+/\-]*")"""
_VALUE = rf"(?:(?:- ?)?\d[\d.]*|\w+|{_TEXT})"
_SWITCH = r"""(?:on|off|true|false|[01]|'(?:on|off)')"""
_UTF8 = r"""['"]?utf8(?:mb[34])?['"]?"""
_COLLATION = r"""['"]?utf8\w*['"]?"""
_NUMBER = r"\d[\d.]*"
_CHARACTERS = r"""(?:null|['"]?\w+['"]?)"""
_LEVEL = r"""(?:'?(?:read-uncommitted|read-committed|repeatable-read|serializable)'?)"""

#: Settings that change how the session's own reads are planned, spelled or ended, and nothing else;
#: with the values that are taken. A limit on a statement's time is Dyno's own.
SETTINGS: dict[str, str] = {
    **dict.fromkeys(
        [
            "autocommit",
            "big_tables",
            "foreign_key_checks",
            "keep_files_on_create",
            "sql_auto_is_null",
            "sql_big_selects",
            "sql_buffer_result",
            "sql_notes",
            "sql_quote_show_create",
            "sql_safe_updates",
            "sql_warnings",
            "unique_checks",
        ],
        _SWITCH,
    ),
    **dict.fromkeys(
        [
            "default_week_format",
            "div_precision_increment",
            "eq_range_index_dive_limit",
            "group_concat_max_len",
            "innodb_lock_wait_timeout",
            "insert_id",
            "interactive_timeout",
            "last_insert_id",
            "lock_wait_timeout",
            "max_join_size",
            "max_length_for_sort_data",
            "max_seeks_for_key",
            "max_sort_length",
            "net_read_timeout",
            "net_write_timeout",
            "optimizer_prune_level",
            "optimizer_search_depth",
            "rand_seed1",
            "rand_seed2",
            "sql_select_limit",
            "timestamp",
            "wait_timeout",
        ],
        _NUMBER,
    ),
    **dict.fromkeys(
        ("lc_time_names", "optimizer_switch", "time_zone"), _VALUE.replace("+/", "+=/")
    ),
    **dict.fromkeys(("character_set_results", "character_set_connection"), _CHARACTERS),
    **dict.fromkeys(("transaction_isolation", "tx_isolation"), _LEVEL),
    **dict.fromkeys(("transaction_read_only", "tx_read_only"), "(?:1|on|true)"),
    "collation_connection": _COLLATION,
    "query_cache_type": r"(?:on|off|demand|[012])",
}
#: Words of `sql_mode` under which a text is read alike, but for the two of `_READING`.
MODES = frozenset(
    [
        "allow_invalid_dates",
        "empty_string_is_null",
        "error_for_division_by_zero",
        "high_not_precedence",
        "ignore_bad_table_options",
        "ignore_space",
        "no_auto_create_user",
        "no_auto_value_on_zero",
        "no_dir_in_create",
        "no_engine_substitution",
        "no_field_options",
        "no_key_options",
        "no_table_options",
        "no_unsigned_subtraction",
        "no_zero_date",
        "no_zero_in_date",
        "only_full_group_by",
        "pad_char_to_full_length",
        "pipes_as_concat",
        "real_as_float",
        "simultaneous_assignment",
        "strict_all_tables",
        "strict_trans_tables",
        "time_round_fractional",
        "time_truncate_fractional",
        "traditional",
        "ansi_quotes",
        "no_backslash_escapes",
    ]
)
_ASSIGNED = re.compile(
    rf"(?:(?:SESSION |LOCAL |@@(?:SESSION\.|LOCAL\.)?)?(?P<name>\w+)|(?P<own>@\w+)) (?:= |: = )"
    rf"(?P<value>{_VALUE.replace('+/', '+=/')})",
    re.IGNORECASE,
)


def find_quoting(sql_mode: str) -> Quoting | None:
    """How a text is read under a value of `sql_mode`; None where that is not known."""
    modes = {word.strip().lower() for word in sql_mode.split(",") if word.strip()}
    if not modes <= MODES:
        return None
    return Quoting(False, "no_backslash_escapes" not in modes, "ansi_quotes" in modes)


def judge_session_words(tokens: Sequence[Token]) -> Judgement | None:
    verb = tokens[0].word
    if verb == "set":
        return _read_set(tokens) or RefusedStatement("with SET that is not known to be harmless")
    written = _VERBS.get(verb)
    if written is None:
        return None
    text = written(spell(tokens, "`"))
    return Allowed(text) if text else RefusedStatement(f"with {verb.upper()} that is not known")


def _begin(text: str) -> str:
    if re.fullmatch(r"BEGIN(?: WORK)?", text, re.IGNORECASE):
        return "START TRANSACTION READ ONLY"
    mode = r"(?:WITH CONSISTENT SNAPSHOT|READ ONLY|READ WRITE)"
    if not re.fullmatch(rf"START TRANSACTION(?: {mode}(?: , {mode})*)?", text, re.IGNORECASE):
        return ""
    snapshot = "WITH CONSISTENT SNAPSHOT, " if "SNAPSHOT" in text.upper() else ""
    return f"START TRANSACTION {snapshot}READ ONLY"


def _read_end(text: str) -> str:
    back = re.fullmatch(rf"ROLLBACK(?: WORK)? TO (?:SAVEPOINT )?({_NAME})", text, re.IGNORECASE)
    if back is not None:
        return f"ROLLBACK TO SAVEPOINT {back[1]}"
    form = r"(COMMIT|ROLLBACK)(?: WORK)?( AND(?: NO)? CHAIN)?(?: NO RELEASE)?"
    found = re.fullmatch(form, text, re.IGNORECASE)
    return (found[1] + (found[2] or "")).upper() if found else ""


def _read_savepoint(text: str) -> str:
    form = rf"(?:SAVEPOINT|RELEASE SAVEPOINT) {_NAME}"
    return text if re.fullmatch(form, text, re.IGNORECASE) else ""


def _read_use(text: str) -> str:
    found = re.fullmatch(r"USE (?:(\w+)|`([^`]+)`)", text, re.IGNORECASE)
    return f"USE `{found[1] or found[2]}`" if found else ""


_VERBS: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("begin", "start"), _begin),
    **dict.fromkeys(("commit", "rollback"), _read_end),
    **dict.fromkeys(("savepoint", "release"), _read_savepoint),
    "use": _read_use,
}


def _read_set(tokens: Sequence[Token]) -> Judgement | None:
    """All assignments of a SET, or nothing of it."""
    text = spell(tokens[1:], "`")
    level = r"ISOLATION LEVEL (?:READ UNCOMMITTED|READ COMMITTED|REPEATABLE READ|SERIALIZABLE)"
    form = rf"(?:SESSION |LOCAL )?TRANSACTION (?:{level}(?: , READ ONLY)?|READ ONLY)"
    if re.fullmatch(form, text, re.IGNORECASE):
        return Allowed(f"SET {text}")
    groups = groupby(tokens[1:], key=lambda it: it.mark == ",")
    assigned = [
        _read_assignment(spell(list(each), "`")) for is_comma, each in groups if not is_comma
    ]
    if not assigned or None in assigned:
        return None
    written = [it for it in assigned if it is not None]
    readings = [it.reading for it in written if it.reading is not None]
    words = ", ".join(it.text for it in written)
    return Allowed(f"SET {words}", reading=readings[-1] if readings else None)


def _read_assignment(text: str) -> Allowed | None:
    names = rf"NAMES ({_UTF8})(?: COLLATE ({_COLLATION}))?"
    if found := re.fullmatch(names, text, re.IGNORECASE):
        collation = f" COLLATE {found[2]}" if found[2] else ""
        return Allowed(f"NAMES {found[1]}{collation}")
    found = _ASSIGNED.fullmatch(text)
    if found is None:
        return None
    if found["own"]:
        is_plain = re.fullmatch(rf"(?:(?:- ?)?{_NUMBER}|null|{_TEXT})", found["value"], re.I)
        return Allowed(f"{found['own']} = {found['value']}") if is_plain else None
    name, value = found["name"].lower(), found["value"]
    if name == "sql_mode":
        if value.lower() == "default":
            return Allowed("SESSION sql_mode = DEFAULT")
        if value[:1] not in "'\"" or (reading := find_quoting(value.strip("'\""))) is None:
            return None
        return Allowed(f"SESSION sql_mode = '{value.strip(chr(39) + chr(34))}'", reading=reading)
    taken = SETTINGS.get(name)
    is_default = value.lower() == "default" and name not in (
        "transaction_read_only",
        "tx_read_only",
    )
    if taken is None or not (is_default or re.fullmatch(taken, value, re.IGNORECASE)):
        return None
    return Allowed(f"SESSION {name} = {value}")
