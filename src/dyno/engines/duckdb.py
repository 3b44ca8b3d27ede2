"""Engine `duckdb`: any DuckDB library from 1.1 on, opened by the driver through its C API.

What stands after the `@` is a version (`1.4.4`: fetched by npm) or a library's path; nothing stands
for the newest version. The library is the one that DuckDB's makers build for Node.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from dyno.builds import Build, Say
from dyno.engines import UNHELD, Ask, Server, Under, _library, _versions
from dyno.engines._duckdb_builds import PACKAGES, library
from dyno.engines._duckdb_settings import OPTIONS, agree, size_bytes, valid
from dyno.engines._holding import SURVIVES, Holding
from dyno.errors import TrialFailed, unknown


class Engine:
    """DuckDB inside the driver's process.

    The options are settings of the database, given when it is opened, all of them always: DuckDB's
    own defaults hang on the machine's cores and memory.

    One process at a time may have the file open. The driver's connections share one instance, and
    what is asked from a second process is asked while they are closed.

    Before 1.2 an update of an indexed column, and an insert of a key deleted in the same
    transaction, break the primary key (seen on 1.1.3; "over-eager constraint checking" in DuckDB's
    documentation): `oltp_update_index`, `oltp_read_write` and `oltp_write_only` fail there.
    """

    embedded: ClassVar[bool] = True
    options: ClassVar[dict[str, tuple[str, str]]] = OPTIONS
    flags: ClassVar[dict[str, tuple[str, str]]] = {}
    versions: ClassVar[tuple[str, ...]] = tuple(PACKAGES)

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        """`UsageError` for what DuckDB would refuse, or fetch, later."""
        for name, value in settings.items():
            valid(name, value)
        if flags:
            raise unknown("duckdb build flag", next(iter(flags)), self.flags)
        if build not in ("", *PACKAGES) and not _library.is_path(build):
            raise _versions.strange("duckdb", build, self.versions)

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        """The library of a version (fetched, some 20 MB), or at a path."""
        self.check(build, flags, {})
        return library(build or self.versions[-1], say)

    def start(
        self, build: Build, home: Path, settings: dict[str, str], under: Under = UNHELD
    ) -> Server:
        """A session on a new database in `home`; nothing is opened yet."""
        return _library.started(build, home, settings=_library.every(OPTIONS, settings, valid))

    def settings(self, server: Server) -> dict[str, str]:
        """Every setting as a database opened with ours reports it, and the library's version.

        Paths below the trial's home are left out: they differ from trial to trial.
        `TrialFailed` where the engine runs with another value than it was asked for.
        """
        all_of_them = "SELECT name, value FROM duckdb_settings() ORDER BY name"
        rows, version = self._ask(server.session, [all_of_them, "SELECT version()"])
        found = {str(name): value or "" for name, value in rows}
        for name, value in server.session["settings"]:
            if not agree(value, found.get(name, "")):
                raise TrialFailed(
                    f"duckdb runs with {name}={found.get(name)}, though {value} was asked for",
                    hint=f"this build refuses {value}",
                )
        kept = {name: value for name, value in found.items() if str(server.home) not in value}
        return kept | {"version": str(version[0][0]).removeprefix("v")}

    def settle(self, server: Server) -> None:
        """Gathers the planner's statistics, and writes the log into the database."""
        self._ask(server.session, ["ANALYZE", "CHECKPOINT"])

    def stop(self, server: Server) -> None:
        """Nothing to stop: the engine ends with the driver's connections."""

    def holding(self, server: Server, asked: dict[str, str], told: dict[str, str]) -> Holding:
        """The file with its log, and the buffer pool; each commit flushes the log."""
        del asked
        pool_bytes = size_bytes(told.get("memory_limit", ""))
        return Holding(
            data_bytes=_library.data_bytes(server),
            cache_bytes=None if pool_bytes is None else round(pool_bytes),
            survives=SURVIVES[-1],
        )
