"""New data folders for servers of MySQL's family: made once for each build, then copied.

Making one takes seconds, and two made alike differ in nothing that a load can tell. It holds the
system tables, `root@localhost` without a password, and the empty database `dyno`. The help tables,
time zones and the sys schema are left out where the build does not insist. Once the server has
started, character set and storage engine of new tables are set (`prepare_database`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from dyno.builds import Build, cache
from dyno.engines import _builds
from dyno.engines._server import process
from dyno.engines.mysql.builds import Prefix
from dyno.errors import build_unknown_error

#: Answers SQL of one server.
Query = Callable[[Sequence[str]], list[list[list[str | None]]]]

CHARSET = "SELECT @@character_set_server, @@collation_server"


def prepare_database(query: Query, name: str, storage: str, prefix: Prefix) -> None:
    """Settles what new tables are made of, in every session from now on.

    The server's character set: the database comes from a template, which was made with another.
    And `storage`, where it is not empty; `UsageError` where the server (`name`, for people) has no
    such engine, with the nearest that it has or could load.
    """
    (charset,), storages = query([CHARSET, "SHOW ENGINES"])
    made = [f"ALTER DATABASE dyno CHARACTER SET {charset[0]} COLLATE {charset[1]}"]
    if storage:
        there = [str(row[0]) for row in storages if row[1] in ("YES", "DEFAULT")]
        if storage.lower() not in map(str.lower, there):
            raise build_unknown_error(
                f"storage engine of {name}", storage, {*there, *prefix.list_storages()}
            )
        made.append(f"SET GLOBAL default_storage_engine = {storage}")
    query(made)


#: Variables that a data folder is made with, and that cannot change afterwards.
LASTING = (
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "innodb_checksum_algorithm",
    "lower_case_table_names",
)
#: A template's redo log is as small as it may be: the server makes its own when it starts.
SMALL = {"innodb_log_file_size": "8M", "innodb_redo_log_capacity": "8M"}
#: From here on the server makes the folder by itself.
INITIALIZES = (5, 7)
#: From here on it fits the redo log to another size when it starts.
RESIZES = (5, 6, 8)
#: The server's own scripts, without their family's first word.
SCRIPTS = ("_system_tables.sql", "_performance_tables.sql", "_system_tables_data.sql")
#: A bootstrapping server reads one statement to a line, and none that goes on after a semicolon.
OPENING = "CREATE DATABASE mysql;\nUSE mysql;\nSET @skip_auth_anonymous=1;\n"
CLOSING = "CREATE DATABASE dyno;\n"


def fill_data(build: Build, prefix: Prefix, requested: Mapping[str, str], data: Path) -> None:
    """Makes the folder `data` for `build`, from a template in the cache that is made if missing.

    `requested` are the server's settings, of which a few last (`LASTING`). A template belongs to
    one program and these. The copy shares its blocks with the template where the file system can.
    """
    lasting = {name: requested[name] for name in LASTING if name in requested}
    about = {**lasting, "sha256": build.facts["sha256"]}
    key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]

    def make(folder: Path) -> None:
        _make(build, prefix, lasting, folder)

    template = cache.ensure_entry(
        "data", f"{build.engine}-{build.version}-{key}", make, lambda _: None
    )
    with cache.keep_entries([template]):
        cache.copy(template / "data", data)


def _make(build: Build, prefix: Prefix, lasting: Mapping[str, str], folder: Path) -> None:
    """Lets the server fill `folder/data`: by its own command, or from its scripts."""
    data, version = folder / "data", _builds.parse_version(build.version)
    data.mkdir()
    (folder / "tmp").mkdir()
    own = [f"--loose-{name}={value}" for name, value in (SMALL | dict(lasting)).items()]
    places = [f"--datadir={data}", f"--tmpdir={folder / 'tmp'}", *prefix.list_arguments(), *own]
    command = [str(prefix.program), "--no-defaults", *places]
    if build.engine == "mysql" and version >= INITIALIZES:
        (folder / "init.sql").write_text(CLOSING)
        command += ["--initialize-insecure", f"--init-file={folder / 'init.sql'}"]
        process.run_tool(command, folder, more=prefix.build_environment())
    else:
        given = OPENING + "".join(_read_lines(_find_scripts(prefix))) + CLOSING
        process.run_tool([*command, "--bootstrap"], folder, given, prefix.build_environment())
    if build.engine == "mysql" and version < RESIZES:
        # a server that cannot resize its logs makes new ones of the right size where none are
        for log in data.glob("ib_logfile*"):
            log.unlink()
    # each server would name itself by this file
    (data / "auto.cnf").unlink(missing_ok=True)
    shutil.rmtree(folder / "tmp")


def _find_scripts(prefix: Prefix) -> list[Path]:
    found = [next(iter(sorted(prefix.share.glob(f"m*{name}"))), None) for name in SCRIPTS]
    return [script for script in found if script]


def _read_lines(scripts: Iterable[Path]) -> Iterable[str]:
    for script in scripts:
        yield script.read_text(errors="surrogateescape").rstrip() + "\n"
