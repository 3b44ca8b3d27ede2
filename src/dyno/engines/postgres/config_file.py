"""A user's postgresql.conf, and the settings of a server that runs already, for one that is to run
like it.

The file is read here, with what it includes: the program reads no file of root's, and names no
setting but those that it refuses. It then judges all of them (`postgres -C`) without any data, and
says to which group each belongs (`--describe-config`).

Remarks before a run name idle keys and bare numbers' units. A number without a unit counts in the
setting's own (`pg_settings.unit`): pages of 8 kB, kB, ms. No table of these is kept: the server's
program gets a known size or time for the setting, and says how many of its units that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dyno import numbers, scratch
from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines._configs import OFF, ConfigOption, Idle, find_idle_keys, is_beyond_host
from dyno.engines._packaged import STOCK, VENDORS, list_packaged_remarks
from dyno.engines._server import libraries, process
from dyno.engines.postgres.settings import (
    OURS,
    TABLE,
    UNTOUCHABLE,
    choose_settings,
    has_compiler,
    quote_value,
)
from dyno.errors import TrialFailed, UsageError

_VALUE = r"'(?:[^'\\]|\\.|'')*'|[^\s'#]+"
_LINE = re.compile(rf"\s*(?:(?P<name>\w+(?:\.\w+)?)(?:\s*=\s*|\s+)(?P<value>{_VALUE})\s*)?(?:#.*)?")
_INCLUDES = ("include", "include_if_exists", "include_dir")
#: How deep files may include others, as the server has it.
DEEPEST = 10
#: Groups of settings that a private server on this host cannot have as the user's has them.
HELD = {
    "File Locations": "a path",
    "Connections and Authentication": "connections",
    "Replication": "replication",
    "Reporting and Logging": "logs",
    "Write-Ahead Log / Arch": "replication",
    "Write-Ahead Log / Recovery Target": "replication",
    "Client Connection Defaults / Shared Library Preloading": "libraries",
}
#: Of those groups these are applied; and of others these are not, by name.
APPLIED = ("max_connections", "password_encryption")
OF_HOST = {"huge_pages": "memory beyond this host's", "default_tablespace": "a path"}
OF_HOST |= {"temp_tablespaces": "a path", "shared_memory_type": "the server's process"}
_WORDS = re.compile(r"\b(LOG|WARNING|ERROR|FATAL):  (.*)$", re.MULTILINE)
_NAMED = re.compile(r'parameter "([^"]+)"')
#: The unit of shared_buffers.
PAGE_BYTES = 8192


def read_options(build: Build, file: Path) -> list[ConfigOption]:
    """Every setting of the file and of those that it includes, judged; the last of each name."""
    given = dict(_read_settings(file, 0))
    words = _judge_all(build, dict(given))
    more = libraries.build_environment(build.libraries)
    told = process.ask_program([str(build.program), "--describe-config"], more)
    rows = [line.split("\t") for line in told.splitlines()]
    groups = {row[0].lower(): row[2] for row in rows if len(row) > 2}
    options = []
    for name, value in given.items():
        refused, warned = words.get(name, ("", ""))
        held = _find_reason(name, value, groups.get(name, ""))
        if name == "shared_buffers" and not refused:
            pages = _ask(build, {name: value}, name).split()[-1]
            held = "memory beyond this host's" if is_beyond_host(int(pages) * PAGE_BYTES) else ""
        options.append(ConfigOption(name, value, refused, warned, held))
    return options


def _read_settings(file: Path, depth: int) -> Iterator[tuple[str, str]]:
    """Names in lower case with their values, in order; `UsageError` with the line for any other."""
    if depth > DEEPEST:
        raise UsageError(f"{file} is included too deep", hint="a file may include itself")
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as refused:
        cause = getattr(refused, "strerror", None) or "it is not text"
        raise UsageError(f"cannot read {file}", cause=cause) from None
    for number, line in enumerate(lines, 1):
        found = _LINE.fullmatch(line)
        if found is None:
            cause = f"line {number} is not a setting: {line.strip()[:60]}"
            raise UsageError(f"cannot read {file}", cause=cause)
        if found["name"] is None:
            continue
        name, value = found["name"].lower(), _strip_quotes(found["value"])
        if name not in _INCLUDES:
            yield name, value
            continue
        beside = file.absolute().parent / value
        if name == "include_dir":
            if not beside.is_dir():
                raise UsageError(f"cannot read {beside}", cause=f"line {number} of {file} names it")
            files = sorted(it for it in beside.glob("*.conf") if it.name[0] != ".")
        else:
            files = [beside] if name == "include" or beside.exists() else []
        for each in files:
            yield from _read_settings(each, depth + 1)


def _strip_quotes(text: str) -> str:
    if text[:1] != "'":
        return text
    return re.sub(r"''|\\(.)", lambda it: it[1] or "'", text[1:-1])


def _judge_all(build: Build, left: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return by name what the program refuses, and what it remarks; it judges values only once it
    knows every name, so it is asked until it takes the rest.
    """
    words = dict[str, tuple[str, str]]()
    while left:
        try:
            said, refuses = _ask(build, left, "port"), False
        except TrialFailed as failed:
            said, refuses = failed.cause, True
        found = {
            it[1].lower(): text for _, text in _WORDS.findall(said) if (it := _NAMED.search(text))
        }
        for name in found.keys() & left.keys():
            text = re.sub(r' in file ".*', "", found[name])
            words[name] = (text, "") if refuses else ("", text)
        if not refuses:
            break
        if not found.keys() & left.keys():
            hint = "leave --config out, or what it names"
            raise UsageError(
                f"postgres {build.version} refuses the settings", cause=said.strip(), hint=hint
            )
        left = {name: value for name, value in left.items() if name not in found}
    return words


