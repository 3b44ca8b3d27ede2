"""Variables that are lists of options, `optimizer_switch` and `sql_mode` among them: each option by
itself, set without the rest being typed, and compared between servers.

Two forms (MySQL 8.0 reference manual, "Server System Variables"; MariaDB's "System Variables"): of
*flags* each is named with its value (`mrr=on,icp=off`), of a *set* those that are on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dyno.errors import TrialFailed, UsageError, build_unknown_error
from dyno.servers.kit.server import KitServer, extract_words

FLAGS = re.compile(r"\w+=\w+(?:,\w+=\w+)+")
#: Variables that are sets, and by what their options are apart. Positional lists are none.
SETS = {
    **dict.fromkeys(
        ("sql_mode", "old_mode", "log_output", "tls_version", "admin_tls_version"), ","
    ),
    **dict.fromkeys(("slave_type_conversions", "replica_type_conversions"), ","),
    **dict.fromkeys(("slave_rows_search_algorithms", "disabled_storage_engines"), ","),
    **dict.fromkeys(("log_slow_filter", "log_slow_verbosity", "log_disabled_statements"), ","),
    **dict.fromkeys(("myisam_recover_options", "protocol_compression_algorithms"), ","),
    **dict.fromkeys(("note_verbosity", "slave_skip_errors", "replica_skip_errors"), ","),
    **dict.fromkeys(("ssl_cipher", "tls_ciphersuites", "admin_tls_ciphersuites"), ":"),
}
ON, OFF = "on", "off"
#: How sets say that nothing is on.
NOTHING = {"", "OFF", "NONE"}
NAME = re.compile(r"[\w.-]+")
RIGHTS = "SYSTEM_VARIABLES_ADMIN (before MySQL 8.0, SUPER)"

#: The options of each list variable, with their values.
Options = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Difference:
    """An option that differs between two servers; None if one does not know it."""

    variable: str
    option: str
    first: str | None
    second: str | None


def parse_options(variables: Mapping[str, str]) -> Options:
    """Take every list variable apart. Of a set the options that are on are known."""
    found: Options = {}
    for name, value in sorted(variables.items()):
        if FLAGS.fullmatch(value):
            found[name] = dict(pair.split("=", 1) for pair in value.split(","))
        elif name in SETS:
            listed = (it.strip() for it in value.split(SETS[name]))
            found[name] = {it: ON for it in listed if it not in NOTHING}
    return found


def read(server: KitServer) -> Options:
    rows = server.query("SHOW GLOBAL VARIABLES")
    return parse_options({str(name).lower(): value or "" for name, value in rows})


def find_differences(first: Options, second: Options) -> list[Difference]:
    """Return what differs. An option that only one's set has is off in the other, if that has the
    variable at all.
    """
    found = []
    for variable in sorted(first.keys() | second.keys()):
        sides = first.get(variable), second.get(variable)
        missing = OFF if variable in SETS else None
        for option in sorted({name for side in sides for name in side or ()}):
            a, b = (None if side is None else side.get(option, missing) for side in sides)
            if a != b:
                found.append(Difference(variable, option, a, b))
    return found


def set_option(server: KitServer, variable: str, option: str, value: str, *, persist: bool) -> None:
    """Set one option for all sessions to come, and with `persist` past a restart.

    `UsageError` if the server does not know it, a right is missing, or it did not change: in
    `sql_mode` some options stand for several, and bring those back.
    """
    known = read(server)
    if variable not in known:
        raise build_unknown_error("list variable", variable, known)
    if not NAME.fullmatch(option) or not NAME.fullmatch(value):
        raise UsageError(
            f"'{option}={value}' is not an option", hint="write OPTION VALUE, for instance mrr off"
        )
    if persist and (server.is_mariadb or server.number < (8, 0)):
        raise UsageError(
            f"{server.version} cannot keep a variable past a restart",
            hint="write it into the server's settings file too",
        )
    scope = "PERSIST" if persist else "GLOBAL"
    try:
        server.query(
            f"SET {scope} {variable} = '{_format_setting(known, variable, option, value)}'"
        )
    except TrialFailed as refused:
        raise UsageError(
            f"cannot set {variable}",
            cause=extract_words(refused),
            hint=f"dyno options show names those that it has; it takes {RIGHTS}",
        ) from refused
    _check(read(server)[variable], variable, option, value)


def _format_setting(known: Options, variable: str, option: str, value: str) -> str:
    """Return what to set the variable to; of flags the server takes one alone."""
    if variable not in SETS:
        return f"{option}={value}"
    if value not in (ON, OFF):
        raise build_unknown_error("value of an option of a set", value, (ON, OFF))
    kept = [it for it in known[variable] if it.lower() != option.lower()]
    return SETS[variable].join([*kept, option] if value == ON else kept)


def _check(now: Mapping[str, str], variable: str, option: str, value: str) -> None:
    if value == "default":
        return
    missing = OFF if variable in SETS else None
    found = {name.lower(): each for name, each in now.items()}.get(option.lower(), missing)
    if found != value:
        raise UsageError(
            f"{variable} still has {option}={found}",
            hint="another option implies it: set that one off first",
        )
