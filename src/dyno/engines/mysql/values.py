"""Values of MySQL's variables: tried out on the server's own program, and compared with its report.

Before any trial the program is asked whether it knows the settings and takes their values; after
each, what the running server reports must equal what was asked for.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from dyno import numbers, scratch
from dyno.builds import Build, cache, compute_sha256
from dyno.engines import _builds
from dyno.engines._server import process
from dyno.engines.mysql.builds import Prefix
from dyno.engines.mysql.data import Query
from dyno.engines.mysql.settings import AskedSettings
from dyno.errors import TrialFailed, UsageError, build_unknown_error

#: The listing's head; below it, a variable to a line, with hyphens.
LISTING = "--------- "
VARIABLE = re.compile(r"^([A-Za-z][\w-]+) +(.*)$", re.MULTILINE)
#: Where a user's own settings lie, in the server's home.
CONFIG = "my.cnf"
#: What is kept of it: a kind of the cache, and the file in each entry.
NAMES = "variables"
REFUSED = re.compile(r"Error while setting value .*|unknown (?:variable|option) .*")


def try_out(
    build: Build, prefix: Prefix, requested: AskedSettings, others: Iterable[str] = ()
) -> None:
    """Raise `UsageError` if this build has no such variable (the nearest of its own and of `others`
    are offered), refuses its value, or would run with another one: a number out of range is
    adjusted, with no more than a line in the server's log.

    The server lists what it knows, and reads its words before that; no data are needed. A value
    that only a storage engine can judge fails the first trial instead.
    """
    if not requested.own:
        return
    server = _describe_server(build)
    known = list_variables(build, prefix, requested)
    for name, value in requested.own.items():
        if name not in known and name in NEEDS:
            raise _builds.build_lacking_error(build, f"{name}={value}", NEEDS[name])
        if name not in known:
            raise build_unknown_error(f"variable of {server}", name, known.union(others))
    try:
        told = list_values(build, prefix, requested)
    except TrialFailed as failed:
        found = REFUSED.search(failed.cause)
        cause = found[0] if found else failed.cause.splitlines()[-1]
        raise UsageError(f"{server} refuses its settings", cause=cause) from None
    told |= _adjust_pool(told)
    for name, value in requested.own.items():
        number, adjusted = (_parse_number(it) for it in (value, told.get(name, "")))
        if number is not None and adjusted is not None and number != adjusted:
            hint = f"write {name}={told[name]}, or another value in its range"
            raise UsageError(f"{server} makes {told[name]} of {name}={value}", hint=hint)


#: Variables that only a build with an ability has.
NEEDS = {"innodb_numa_interleave": "NUMA"}
#: From here on tables are partitioned by InnoDB itself; and expressions match by ICU.
PARTITIONS, OF_ICU = (8, 0), (8, 0, 4)
PLUGINS = "SELECT plugin_name FROM information_schema.plugins WHERE plugin_status = 'ACTIVE'"


def ask_abilities(query: Query, build: Build, prefix: Prefix) -> dict[str, bool]:
    """Return what the server was built with: by variables that only such builds have, by its
    plugins, and of what has neither by the library that the program names.
    """
    variables, plugins = query(["SHOW GLOBAL VARIABLES", PLUGINS])
    told = {str(name).lower(): (value or "").lower() for name, value in variables}
    version = _builds.parse_version(build.version)
    is_mysql = build.engine == "mysql"
    return {
        "TLS": bool(told.get("tls_version")) or told.get("have_ssl", "no") != "no",
        "NUMA": "innodb_numa_interleave" in told,
        "ICU": is_mysql and version >= OF_ICU,
        "ZSTD": "zstd" in told.get("protocol_compression_algorithms", ""),
        "PAM": any(prefix.plugins.glob("auth*_pam.so")),
        "io_uring": b"liburing.so" in build.program.read_bytes(),
        "partitioning": (is_mysql and version >= PARTITIONS)
        or any(str(name).lower() == "partition" for (name,) in plugins),
    }


POOL, GIB = "innodb_buffer_pool_size", 1 << 30


def _adjust_pool(told: Mapping[str, str]) -> dict[str, str]:
    """The pool's size as the server will make it at its start, where it is no multiple of its
    chunks: a listing has it as it was written. Empty where the server decides by other means.
    """
    names = (POOL, "innodb_buffer_pool_chunk_size", "innodb_buffer_pool_instances")
    size, chunk, instances = (int(_parse_number(told.get(name, "")) or 0) for name in names)
    unit = chunk * (instances if size >= GIB else 1)  # a smaller pool is in one piece
    if not unit or size <= unit or size % unit == 0:
        return {}
    return {POOL: str((size // unit + 1) * unit)}


def _describe_server(build: Build) -> str:
    return f"{build.engine} {build.version}"


def list_variables(build: Build, prefix: Prefix, requested: AskedSettings) -> frozenset[str]:
    """Return the variables of this build, and of the storage engine's plugin that `requested`
    loads.

    The server is asked once; the answer is kept in the cache.
    """
    parts = [build.facts.get("sha256") or compute_sha256(build.program)]
    if (plugin := prefix.find_plugin(requested.storage)).is_file():
        parts.append(compute_sha256(plugin))
    name = "-".join([build.engine, build.version, *(part[:16] for part in parts)])

    def ask(folder: Path) -> None:
        names = _parse_listing(
            _list_settings(build, prefix, replace(requested, own={}, config=None))
        )
        if not names:
            raise UsageError(f"{_describe_server(build)} lists no variables (--verbose --help)")
        (folder / NAMES).write_text("\n".join(sorted(names)))

    return frozenset(
        (cache.ensure_entry(NAMES, name, ask, lambda _: None) / NAMES).read_text().split()
    )


def list_values(build: Build, prefix: Prefix, requested: AskedSettings) -> dict[str, str]:
    """Every variable with the value that a server would start with, as its program lists them."""
    return _parse_listing(_list_settings(build, prefix, requested))


def _list_settings(build: Build, prefix: Prefix, requested: AskedSettings) -> str:
    with scratch.make_folder("ask") as place:
        words = [f"--datadir={place}", *prefix.list_arguments(), *requested.list_arguments(prefix)]
        first = build_defaults_argument(requested.config, place)
        command = [str(build.program), first, *words, "--verbose", "--help"]
        return process.run_tool(command, place, more=prefix.build_environment())


def build_defaults_argument(config: Path | None, folder: Path) -> str:
    """The word that must come first: the user's own file, copied to `folder`, or none at all."""
    if config is None:
        return "--no-defaults"
    shutil.copyfile(config, folder / CONFIG)
    (folder / CONFIG).chmod(0o600)
    return f"--defaults-file={folder / CONFIG}"