def _ask(build: Build, settings: Mapping[str, str], name: str) -> str:
    """What the program says when it reads a file of these settings, and how it holds one."""
    with scratch.make_folder("ask") as folder:
        file = folder / "asked.conf"
        file.write_text(_format_lines(settings))
        asked = ["-D", str(folder), "-c", f"config_file={file}", "-C", name]
        more = libraries.build_environment(build.libraries)
        return process.run_tool([str(build.program), *asked], folder, more=more)


def _find_reason(name: str, value: str, group: str) -> str:
    """Return what a setting that is not applied belongs to, or ""."""
    if name in APPLIED:
        return ""
    if "." in name:
        return "an extension"
    found = (reason for of, reason in HELD.items() if group.startswith(of))
    return OF_HOST.get(name) or next(found, "") or ("a path" if value.startswith("/") else "")


def format_file(options: Sequence[ConfigOption]) -> str:
    return _format_lines({it.name: it.value or "" for it in options})


def _format_lines(settings: Mapping[str, str]) -> str:
    return "".join(f"{name} = {quote_value(value)}\n" for name, value in settings.items())


#: Groups of settings that decide how fast it is: also what it logs and counts, but not where.
#: Left out are those of connections and identity, of replication, archives and clients: they belong
#: to the place where it runs.
GROUPS = (
    "Autovacuum",
    "Lock Management",
    "Query Tuning",
    "Reporting and Logging / What to Log",
    "Reporting and Logging / When to Log",
    "Resource Usage",
    "Statistics",
    "Vacuuming",
    "Write-Ahead Log / Checkpoints",
    "Write-Ahead Log / Settings",
)
#: Where a value was set; our own connection's (client, session) are none.
SET_BY = ("configuration file", "command line", "global", "database", "user", "database user")
ASKED = (
    "SELECT name, current_setting(name, true), source, category FROM pg_settings "
    "WHERE context <> 'internal' OR name = 'data_checksums' ORDER BY name"
)


