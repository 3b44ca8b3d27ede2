"""`hosts.toml`: the hosts that are reached by ssh, each under `[[host]]`.

    [[host]]
    name = "db1"                        names its records
    address = "10.0.0.11"               default: the name
    user = "bench"                      default: ssh's own
    port = 22                           default: ssh's own
    dyno = "~/venv/bin/dyno"            how dyno is called there; default: dyno
    options = ["-i", "keys/fleet"]      further options of ssh
    group = "rack-a"                    a word for hosts that are alike

`dyno` is read by the host's shell, so it may hold `env NAME=VALUE` before the path.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyno.compare.experiment.toml_file import TomlTable
from dyno.compare.fleet import FleetHost
from dyno.errors import UsageError

_KEYS = ("name", "address", "user", "port", "dyno", "options", "group")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True)
class ListedHost(FleetHost):
    """A host of the file; `port` is 0 where ssh's own configuration says."""

    user: str = ""
    port: int = 0
    dyno: str = "dyno"
    options: tuple[str, ...] = field(default=())


def read_hosts(file: Path) -> list[ListedHost]:
    """The hosts; `UsageError` with file and line where one is wrong."""
    try:
        text = file.read_text(encoding="utf-8")
        top = TomlTable(file, text, tomllib.loads(text))
    except FileNotFoundError:
        raise UsageError(f"there is no file of hosts {file}", hint="ssh:FILE names it") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read", cause=(error.strerror or "").lower()) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not TOML", cause=error) from error
    top.allow_only(("host",))
    tables = _split_tables(top)
    hosts = [_read_host(table) for table in tables]
    if not hosts:
        raise top.locate_error("host", UsageError("no hosts", hint='[[host]] and name = "…"'))
    _refuse_twice(tables, hosts)
    return hosts


def _split_tables(top: TomlTable) -> list[TomlTable]:
    """The tables under `[[host]]`, each with its own lines only: an error names the line there."""
    tables, lines = top.read_tables("host"), top.text.splitlines()
    begins = [at for at, line in enumerate(lines) if re.match(r"\s*\[\[\s*host\s*\]\]", line)]
    if not tables or len(begins) != len(tables):  # written in another way, as host = [{…}]
        return tables
    ends = [*begins[1:], len(lines)]
    return [
        replace(table, text="\n" * begin + "\n".join(lines[begin:end]))
        for table, begin, end in zip(tables, begins, ends, strict=True)
    ]


def _read_host(table: TomlTable) -> ListedHost:
    table.allow_only(_KEYS)
    texts = {key: _read_text(table, key) for key in _KEYS if key not in ("port", "options")}
    name = texts["name"]
    if not _NAME.fullmatch(name):
        hint = "letters, digits, dots, dashes and underscores: it names files"
        cause = f"'{name}'" if name else "it has none"
        raise table.locate_error(
            name or "host", UsageError("a host's name", cause=cause, hint=hint)
        )
    for key in ("address", "user"):
        if texts[key].startswith("-") or re.search(r"\s", texts[key]):
            raise table.locate_error(key, UsageError(f"'{key}' is not one of ssh's"))
    port = table.get("port", int) or 0
    if "port" in table.data and not 0 < port < 65536:
        raise table.locate_error("port", UsageError(f"the port is out of range (got {port})"))
    options = table.get("options", list) or []
    if not all(isinstance(word, str) for word in options):
        raise table.locate_error("options", UsageError("'options' are words in quotes"))
    return ListedHost(
        name,
        texts["address"] or name,
        texts["group"],
        texts["user"],
        port,
        texts["dyno"] or "dyno",
        tuple(options),
    )


def _read_text(table: TomlTable, key: str) -> str:
    text = table.get(key, str) or ""
    if "\n" in text or "\0" in text:
        raise table.locate_error(key, UsageError(f"'{key}' must be one line"))
    return str(text)


def _refuse_twice(tables: list[TomlTable], hosts: list[ListedHost]) -> None:
    seen: dict[object, str] = {}
    for table, host in zip(tables, hosts, strict=True):
        for word, what in ((host.name, host.name), (host.address, (host.address, host.port))):
            if what in seen:
                error = UsageError(f"'{host.name}' is the same host as '{seen[what]}'")
                raise table.locate_error(word, error)
        seen |= {host.name: host.name, (host.address, host.port): host.name}
