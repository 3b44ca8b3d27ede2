"""`dyno_kit.so`: found in the package, put where a server looks for it, and taken away again; what
a server holds of it, without a call of what may be gone; and the parts of the kit: what each puts
into a server, and which rights that takes.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import dyno
from dyno.builds import compute_sha256
from dyno.errors import HostError, TrialFailed, UsageError, build_unknown_error
from dyno.servers.kit.server import LIBRARY, KitServer, build_host_error, run_all

#: The package carries it beside this file.
CARRIED = Path(__file__).parent / LIBRARY


#: What a put of another Dyno may take.
YOUNG_S = 60.0
#: In place of a version: it is not this package's.
OTHER = "version unknown"


@dataclass(frozen=True)
class HeldLibrary:
    """What a server holds of the library whose functions it has registered. Neither a `version` nor
    missing: not checked.
    """

    version: str = ""
    is_missing: bool = False


def find_held(server: KitServer, registered: Collection[str]) -> HeldLibrary:
    """Return what the server holds, `registered` its functions of the library.

    Where the server `calls_lost`, only its process and its file show it, on this machine.
    """
    loaded = server.list_loaded()
    if loaded is not None and loaded.isdisjoint(registered):
        return HeldLibrary(is_missing=True)
    if not server.calls_lost:
        version = server.read_library_version() if VERSION.name in registered else ""
        return HeldLibrary(version, is_missing=VERSION.name in registered and not version)
    there = server.plugins / LIBRARY
    if not server.near or not server.plugins.is_dir():
        return HeldLibrary()
    if not there.is_file():
        return HeldLibrary(is_missing=True)
    maps = _read_maps(f"/proc/{_find_process(server)}/maps")
    if not maps or f"{there} (deleted)\n" in maps:
        return HeldLibrary()
    if f"{there}\n" not in maps:
        return HeldLibrary(is_missing=True)
    is_own = compute_sha256(there) == compute_sha256(find_own_library())
    return HeldLibrary(dyno.__version__ if is_own else OTHER)


def require_loaded(server: KitServer, functions: Iterable[Function]) -> None:
    """Raise `UsageError` if a call of these functions may end the server, since it lost their
    library.

    If that cannot be seen they are loaded anew, which fails without harm.
    """
    if not server.calls_lost:
        return
    registered = [name for name, owner in server.list_registered().items() if owner == LIBRARY]
    held = find_held(server, registered)
    if held.is_missing:
        raise UsageError(
            f"functions of {LIBRARY} are registered, its library is missing",
            hint="dyno kit upgrade loads it anew; until then a call of one ends the server",
        )
    if not held.version:
        for each in functions:
            anew = [f"DROP FUNCTION {each.name}", each.create(LIBRARY)]
            run_all(server, anew, f"load the function {each.name} anew", FUNCTION_RIGHTS)


def _find_process(server: KitServer) -> str:
    """Return the number of the server's process on this machine; empty where that is not seen."""
    try:
        ((place, data),) = server.query("SELECT @@pid_file, @@datadir")
        return Path(str(data), str(place)).read_text().strip()
    except (OSError, ValueError, TrialFailed):
        return ""


def _read_maps(path: str | Path) -> str:
    """Return the files that a process has mapped; empty where that may not be seen."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def find_own_library() -> Path:
    """Return the package's own; `HostError` if it was built without."""
    if not CARRIED.is_file():
        raise HostError(f"this Dyno has no {LIBRARY}", hint="make setup builds it")
    return CARRIED


def put(server: KitServer) -> bool:
    """Put the library where the server looks for it, if that is a folder of this machine and holds
    another one or none; return whether it was written.

    A new file is renamed over the old one, which a server that has it loaded goes on using: written
    in place, it would change under it.
    """
    source, place = find_own_library(), server.plugins
    if not server.near or not place.is_dir():
        return False
    there = place / LIBRARY
    _sweep(place)
    if there.is_file() and compute_sha256(there) == compute_sha256(source):
        return False
    try:
        handle, name = tempfile.mkstemp(prefix=f".{LIBRARY}-", dir=place)
    except OSError as error:
        raise build_host_error(place, error, source) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(source.read_bytes())
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(there)
        folder = os.open(place, os.O_RDONLY)
        os.fsync(folder)  # the rows that follow last, too
        os.close(folder)
    except OSError as error:
        with suppress(OSError):  # it was renamed, or the place refuses that as well, which is told
            Path(name).unlink()
        raise build_host_error(place, error, source) from error
    return True


