"""Which client hosts are meant: `ssh:HOST,HOST…`, or a TOML file with a `[[host]]` for each.

A host is reached by the system's `ssh` (`ssh = "user@db-client-1"`, `options = ["-p", "2222"]`), or
by a command that stands before a program's words (`command = ["ip", "netns", "exec", "c1"]`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dyno.errors import UsageError, build_unknown_error
from dyno.record.clients import ClientHost

SSH = "ssh:"
KEYS = ("name", "command", "ssh", "options", "driver")
#: More hosts than that are a mistake, and more drivers than most servers have cores.
HOSTS_MOST = 256
_HINT = 'a file with [[host]] and command = ["ip", "netns", "exec", "c1"], or ssh:HOST,HOST'


def read_client_hosts(words: object) -> tuple[ClientHost, ...]:
    """The hosts of an option's words, or of the tables or words of an experiment's `client_hosts`;
    `UsageError` for what is neither.
    """
    if isinstance(words, str):
        return parse_client_hosts(words)
    return read_host_tables(words, "client_hosts")


def parse_client_hosts(text: str) -> tuple[ClientHost, ...]:
    """The hosts of `ssh:HOST,…` or of a TOML file; `UsageError` for what is neither."""
    if text.startswith(SSH):
        names = [name.strip() for name in text.removeprefix(SSH).split(",")]
        return _check_hosts([{"ssh": name} for name in names], text)
    file = Path(text)
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot read the client hosts '{text}'", cause=cause, hint=_HINT
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{text} is not TOML", cause=error, hint=_HINT) from None
    if unknown := tables.keys() - {"host"}:
        raise build_unknown_error("key", sorted(unknown)[0], ["host"])
    return read_host_tables(tables.get("host"), text)


def read_host_tables(tables: object, place: str) -> tuple[ClientHost, ...]:
    """The hosts of a list of tables, as TOML gives it; `place` is where they stand."""
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise UsageError(f"{place} has no list of client hosts", hint=_HINT)
    return _check_hosts(tables, place)


def _check_hosts(tables: Sequence[Mapping[str, Any]], place: str) -> tuple[ClientHost, ...]:
    hosts = tuple(_read_host(each, place) for each in tables)
    if not 1 <= len(hosts) <= HOSTS_MOST:
        message = f"{place} names {len(hosts)} client hosts"
        raise UsageError(message, hint=f"1 to {HOSTS_MOST}")
    names = [host.name for host in hosts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        hint = "one driver plays as many users as its host can; two on one host need two names"
        raise UsageError(f"client host '{twice[0]}' is named twice in {place}", hint=hint)
    return hosts


def _read_host(table: Mapping[str, Any], place: str) -> ClientHost:
    for key in table:
        if key not in KEYS:
            raise build_unknown_error("key of a client host", key, KEYS)
    ssh = table.get("ssh", "")
    texts = [table.get("name", ssh), ssh, table.get("driver", "")]
    words, options = _read_words(table, "command"), _read_words(table, "options")
    if not all(isinstance(each, str) for each in (*texts, *words)) or bool(words) == bool(ssh):
        message = f"a client host in {place} has neither one 'ssh' nor one 'command'"
        raise UsageError(message, hint=_HINT)
    name, ssh, driver = texts
    if options and not (ssh and all(isinstance(each, str) for each in options)):
        message = f"the 'options' of client host {name} in {place} are not words for its 'ssh'"
        raise UsageError(message, hint='options = ["-p", "2222", "-i", "keys/bench"]')
    if not name or not name.isprintable() or ssh.startswith("-") or not all(words):
        message = f"a client host in {place} has no usable name"
        raise UsageError(message, cause=repr(name), hint='name = "c1"')
    ways = {"command": tuple(words), "ssh": ssh, "options": tuple(options), "driver": driver}
    return replace(ClientHost(name), **ways)


def _read_words(table: Mapping[str, Any], key: str) -> list[Any]:
    """A list of the table's; what is none is a list of nothing that could be a word."""
    words = table.get(key, [])
    return words if isinstance(words, list) else [None]
