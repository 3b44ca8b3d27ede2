"""Engine `plugin`: any library of a user's own with the functions of `dyno_engine.h`, beside this
file, opened by the driver. It plays the workloads that read and write rows by their key.

What stands after the `@` is the library's path. All other keys are the engine's own settings: its
library judges them, and says at the end what it ran with.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from dyno.builds import Build, Say, compute_sha256
from dyno.builds import path as path_source
from dyno.driver.plan import Session
from dyno.engines import NO_CONDITIONS, Ask, Server, StartConditions, _library
from dyno.errors import TrialFailed, UsageError
from dyno.record import DataCondition

FOLDER = Path(__file__).parent
#: What `dyno engines plugin` prints: the interface, and engines that were made so.
FILES = tuple(sorted(file.name for file in FOLDER.glob("*.[ch]")))
STATUS = "SHOW STATUS"


class Engine:
    """A library's engine inside the driver's process.

    One process at a time has a database open: what is asked from a second one is asked while the
    driver's connections are closed.
    """

    embedded: ClassVar[bool] = True
    session_kind: ClassVar[str] = "plugin"
    tables_sql: ClassVar[str] = "SHOW TABLES"
    own_databases: ClassVar[frozenset[str]] = frozenset()
    has_use: ClassVar[bool] = False
    options: ClassVar[dict[str, tuple[str, str]]] = {}
    flags: ClassVar[dict[str, tuple[str, str]]] = {}
    versions: ClassVar[tuple[str, ...]] = ()

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        del flags, settings
        if not build or not _library.is_path(build):
            hint = "name the library's file: plugin@./mine.so; see docs/guides/engines/plugin.md"
            raise UsageError(f"plugin has no build '{build}'", hint=hint)

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        self.check(build, flags, {})
        library = path_source.fetch("engine's library", build, say)
        facts = {"source": "file", "sha256": compute_sha256(library)}
        told = self._try(library, {})
        return Build("plugin", build, f"{told['name']} {told['version']}", library, facts)

    def accept(self, build: Build, settings: dict[str, str], others: Iterable[str] = ()) -> None:
        """`UsageError` with the library's own words where it does not take these."""
        del others
        if settings:
            self._try(build.program, settings)

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        server = Server(make_session(build.program, home / _library.DATABASE, settings), home)
        (home / _library.DATABASE).mkdir(exist_ok=True)
        return server

    def settings(self, server: Server) -> dict[str, str]:
        """What the engine says of itself, its name and version first."""
        return self._read_status(server.session)

    def settle(self, server: Server) -> None:
        """Nothing that an engine of any kind could be asked for."""

    def stop(self, server: Server) -> None:
        """Nothing to stop: the engine ends with the driver's connections."""

    def select_file_settings(self, settings: dict[str, str]) -> dict[str, str]:
        """All of them: which shape the files, the library alone knows."""
        return settings

    def weigh(
        self, server: Server, requested: dict[str, str], reported: dict[str, str]
    ) -> DataCondition:
        """The files; what a commit survives is not known of an engine of any kind."""
        del requested, reported
        files = (server.home / _library.DATABASE).rglob("*")
        size_bytes = sum(file.stat().st_size for file in files if file.is_file())
        return DataCondition(size_bytes=size_bytes, autocommits=True)

    def _try(self, library: Path, settings: dict[str, str]) -> dict[str, str]:
        """Open an empty database with these settings; `UsageError` where that does not go well."""
        with tempfile.TemporaryDirectory(prefix="dyno-plugin-") as folder:
            try:
                return self._read_status(make_session(library, Path(folder), settings))
            except TrialFailed as failed:
                words = f"{library} fails when a database is opened"
                raise UsageError(words, cause=failed.sentence) from None

    def _read_status(self, session: Session) -> dict[str, str]:
        (rows,) = self._ask(session, [STATUS])
        return {str(name): value or "" for name, value in rows}


def make_session(library: Path, database: Path, settings: dict[str, str]) -> Session:
    pairs = [list(pair) for pair in settings.items()]
    return {
        "kind": "plugin",
        "library": str(library),
        "database": str(database),
        "settings": pairs,
    }
