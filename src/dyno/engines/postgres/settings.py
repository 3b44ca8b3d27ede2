"""PostgreSQL's settings: the table of the profiles, and the configuration file made from it.

The table follows the insert benchmark's configurations for PostgreSQL (Small Datum, `cx9a2a`):
checkpoints far apart, commits that do not wait, no parallel query, a quick autovacuum. Its memory
is made for large hosts and data; ours for the sizes that workloads have by default. The file is
written, tried out on the server's program, and read back from the running server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dyno import scratch
from dyno.builds import Build
from dyno.engines import Ask, Server
from dyno.engines._builds import build_lacking_error
from dyno.engines._packaged import VENDORS, choose_packaged
from dyno.engines._server import libraries, process
from dyno.errors import TrialFailed, UsageError, build_unknown_error
from dyno.record.build_facts import ABILITIES, read_configured_abilities


@dataclass(frozen=True)
class SettingRow:
    """One setting: its value where the data are cached, where they are not, since which version."""

    cached: str
    io_bound: str
    meaning: str
    since: int = 0


def _make_same_row(value: str, meaning: str, since: int = 0) -> SettingRow:
    return SettingRow(value, value, meaning, since)


TABLE = {
    "shared_buffers": SettingRow("1GB", "64MB", "the server's own cache"),
    "huge_pages": _make_same_row("off", "pages of 2 MB for it"),
    "hash_mem_multiplier": _make_same_row(
        "2", "memory of a hash, in work_mem's; 15's, 1 before", 13
    ),
    "max_connections": _make_same_row("2000", "connections at most"),
    "synchronous_commit": _make_same_row("off", "a commit waits for its log to reach the disk"),
    "fsync": _make_same_row("on", "the log reaches the disk at all"),
    "full_page_writes": _make_same_row(
        "on", "a page's first change after a checkpoint logs all of it"
    ),
    "wal_compression": _make_same_row("off", "such pages are compressed"),
    "max_wal_size": _make_same_row("8GB", "log that starts a checkpoint"),
    "min_wal_size": _make_same_row("1GB", "log files kept to be written again"),
    "effective_io_concurrency": _make_same_row("16", "reads asked for ahead; 18's, 1 before"),
    "maintenance_io_concurrency": _make_same_row("16", "the same in vacuum; 18's, 10 before", 13),
    "checkpoint_timeout": _make_same_row("30min", "time that starts a checkpoint"),
    "checkpoint_completion_target": _make_same_row(
        "0.9", "share of that time a checkpoint may take"
    ),
    "bgwriter_delay": _make_same_row("100ms", "pause of the background writer"),
    "bgwriter_lru_maxpages": _make_same_row("2000", "pages it writes between two pauses"),
    "autovacuum": _make_same_row("on", "vacuum by itself"),
    "autovacuum_max_workers": _make_same_row("4", "its processes"),
    "autovacuum_naptime": _make_same_row("10s", "its pause"),
    "autovacuum_vacuum_cost_delay": _make_same_row("1ms", "its pause after each stretch of work"),
    "autovacuum_vacuum_cost_limit": _make_same_row("4000", "how long such a stretch is"),
    "vacuum_cost_page_miss": _make_same_row(
        "2", "what a page that is not cached adds; 14's, 10 before"
    ),
    "autovacuum_vacuum_scale_factor": _make_same_row("0.05", "share of rows changed that wakes it"),
    "autovacuum_vacuum_insert_scale_factor": _make_same_row(
        "0.05", "share of rows added that does", 13
    ),
    "autovacuum_work_mem": _make_same_row("256MB", "its memory"),
    "max_parallel_workers": _make_same_row("0", "processes that help with a query"),
    "max_parallel_workers_per_gather": _make_same_row("0", "at one place in its plan"),
    "jit": _make_same_row("off", "compile expressions", 11),
    "default_toast_compression": _make_same_row("pglz", "of long values; lz4 from 19 on", 14),
    "log_lock_waits": _make_same_row("off", "long waits in the log; on from 19 on"),
    "log_checkpoints": _make_same_row("on", "checkpoints in the log"),
}
#: Profile to the column that it takes, and what it claims of data and cache; vendors' have neither.
PROFILES = {"cached": "cached", "io-bound": "io_bound", "durable": "cached"} | dict.fromkeys(
    VENDORS, ""
)
CLAIMS = {"cached": "cached", "io-bound": "io-bound", "durable": "cached"} | dict.fromkeys(
    VENDORS, ""
)
#: What `durable` has otherwise: a commit waits until its log is on the disk.
DURABLE = {"synchronous_commit": "on"}

#: What is not the server's but ours; PostgreSQL's own settings follow from TABLE.
OURS = {
    "profile": (
        "cached",
        "cached, io-bound (which column of values the settings below have), durable (cached, and a "
        "commit waits for the disk), stock (PostgreSQL's own defaults, as initdb writes them, in "
        "place of all below) or packaged (these, and what a distribution's package sets)",
    ),
    "config": ("", "a postgresql.conf of your own, in place of a profile"),
    "data_checksums": (
        "off",
        "on or off: pages carry checksums; 18 has them by default, and so has profile=stock there",
    ),
}

#: The settings that a private server cannot do without.
HELD = {
    "listen_addresses": "''",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "logging_collector": "off",
    "log_destination": "'stderr'",
}
#: Not all of the server's names are in lower case.
CAPITALS = ("DateStyle", "IntervalStyle", "TimeZone")
UNTOUCHABLE = {*HELD, "unix_socket_directories", "data_directory", "config_file", "hba_file"}


def describe_options() -> dict[str, tuple[str, str]]:
    rows = {name: (row.cached, _describe_meaning(row)) for name, row in TABLE.items()}
    return OURS | rows


def _describe_meaning(row: SettingRow) -> str:
    other = f"; {row.io_bound} where io-bound" if row.io_bound != row.cached else ""
    since = f" (since {row.since})" if row.since else ""
    return row.meaning + other + since


def check_settings(settings: Mapping[str, str]) -> None:
    """Raise `UsageError` for what is wrong in any version."""
    for name in settings:
        _check_spelling(name)
    profile = settings.get("profile", "cached")
    if profile not in PROFILES:
        raise build_unknown_error("value of profile", profile, PROFILES)
    if settings.get("data_checksums", "off") not in ("on", "off"):
        raise build_unknown_error(
            "value of data_checksums", settings["data_checksums"], ("on", "off")
        )
    if "config" in settings and "profile" in settings:
        raise UsageError("config and profile cannot be combined", hint="leave one of them out")
    if "config" in settings and not Path(settings["config"]).expanduser().is_file():
        raise UsageError(f"there is no file {settings['config']}", hint="config names a file")
    if held := UNTOUCHABLE & set(settings):
        hint = "Dyno needs it for a private server"
        raise UsageError(f"{min(held)} cannot be set", hint=hint)


def _check_spelling(name: str) -> None:
    """A server takes a name in any case, and any name with a dot (it may be an extension's, which
    is not loaded yet); we read back, and compare, what is spelled as the server would.
    """
    spelled = next((it for it in CAPITALS if it.lower() == name.lower()), name.lower())
    if name != spelled:
        raise UsageError(f"unknown setting '{name}'", hint=f"did you mean {spelled}?")
    if not re.fullmatch(r"\w+", name):
        hint = "set what belongs to an extension in a file (config=FILE)"
        raise UsageError(f"'{name}' is not one of the server's own settings", hint=hint)


NO_COMPILER = "this build of postgres cannot compile expressions, so jit=on has no effect"
NO_COMPILER_HINT = "dyno engines list postgres names others; Debian's have it"
UNRECOGNISED = re.compile(r'unrecognized configuration parameter "([^"]+)"')
#: Every setting with its unit, and where its value comes from; how the program was compiled.
SETTINGS = "SELECT name, current_setting(name, true), source FROM pg_settings ORDER BY name"
BUILT = "SELECT 'built with ' || name, setting FROM pg_config WHERE name IN ('CFLAGS', 'CONFIGURE')"

CONFIGURED = "SELECT setting FROM pg_config WHERE name = 'CONFIGURE'"
#: Values that only a build with an ability takes.
NEEDS = {
    ("default_toast_compression", "lz4"): "LZ4",
    ("wal_compression", "lz4"): "LZ4",
    ("wal_compression", "zstd"): "ZSTD",
    ("io_method", "io_uring"): "io_uring",
    ("ssl", "on"): "TLS",
}


def choose_settings(settings: Mapping[str, str], major: int) -> dict[str, str]:
    """The server's settings that are asked for: those of the profile, and the user's on top."""
    own = {name: value for name, value in settings.items() if name not in OURS}
    profile = settings.get("profile", "cached")
    if "config" in settings or profile in VENDORS:
        return {**choose_packaged("postgres", str(major), settings), **own}
    rows = {name: row for name, row in TABLE.items() if row.since <= major}
    values = {name: str(getattr(row, PROFILES[profile])) for name, row in rows.items()}
    return values | (DURABLE if profile == "durable" else {}) | own


def format_settings_file(
    settings: Mapping[str, str], major: int, sockets: Path, data: Path | None = None
) -> str:
    """The text of the server's file; of two lines for a setting the last one holds. Stock is what
    `initdb` wrote beside the `data`: up to 14 the program's own shared_buffers are fewer.
    """
    lines = []
    if data and settings.get("profile") in VENDORS:
        lines.append((data / "postgresql.conf").read_text())
    if "config" in settings:
        lines.append(Path(settings["config"]).expanduser().read_text())
    lines += [
        f"{name} = {quote_value(value)}" for name, value in choose_settings(settings, major).items()
    ]
    lines += [f"{name} = {value}" for name, value in HELD.items()]
    lines.append(f"unix_socket_directories = {quote_value(str(sockets))}")
    return "\n".join(lines) + "\n"


def check_compiler(build: Build, settings: Mapping[str, str]) -> None:
    """Raise `UsageError` if expressions are to be compiled and the build has no compiler for
    them.
    """
    if settings.get("jit") == "on" and not has_compiler(build):
        raise UsageError(NO_COMPILER, cause="there is no llvmjit.so", hint=NO_COMPILER_HINT)


def has_compiler(build: Build) -> bool:
    return any(build.program.resolve().parents[1].rglob("llvmjit.so"))


def try_out(
    build: Build, settings: Mapping[str, str], major: int, others: Iterable[str] = ()
) -> None:
    """Raise `UsageError` with the server's own words if it refuses a setting or its value; for one
    that it has not, with the nearest of its own and of `others`.

    It reads its file before it looks for data, so none are needed.
    """
    try:
        read_held_value(build, settings, major, "port")
    except TrialFailed as refused:
        for setting, ability in NEEDS.items():
            if setting in settings.items() and setting[0] in refused.cause:
                raise build_lacking_error(build, "=".join(setting), ability) from None
        config = settings.get("config", "")
        raise _build_refused_error(refused.cause, build, config, others) from None


def read_held_value(build: Build, settings: Mapping[str, str], major: int, name: str) -> str:
    """How the server's program holds a setting under these, a number in the setting's own unit."""
    with scratch.make_folder("ask") as folder:
        (folder / "dyno.conf").write_text(format_settings_file(settings, major, folder))
        options = ["-D", str(folder), "-c", f"config_file={folder / 'dyno.conf'}", "-C", name]
        more = libraries.build_environment(build.libraries)
        said = process.run_tool([str(build.program), *options], folder, more=more).split()
    return said[-1] if said else ""  # its log goes before


def _build_refused_error(said: str, build: Build, config: str, others: Iterable[str]) -> UsageError:
    """The first of the server's complaints; where it lacks a setting, the nearest that it has."""
    if found := UNRECOGNISED.search(said):
        more = libraries.build_environment(build.libraries)
        told = process.ask_program([str(build.program), "--describe-config"], more)
        known = {*OURS, *re.findall(r"^\w+", told, re.M), *others}
        return build_unknown_error("setting of this postgres", found[1], known)
    complaints = (line.partition(":  ")[2] for line in said.splitlines())
    cause = next((line for line in complaints if "parameter" in line or "error" in line), "")
    hint = f"it stands in {config} or behind it" if config else "dyno show postgres lists them"
    return UsageError("postgres refuses its settings", cause=cause, hint=hint)


