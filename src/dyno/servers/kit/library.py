"""`dyno_kit.so`: found in the package, put where a server looks for it, and taken away again."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from dyno.builds import compute_sha256
from dyno.errors import HostError
from dyno.servers.kit.server import LIBRARY, KitServer, build_host_error

#: The package carries it beside this file.
CARRIED = Path(__file__).parent / LIBRARY


def find_own_library() -> Path:
    """The package's own; `HostError` where it was built without."""
    if not CARRIED.is_file():
        raise HostError(f"this Dyno has no {LIBRARY}", hint="make setup builds it")
    return CARRIED


def put(server: KitServer) -> bool:
    """Puts the library where the server looks for it, if that is a folder of this machine and
    holds another one or none: was it written?

    A new file is renamed over the old one, which a server that has it loaded goes on using:
    written in place, it would change under it.
    """
    source, place = find_own_library(), server.plugins
    if not server.near or not place.is_dir():
        return False
    there = place / LIBRARY
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
    except OSError as error:
        with suppress(OSError):  # it was renamed, or the place refuses that as well, which is told
            Path(name).unlink()
        raise build_host_error(place, error, source) from error
    return True


def take_away(server: KitServer) -> bool:
    """Removes the library where we could have put it: is none left there?"""
    there = server.plugins / LIBRARY
    if not server.near or not server.plugins.is_dir():
        return False
    with suppress(OSError):  # whether it went is looked at
        there.unlink(missing_ok=True)
    return not there.exists()
