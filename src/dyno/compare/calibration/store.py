"""The store of a host's calibration: `$DYNO_STATE/calibration/HOST.jsonl`, one file per host.

Without `$DYNO_STATE` it is `$XDG_STATE_HOME/dyno`, else `~/.local/state/dyno`. A line
(`CalibrationEntry`) is a comparison that was played, or many that were simulated. It is written
with one call and synced, so a killed `dyno calibrate` loses the comparison under way at most; a
torn line is passed over, and counted. Nothing is ever rewritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dyno import private_files
from dyno.errors import HostError, find_fullest
from dyno.record import decode
from dyno.record.decode import encode
from dyno.record.host import IDENTITY
from dyno.record.schema import Record

#: The version of the rule that turns trials into a verdict (docs/METHOD.md). Raise it with every
#: change that could move an error rate: what was calibrated before is stale then.
METHOD = 6
#: The kind of a line that is no comparison: what is injected, held against what it cost.
DOSE_RESPONSE = "dose-response"
#: What lines of an older Dyno had too.
GONE = {"restarts"}
#: Kinds that had another name in lines of an older Dyno.
FORMER_KINDS = {"plant": "delay", "p99 plant": "p99 delay", "plant-noise": "delay-noise"}
FORMER_KINDS |= {"ladder": DOSE_RESPONSE}


class CalibrationEntry(Record):
    """A line: one comparison that was played, or one scenario of many that were made up.

    The fields are those of `Score`; `slowdown_percent` with its bounds is of a comparison played,
    `better` is the direction of its primary. `operation_ns` is what an operation took the base, the
    mean over its blocks; 0 where nothing was played. `slope` is that of a dose-response check
    (`calibration.dose_response`).
    """

    kind: str
    engine: str
    what: str
    effect_percent: float
    words: dict[str, int]
    utc: str
    dyno: str
    host: dict[str, str]
    method: int = METHOD
    covered: int = 0
    coverable: int = 0
    injected_percent: float | None = None
    dropped_blocks: int = 0
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    seconds: float = 0.0
    seed: int = 0
    slowdown_percent: float = 0.0
    low_percent: float = 0.0
    high_percent: float = 0.0
    better: str = "higher"
    slope: float = 0.0
    operation_ns: float = 0.0


def instrument(host: Mapping[str, str], driver_sha256: str) -> dict[str, str]:
    """What a calibration speaks for: a host's facts (`Run.host`), and the driver's checksum."""
    return {**host, "driver": driver_sha256[:12]}


def find_state_home() -> Path:
    """The folder of what Dyno knows of this host."""
    own, shared = os.environ.get("DYNO_STATE"), os.environ.get("XDG_STATE_HOME")
    return Path(own) if own else (Path(shared) if shared else _find_home()) / "dyno"


def find_store(host: Mapping[str, str]) -> Path:
    """The file of this host; it need not exist yet."""
    machine = ""
    with suppress(OSError):
        machine = Path("/etc/machine-id").read_text().strip()  # machine-id(5): to be hashed
    words = "\n".join((machine, *(host.get(name, "") for name in IDENTITY)))
    return (
        find_state_home()
        / "calibration"
        / f"{hashlib.sha256(words.encode()).hexdigest()[:16]}.jsonl"
    )


def _find_home() -> Path:
    return Path.home() / ".local" / "state"


def append(file: Path, entry: CalibrationEntry) -> None:
    """Adds a line, whole and synced; `HostError` where the file cannot be written.

    What a kill left of a line before it is ended first, so that it spoils nothing but itself.
    """
    line = json.dumps(encode(entry), separators=(",", ":")).encode() + b"\n"
    try:
        private_files.make_folder(file.parent, exist_ok=True)
        is_new = not file.exists()
        with open(file, "ab+", buffering=0, opener=private_files.open_private) as out:
            if out.tell():
                out.seek(-1, os.SEEK_END)
                line = line if out.read(1) == b"\n" else b"\n" + line
            out.write(line)
            os.fsync(out.fileno())
        if is_new:
            private_files.sync(file.parent)
    except OSError as error:
        hint = "set DYNO_STATE to a folder that can be written"
        raise HostError(
            f"cannot write {file}",
            cause=f"{error.strerror}{find_fullest(error, file.parent)}",
            hint=hint,
        ) from error


@dataclass(frozen=True)
class CalibrationStore:
    """What a file held: the lines that could be read, oldest first, and the number of those that
    could not, which are torn or a newer Dyno's.
    """

    entries: tuple[CalibrationEntry, ...] = ()
    passed_over: int = 0


def read_store(file: Path) -> CalibrationStore:
    """A host's store, empty where there is none; `HostError` where the file cannot be read."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return CalibrationStore()
    except OSError as error:
        hint = "set DYNO_STATE to a folder that can be read"
        raise HostError(f"cannot read {file}", cause=error.strerror or "", hint=hint) from error
    found = []
    for line in lines:
        with suppress(ValueError, RecursionError):
            data = json.loads(line)
            for name in GONE & set(data):
                del data[name]
            data["kind"] = FORMER_KINDS.get(data["kind"], data["kind"])
            if data.get("settings", {}).get("design") == "by turns":
                data["settings"]["design"] = "interleaved"
            found.append(decode.decode(CalibrationEntry, data))
    return CalibrationStore(tuple(found), len(lines) - len(found))


def read_entries(file: Path) -> list[CalibrationEntry]:
    """Every line of a store that can be read, oldest first."""
    return list(read_store(file).entries)
