"""Where the lines lie: `$DYNO_STATE/calibration/HOST.jsonl`, a file per host.

Without `$DYNO_STATE` it is `$XDG_STATE_HOME/dyno`, else `~/.local/state/dyno`. A line is written
with one call and synced, so a killed `dyno calibrate` loses the comparison under way at most; a
torn line is passed over. Nothing is ever rewritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from dyno import plain
from dyno.calibration.entry import IDENTITY, Entry
from dyno.errors import HostError


def path(host: Mapping[str, str]) -> Path:
    """The file of this host; it need not exist yet."""
    own, shared = os.environ.get("DYNO_STATE"), os.environ.get("XDG_STATE_HOME")
    root = Path(own) if own else (Path(shared) if shared else _home()) / "dyno"
    machine = ""
    with suppress(OSError):
        machine = Path("/etc/machine-id").read_text().strip()  # machine-id(5): to be hashed
    words = "\n".join((machine, *(host.get(name, "") for name in IDENTITY)))
    return root / "calibration" / f"{hashlib.sha256(words.encode()).hexdigest()[:16]}.jsonl"


def _home() -> Path:
    return Path.home() / ".local" / "state"


def append(file: Path, entry: Entry) -> None:
    """Adds a line, whole and synced; `HostError` where the file cannot be written.

    What a kill left of a line before it is ended first, so that it spoils nothing but itself.
    """
    line = json.dumps(asdict(entry), separators=(",", ":")).encode() + b"\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab+", buffering=0) as out:
            if out.tell():
                out.seek(-1, os.SEEK_END)
                line = line if out.read(1) == b"\n" else b"\n" + line
            out.write(line)
            os.fsync(out.fileno())
    except OSError as error:
        hint = "set DYNO_STATE to a folder that can be written"
        raise HostError(f"cannot write {file}", cause=error.strerror, hint=hint) from error


def entries(file: Path) -> list[Entry]:
    """Every line that can be read, oldest first; torn ones and those of a newer Dyno are not."""
    found = []
    with suppress(OSError):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError):
                found.append(plain.load(Entry, json.loads(line)))
    return found
