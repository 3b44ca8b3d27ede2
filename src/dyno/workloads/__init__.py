"""Workloads: one Lua script each. `find` gives a name's file, or takes a script's own path."""

from __future__ import annotations

from pathlib import Path

from dyno.errors import UsageError, unknown

_ROOM = Path(__file__).parent


def every() -> dict[str, Path]:
    """Dyno's own workloads, by name; a leading underscore marks a file that others include."""
    return {p.stem: p for p in sorted(_ROOM.glob("*.lua")) if p.stem[0] != "_"}


def find(name: str) -> Path:
    """The script of the workload `name`; a path (``x.lua``, ``dir/x``) is taken as it is."""
    path = Path(name).expanduser()
    if path.suffix == ".lua" or len(path.parts) > 1:
        if not path.is_file():
            raise UsageError(f"no script at '{name}'", hint="a workload is a name or a Lua file")
        return path.resolve()
    found = every()
    if name not in found:
        raise unknown("workload", name, found)
    return found[name]