def take_away(server: KitServer) -> bool:
    """Remove the library from where we could have put it; return whether none is left there.

    It stays while a function of it is registered, or another server on this machine has it loaded.
    """
    there = server.plugins / LIBRARY
    if not server.near or not server.plugins.is_dir():
        return False
    _sweep(server.plugins)
    kept = server.query("SHOW GLOBAL VARIABLES LIKE 'innodb_flush_log_at_trx_commit'")
    if kept and kept[0][1] == "0":  # rows that were dropped would come back if the server died now
        try:
            server.query("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS")
        except TrialFailed:
            return False
    own = f"/proc/{_find_process(server)}/maps"
    others = (it for it in Path("/proc").glob("[0-9]*/maps") if str(it) != own)
    if LIBRARY in server.list_registered().values() or any(
        f"{there}\n" in _read_maps(it) for it in others
    ):
        return False
    with suppress(OSError):  # whether it went is looked at
        there.unlink(missing_ok=True)
    return not there.exists()


def _sweep(place: Path) -> None:
    """Remove the half of a library that a killed Dyno left; a recent one may still be written."""
    for path in place.glob(f".{LIBRARY}-????????"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > YOUNG_S:
                path.unlink()


#: What loading a function takes, on every server.
FUNCTION_RIGHTS = ("SELECT, INSERT and DELETE on mysql.func",)


@dataclass(frozen=True)
class Function:
    """A function of the library. `returns` is SQL's word: STRING, INTEGER, DECIMAL."""

    name: str
    returns: str = "STRING"
    aggregate: bool = False

    def create(self, library: str) -> str:
        kind = "AGGREGATE FUNCTION" if self.aggregate else "FUNCTION"
        return f"CREATE {kind} {self.name} RETURNS {self.returns} SONAME '{library}'"


@dataclass(frozen=True)
class Part:
    """What is installed by one name.

    `native_since` is the version of MySQL (not of MariaDB) that brings all of it itself. One with
    `routines` has some, or views, in the schema `kit` (`routines`); one with neither functions of
    the library nor routines has a schema of its own (`jobs`, `history`).
    """

    name: str
    summary: str
    functions: tuple[Function, ...] = ()
    native_since: tuple[int, int] | None = None
    routines: bool = False


#: The one function that comes with the first part that has any, and goes with the last.
VERSION = Function("dyno_kit_version")

_AGGREGATES = ("build", "or", "and", "xor")
_WRITERS = ("create", "load", "insert", "delete", "drop")
_NUMBERS = ("cardinality", "contains", "min", "max")

PARTS = {
    part.name: part
    for part in (
        Part("async", "statements that run beside the session: queue, check, wait"),
        Part(
            "bitmap",
            "sets of keys as values: Roaring bitmaps, rb_*",
            (
                *(Function(f"rb_{name}") for name in ("build", "or", "and", "xor", "andnot")),
                *(Function(f"rb_{name}_agg", aggregate=True) for name in _AGGREGATES),
                *(Function(f"rb_{name}", "INTEGER") for name in _NUMBERS),
                *(Function(f"rb_to_{name}") for name in ("list", "json")),
            ),
        ),
        Part(
            "files",
            "indexes over columns in files of the server, fb_*",
            (
                *(Function(f"fb_{name}", "INTEGER") for name in _WRITERS),
                Function("fb_insert2", "INTEGER", True),
                *(Function(f"fb_{name}") for name in ("query", "inlist", "list")),
            ),
        ),
        Part("history", "what performance_schema counts, collected over time in the server"),
        Part(
            "json",
            "documents as lines, found by what they hold; values by key, exact sums over them",
            (
                Function("json_flatten"),
                Function("json_extract_all"),
                Function("json_tokens"),
                Function("json_holds", "INTEGER"),
                *(Function(name, "DECIMAL", True) for name in ("jsum", "jmin", "jmax", "javg")),
                Function("jcount", "INTEGER", True),
                Function("rapid_flatten_json"),
                Function("rapid_extract_all"),
            ),
            routines=True,
        ),
        Part("options", "each option of sql_mode and other lists by itself", routines=True),
        Part(
            "uuid",
            "uuid_to_bin, bin_to_uuid and is_uuid where the server lacks them",
            (Function("uuid_to_bin"), Function("bin_to_uuid"), Function("is_uuid", "INTEGER")),
            native_since=(8, 0),
        ),
    )
}


def find_parts(names: Iterable[str]) -> list[Part]:
    """Return the parts of these names, each once; `UsageError` for an unknown name."""
    found = {}
    for name in names:
        if name not in PARTS:
            raise build_unknown_error("part", name, PARTS)
        found[name] = PARTS[name]
    return list(found.values())
