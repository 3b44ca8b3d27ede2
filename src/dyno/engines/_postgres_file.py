"""PostgreSQL's configuration file: written, tried out on the server's program, and read back."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dyno.engines import Ask, Server, _process
from dyno.engines._postgres_settings import HELD, OURS, TABLE
from dyno.errors import TrialFailed, UsageError, unknown

UNRECOGNISED = re.compile(r'unrecognized configuration parameter "([^"]+)"')
#: Every setting with its unit, and where its value comes from; how the program was compiled.
SETTINGS = "SELECT name, current_setting(name, true), source FROM pg_settings ORDER BY name"
BUILT = "SELECT 'built with ' || name, setting FROM pg_config WHERE name IN ('CFLAGS', 'CONFIGURE')"


def chosen(settings: Mapping[str, str], major: int) -> dict[str, str]:
    """The server's settings that are asked for: those of the profile, and the user's on top."""
    own = {name: value for name, value in settings.items() if name not in OURS}
    if "config" in settings:
        return own
    column = settings.get("profile", "cached").replace("-", "_")
    rows = {name: row for name, row in TABLE.items() if row.since <= major}
    return {name: str(getattr(row, column)) for name, row in rows.items()} | own


def file(settings: Mapping[str, str], major: int, sockets: Path) -> str:
    """The text of the server's file; of two lines for a setting the last one holds."""
    lines = []
    if "config" in settings:
        lines.append(Path(settings["config"]).expanduser().read_text())
    lines += [f"{name} = {_quoted(value)}" for name, value in chosen(settings, major).items()]
    lines += [f"{name} = {value}" for name, value in HELD.items()]
    lines.append(f"unix_socket_directories = {_quoted(str(sockets))}")
    return "\n".join(lines) + "\n"


def try_out(program: Path, settings: Mapping[str, str], major: int) -> None:
    """`UsageError` with the server's own words where it does not take a setting or its value.

    It reads its file before it looks for data, so none are needed.
    """
    with tempfile.TemporaryDirectory(prefix="dyno-") as scratch:
        folder = Path(scratch)
        (folder / "dyno.conf").write_text(file(settings, major, folder))
        options = ["-D", scratch, "-c", f"config_file={folder / 'dyno.conf'}", "-C", "port"]
        try:
            _process.completed([str(program), *options], folder)
        except TrialFailed as refused:
            raise _untaken(refused.cause, program, settings.get("config", "")) from None


def _untaken(said: str, program: Path, config: str) -> UsageError:
    """The first of the server's complaints; where it lacks a setting, the nearest that it has."""
    if found := UNRECOGNISED.search(said):
        told = _process.told([str(program), "--describe-config"])
        return unknown("setting of this postgres", found[1], re.findall(r"^\w+", told, re.M))
    complaints = (line.partition(":  ")[2] for line in said.splitlines())
    cause = next((line for line in complaints if "parameter" in line or "error" in line), "")
    hint = f"it stands in {config} or behind it" if config else "dyno show postgres lists them"
    return UsageError("postgres does not take its settings", cause=cause, hint=hint)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def read_back(ask: Ask, server: Server) -> dict[str, str]:
    """Every setting as the server reports it, with its source unless that is the default, and how
    the program was built.

    Paths below the home and the socket's folder are left out: they differ from trial to trial.
    `TrialFailed` where a
    setting asked for does not come from our file: the server has checked the file's values itself;
    what remains is that something else (ALTER SYSTEM in restored data, the connection, the
    server's own judgement) has the last word.
    """
    started = server.handle is not None
    rows, *built = ask(server.session, [SETTINGS, *([BUILT] if started else [])])
    found = {str(name): (value or "", source or "") for name, value, source in rows}
    places = [str(server.home)]
    if started:
        _check(server.handle.launch.asked, found)
        places.append(str(server.handle.launch.socket.path.parent))
    told = {
        name: value if source == "default" else f"{value} ({source})"
        for name, (value, source) in found.items()
        if not any(place in value for place in places)
    }
    if "debug_assertions" in found:
        told["assertions"] = found["debug_assertions"][0]  # in the word of the builds' facts
    return told | {str(name): value or "" for more in built for name, value in more}


def _check(asked: Mapping[str, str], found: Mapping[str, tuple[str, str]]) -> None:
    """Of -1 the server makes what it likes; all else must be as it was asked for."""
    for name, value in asked.items():
        runs_with, source = found.get(name, ("", "no setting of this version"))
        if source != "configuration file" and value != "-1":
            raise TrialFailed(
                f"postgres runs with {name}={runs_with} ({source}), though {value} was asked for",
                hint=f"leave {name} out, or look at what sets it",
            )