def _parse_listing(listing: str) -> dict[str, str]:
    table = listing.partition(LISTING)[2].partition("\n\n")[0]
    return {name.replace("-", "_"): value for name, value in VARIABLE.findall(table)}


#: Words of lists that stand for others, which the server reports in their place or beside them.
GROUPS = frozenset(
    ("ansi", "db2", "maxdb", "mssql", "mysql323", "mysql40", "oracle", "postgresql", "traditional")
)
EVERYTHING = frozenset(("all", "full"))
DEFAULT = "default"
#: Letters of a value that a message repeats.
LONGEST_SHOWN = 80
#: Words for on and off; the last is what a server calls the scheduler that it may not have.
SWITCHES = {"on": 1.0, "true": 1.0, "yes": 1.0, "off": 0.0, "false": 0.0, "disabled": 0.0}
#: Differ from start to start, and from machine to machine, and say nothing of the server.
PASSING = frozenset(
    {
        *("hostname", "pid_file", "server_uuid", "server_uid", "socket", "timestamp"),
        # which transactions there were, and no setting; gtid_mode is one, and stays
        *("gtid_executed", "gtid_purged", "gtid_owned", "gtid_binlog_pos", "gtid_binlog_state"),
        *("gtid_current_pos", "gtid_slave_pos"),
    }
)


def compare_values(requested: str, reported: str) -> bool:
    """Return whether `reported` is what was asked for: sizes, switches, numbers, and lists in any
    order. Of flags (`mrr=on`) those that were set count, of a group (`TRADITIONAL`) all that it
    stands for.
    """
    wanted, found = _parse_number(requested), _parse_number(reported)
    if wanted is not None and found is not None:
        return wanted == found
    asked, told = _split_words(requested), _split_words(reported)
    if asked & EVERYTHING and len(told) > 1:  # told as all that it stands for
        return True
    if asked and all("=" in word or word == DEFAULT for word in asked):
        return {word for word in asked if not word.endswith(DEFAULT)} <= told
    return asked <= told if asked & GROUPS else asked == told


def _shorten(requested: str, reported: str) -> str:
    """Of a list of flags those that were asked for; of any other long value its beginning."""
    names = {word.partition("=")[0] for word in _split_words(requested)}
    if "=" in requested:
        words = (word for word in reported.split(",") if word.partition("=")[0].lower() in names)
        return ",".join(words) or "none of these"
    return reported if len(reported) <= LONGEST_SHOWN else f"{reported[:LONGEST_SHOWN]}…"


def check_values(
    name: str, reported: Mapping[str, str], own: Mapping[str, str], table: Mapping[str, str]
) -> None:
    """`TrialFailed` where server `name` runs with other values than it was asked for.

    `own` are the user's settings, which it must have; of the `table`'s it may lack some.
    """
    for variable, value in {**table, **own}.items():
        found = reported.get(variable)
        if found is None and variable in own:
            hint = "another version has it, or it belongs to a plugin that is not loaded"
            raise TrialFailed(f"{name} does not report a variable {variable}", hint=hint)
        if found is not None and not compare_values(value, found):
            found = _shorten(value, found)
            message = f"{name} runs with {variable}={found}, though {value} was asked for"
            hint = f"write {variable}={found}, or another value that it takes (a switch as 1 or 0)"
            raise TrialFailed(message, hint=hint)


def select_lasting_values(reported: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return what two trials of the same build share: without what names this start or this
    place.
    """
    return {
        name: value
        for name, value in reported.items()
        if name not in PASSING and str(home) not in value
    }


def _parse_number(text: str) -> float | None:
    """A number, a size in bytes, or a switch as 1 or 0; None for anything else."""
    word = text.strip().lower()
    if word in SWITCHES:
        return SWITCHES[word]
    if (size := numbers.parse_size_bytes(word)) is not None:
        return size
    try:
        return float(word)
    except ValueError:
        return None


def _split_words(text: str) -> set[str]:
    return {word.strip().lower() for word in text.split(",")} - {""}