def quote_value(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def read_settings(ask: Ask, server: Server) -> dict[str, str]:
    """Every setting as the server reports it, with its source unless that is the default, and how
    the program was built.

    Paths below the home and the socket's folder are left out: they differ from trial to trial.
    `TrialFailed` where a
    setting asked for does not come from our file: the server has checked the file's values itself;
    what remains is that something else (ALTER SYSTEM in restored data, the connection, the
    server's own judgement) has the last word.
    """
    if "pg_settings" in server.lacks:
        return {}
    started = server.handle is not None
    asked = server.handle.launch.asked if server.handle is not None else {}
    rows, *built = ask(server.session, [SETTINGS, *([BUILT] if started else [])])
    found = {str(name): (value or "", source or "") for name, value, source in rows}
    places = [str(server.home)]
    if started:
        _check_read(asked, found)
        places.append(str(server.handle.launch.socket.path.parent))
    told = {
        name: value if source == "default" else f"{value} ({source})"
        for name, (value, source) in found.items()
        if not any(place in value for place in places)
    }
    if found.get("jit", ("", ""))[0] == "on" and (why := _explain_no_compiler(ask, server)):
        told["jit"] = f"{told['jit']}, without effect: {why}"
    if "debug_assertions" in found:
        told["assertions"] = found["debug_assertions"][0]  # in the word of the builds' facts
    return told | {str(name): value or "" for more in built for name, value in more}


def require_compiler(ask: Ask, server: Server) -> None:
    """Raise `UsageError` if the library that compiles is there and does not load: before any phase,
    since without it no trial would be what was asked for.
    """
    if why := _explain_no_compiler(ask, server):
        hint = f"dyno clean, and fetch it anew; {NO_COMPILER_HINT}"
        raise UsageError(NO_COMPILER, cause=why, hint=hint)


def _explain_no_compiler(ask: Ask, server: Server) -> str:
    """Return why a server cannot compile expressions, whatever `jit` says, or ""."""
    try:
        # it is false, too, in a session that has jit off
        ((is_there,),) = ask(server.session, ["SET jit = on", "SELECT pg_jit_available()"])[-1]
    except TrialFailed as refused:
        return str(refused).partition("\n")[0]
    return "" if is_there == "t" else "pg_jit_available() is false"


def ask_abilities(ask: Ask, server: Server, version: str) -> dict[str, bool]:
    """Return what the program was built with; its compiler of expressions must load, too."""
    ((words,),) = ask(server.session, [CONFIGURED])[0]
    found = read_configured_abilities(words or "", version) or frozenset()
    told = {name: name in found for name in ABILITIES}
    return told | {"JIT": not _explain_no_compiler(ask, server)}


def _check_read(asked: Mapping[str, str], found: Mapping[str, tuple[str, str]]) -> None:
    """Raise unless all is as asked for; -1 lets the server choose."""
    for name, value in asked.items():
        runs_with, source = found.get(name, ("", "no setting of this version"))
        if source != "configuration file" and value != "-1":
            raise TrialFailed(
                f"postgres runs with {name}={runs_with} ({source}), though {value} was asked for",
                hint=f"leave {name} out, or look at what sets it",
            )