def liken_settings(ask: Ask, running: Session, build: Build) -> dict[str, str]:
    """Return what was set in the running server, and what it has where our profiles have a value:
    the settings that `build` knows, over PostgreSQL's own defaults.
    """
    more = libraries.build_environment(build.libraries)
    told = process.ask_program([str(build.program), "--describe-config"], more)
    known = {*OURS, *re.findall(r"^\w+", told, re.M)} - UNTOUCHABLE
    found = {
        str(name): value or ""
        for name, value, source, group in ask(running, [ASKED])[0]
        if name in TABLE
        or name == "data_checksums"
        or (source in SET_BY and str(group).startswith(GROUPS))
    }
    return {"profile": STOCK} | {name: value for name, value in found.items() if name in known}


#: From PostgreSQL's documentation of each setting.
IDLE = (
    Idle("autovacuum_.*", "autovacuum", OFF),
    Idle("commit_delay|commit_siblings", "synchronous_commit", OFF),
    Idle("commit_delay|commit_siblings|wal_sync_method", "fsync", OFF),
    Idle("commit_siblings", "commit_delay", ("0",)),
    Idle("wal_compression", "full_page_writes", OFF),
    Idle("max_parallel_workers", "max_parallel_workers_per_gather", ("0",)),
    Idle("max_parallel_workers_per_gather", "max_parallel_workers", ("0",)),
    Idle("parallel_.*|min_parallel_.*", "max_parallel_workers_per_gather", ("0",)),
    Idle("jit_.*", "jit", OFF),
    Idle("bgwriter_lru_multiplier", "bgwriter_lru_maxpages", ("0",)),
    Idle("huge_page_size", "huge_pages", OFF),
    Idle("io_workers|io_min_workers|io_max_workers", "io_method", ("sync", "io_uring")),
)
#: The server's own values of what stands on a right side above and in no profile.
DEFAULTS = {"commit_delay": "0"}
#: A size and a time that any setting in such units takes, in bytes and in microseconds.
SIZE, SIZE_BYTES = "8MB", 8 << 20
TIME, TIME_US = "1h", 3_600_000_000


def list_remarks(build: Build, settings: Mapping[str, str], major: int) -> Iterator[str]:
    """A clause for each key that can have no effect, and for each bare number that has a unit."""
    own = {name: value for name, value in settings.items() if name not in OURS}
    yield from find_idle_keys(own, DEFAULTS | choose_settings(settings, major), IDLE)
    yield from list_packaged_remarks("postgres", str(major), settings)
    if settings.get("profile") in VENDORS and major >= 12 and not has_compiler(build):
        yield "jit is on by default, without effect: this build cannot compile expressions"
    for name, value in own.items():
        if value.isdecimal() and int(value) > 0 and (unit := _find_unit(build, name)):
            per, kind = unit
            size = numbers.format_quantity(int(value) * per, kind)
            yield f"{name}={value} is {size}, as it has no unit"


def _find_unit(build: Build, name: str) -> tuple[float, str] | None:
    """What 1 of a setting is, in bytes or microseconds; None where it has no unit."""
    for known, amount, kind in ((SIZE, SIZE_BYTES, "B"), (TIME, TIME_US, "us")):
        counted = _read_value(build, name, known)
        if counted.isdecimal() and int(counted) > 0:
            return amount / int(counted), kind
    return None


def _read_value(build: Build, name: str, value: str) -> str:
    """How the server's program holds `value`; empty where it does not take it."""
    with scratch.make_folder("ask") as folder:
        words = [str(build.program), "-D", str(folder), "-c", f"config_file={folder / 'none.conf'}"]
        (folder / "none.conf").write_text("")
        try:
            more = libraries.build_environment(build.libraries)
            asked = [*words, "-c", f"{name}={value}", "-C", name]
            said = process.run_tool(asked, folder, more=more).split()
        except TrialFailed:
            return ""
    return said[-1] if said else ""  # its log goes before
