"""Workloads: one script each, in Lua (``.lua``) or in pgbench's language (``.sql``).

`find` gives a name's file, or takes a script's own path.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from dyno.errors import UsageError, build_unknown_error

_ROOM = Path(__file__).parent
#: Where sysbench's scripts lie, and where they are looked for that others require.
SYSBENCH = (Path("/usr/local/share/sysbench"), Path("/usr/share/sysbench"))
#: Options that say how long is measured: what a script loads does not depend on them.
_MEASURING = frozenset({"time", "warmup_time", "events", "rate", "report_interval"})


def list_workloads() -> dict[str, Path]:
    """Dyno's own workloads, by name; a leading underscore marks a file that others include."""
    files = sorted((*_ROOM.glob("*.lua"), *_ROOM.glob("*.sql")))
    return {p.stem: p for p in files if p.stem[0] != "_"}


def find_workload(name: str) -> Path:
    """The script of the workload `name`; a path (``x.lua``, ``dir/x.sql``) is taken as it is."""
    path = Path(name).expanduser()
    if path.suffix or len(path.parts) > 1:
        if not path.is_file():
            hint = "a workload is a name, a Lua file, or a script file of pgbench"
            raise UsageError(f"no script at '{name}'", hint=hint)
        return path.resolve()
    found = list_workloads()
    if name not in found:
        raise build_unknown_error("workload", name, found)
    return found[name]


#: A mark of an SQL file, as `crates/driver/src/lua/pgbench/marks.lua` reads it.
_MARK = re.compile(
    r"^\s*--\s*(?:(?:setup|run):\s*$|(?:weight|times):\s*\d|name:\s*\S|:\w[\w, :]*=)"
)


def find_mark(script: Path) -> str:
    """Return the first line of a script in SQL that is a mark in a comment, or ""."""
    if script.suffix not in (".sql", ".pgbench"):
        return ""
    with script.open(errors="replace") as lines:
        return next((line.strip() for line in lines if _MARK.match(line)), "")


def select_data_options(script: Path, options: Mapping[str, str]) -> dict[str, str]:
    """Return those of the options that the data which `script` loads may depend on.

    Our own scripts load in one thread and do not read how many there are. A user's may share out
    its rows by `threads`, as sysbench's parallel `prepare` does, or draw them in each.
    """
    own = script in list_workloads().values()
    idle = _MEASURING | {"threads"} if own else _MEASURING
    return {name: value for name, value in options.items() if name not in idle}


def list_files(script: Path, options: Mapping[str, str] = MappingProxyType({})) -> list[Path]:
    """A script, the scripts beside it that it requires, directly or not, those that its option
    `also` mixes with it, and the SQL file `setup` that makes its tables.
    """
    named = f"{options.get('also', '')},{options.get('setup', '')}"
    names = (word.strip().rpartition("@") for word in named.split(",") if word.strip())
    files = (script.parent / (name or rest) for name, _, rest in names)
    return [*_add_required(script, []), *[file for file in files if file.is_file()]]


def compute_checksum(script: Path, options: Mapping[str, str] = MappingProxyType({})) -> str:
    """SHA-256 of all the files of a script."""
    text = hashlib.sha256()
    for file in list_files(script, options):
        with file.open("rb") as opened:  # a dump is larger than the memory that we may take
            while piece := opened.read(1 << 20):
                text.update(piece)
    return text.hexdigest()


def _add_required(script: Path, found: list[Path]) -> list[Path]:
    if script in found:
        return found
    found.append(script)
    source = script.read_text(errors="replace")
    for name in re.findall(r"""require\s*+\(?\s*+["']([\w./-]+)["']""", source):
        file = f"{name.replace('.', '/')}.lua"
        near = (Path.cwd(), found[0].parent)  # the driver's order (lua/sysbench.lua)
        near = near[::-1] if file.startswith("_") else near
        places = (folder / file for folder in (*near, *SYSBENCH))
        if required := next((place for place in places if place.is_file()), None):
            _add_required(required, found)
    return found
