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
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from dyno import private_files
from dyno.errors import HostError, find_fullest
from dyno.judge.stats.simulate import compute_clopper_pearson
from dyno.record import Calibration, Score, decode
from dyno.record.decode import encode
from dyno.record.host import IDENTITY, RELEVANT, select_facts
from dyno.record.schema import Record
from dyno.runs.resolve.draft import RunDraft

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


#: Hosts drift: kernels are patched in place, disks fill, neighbours move in.
AGE_DAYS_MAX = 90


def find_error_rates(host: Mapping[str, str], now: datetime | None = None) -> Calibration | None:
    """What is known on this host at `now`: what was found with the host and the method as they
    are; where that is nothing, what was found last, and why it is stale.
    """
    stored = read_store(find_store(host))
    found = [each for each in stored.entries if each.kind != DOSE_RESPONSE]
    if not found:
        return None
    current = [each for each in found if each.host == select_facts(host) and each.method == METHOD]
    last = current[-1] if current else found[-1]
    chosen = [each for each in found if (each.host, each.method) == (last.host, last.method)]
    return Calibration(
        host=last.host,
        dyno=last.dyno,
        method=last.method,
        first_utc=chosen[0].utc,
        last_utc=last.utc,
        scores=compute_scores(chosen),
        stale=tuple(_explain_stale(last, select_facts(host), now or datetime.now(UTC))),
        passed_over=stored.passed_over,
    )


def quote_error_rates(draft: RunDraft) -> None:
    """Notes in `draft` what is known of the method's errors on its host and driver."""
    known = find_error_rates(instrument(draft.run.host, draft.run.driver_sha256))
    draft.change(calibration=known)


def _explain_stale(last: CalibrationEntry, host: Mapping[str, str], now: datetime) -> Iterable[str]:
    for name in RELEVANT:
        was, found = last.host.get(name, ""), host.get(name, "")
        if was != found:
            yield f"{name.replace('_', ' ')} was '{was}' and is '{found}'"
    if last.method != METHOD:
        yield f"the method was version {last.method} and is {METHOD}"
    days = (now - datetime.fromisoformat(last.utc)).days
    if days > AGE_DAYS_MAX:
        yield f"it is {days} days old"


def compute_scores(entries: Sequence[CalibrationEntry]) -> tuple[Score, ...]:
    """Entries of one kind, engine, size and settings added up, in the order of their first."""
    groups: dict[tuple[object, ...], list[CalibrationEntry]] = defaultdict(list)
    for each in entries:
        same = (each.kind, each.engine, each.what, each.effect_percent)
        groups[*same, *sorted(each.settings.items())].append(each)
    return tuple(_compute_score(group) for group in groups.values())


def _compute_score(group: Sequence[CalibrationEntry]) -> Score:
    first, words = group[0], defaultdict[str, int](int)
    for each in group:
        for word, count in each.words.items():
            words[word] += count
    comparisons = sum(words.values())
    low, high = compute_clopper_pearson(words["slower"], comparisons)
    sizes = [each.injected_percent for each in group if each.injected_percent is not None]
    return Score(
        kind=first.kind,
        engine=first.engine,
        what=first.what,
        effect_percent=first.effect_percent,
        comparisons=comparisons,
        words={word: count for word, count in words.items() if count},
        low_percent=100.0 * low,
        high_percent=100.0 * high,
        covered=sum(each.covered for each in group),
        coverable=sum(each.coverable for each in group),
        injected_percent=sum(sizes) / len(sizes) if sizes else None,
        dropped_blocks=sum(each.dropped_blocks for each in group),
        settings=first.settings,
    )
