"""A run on disk: its folder, its files by name, the list of all runs, and what leaves one.

A file is read and checked, and written whole or not at all, whatever kills us; only we may read it
(`private_files`). A lock on the folder says that the run is being played.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dyno import private_files, scratch
from dyno.errors import HostError, UsageError, build_unknown_error, find_fullest
from dyno.locks import is_marked, mark, try_lock
from dyno.plugins import load_things
from dyno.record import (
    CLIENT_BASELINE,
    SCHEMA,
    Candidate,
    Comparison,
    Metric,
    Run,
    RunSummary,
    Trial,
    Verdict,
    decode,
    name_contents,
    name_echo,
)
from dyno.record.count import Count
from dyno.record.decode import encode
from dyno.record.profile import StackProfile
from dyno.record.schema import Record

T = TypeVar("T", bound=Record)

#: The largest file of a run that is read: trials of thousands of streams have some MB.
LARGEST_BYTES = 256 << 20


def read_json(kind: type[T], file: Path) -> T:
    """A file of a run as a `kind`; `UsageError` where it is missing, broken, too new or too old."""
    try:
        text = _read_bytes(file)
    except FileNotFoundError:
        raise UsageError(f"there is no {file}") from None
    except OSError as error:
        raise HostError(f"cannot read {file}", cause=(error.strerror or "").lower()) from error
    found = decode.decode_quickly(kind, text)
    if found is not None and getattr(found, "schema", SCHEMA) == SCHEMA:
        return found
    try:
        data = decode.load_json(text.decode())
    except decode.NestedTooDeeply as error:
        raise build_damage_error(file, error) from None
    except ValueError as error:
        raise build_damage_error(
            file, f"it is not JSON, {str(error)[:1].lower()}{str(error)[1:]}"
        ) from error
    _check_schema(file, data)
    try:
        return decode.decode(kind, data)
    except decode.UnknownField as error:
        raise _build_newer_error(f"{file} was made by a newer dyno: {error}") from error
    except ValueError as error:
        raise build_damage_error(file, error) from error


def _read_bytes(file: Path) -> bytes:
    """What a file of a run holds; `UsageError` for what no run has: a pipe, a device, a file so
    large that reading it would take all memory.
    """
    found = file.stat()
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{file} is not a plain file", hint="a run folder holds plain files only")
    if found.st_size > LARGEST_BYTES:
        cause = f"it has {found.st_size:,} bytes, and none of a run has over {LARGEST_BYTES:,}"
        raise UsageError(f"{file} is too large", cause=cause)
    return file.read_bytes()


def build_damage_error(file: Path, cause: object) -> UsageError:
    """The error for a file of a run that is not what it should be."""
    hint = "nothing can be told without it"
    if file.parent.name == "trials":
        hint = "move it away; `dyno resume` then plays another block for the one that it was in"
    elif file.name == "verdict.json":
        hint = "remove it; `dyno report` makes it again"
    return UsageError(f"{file} is damaged", cause=cause, hint=hint)


def _check_schema(file: Path, data: Any) -> None:
    """`UsageError` for a file of a newer Dyno, or from before the first release."""
    written = data.get("schema", SCHEMA) if isinstance(data, dict) else SCHEMA
    if not isinstance(written, int) or written == SCHEMA:
        return
    if written > SCHEMA:
        raise _build_newer_error(
            f"{file} is of schema {written}, from a newer dyno; this one reads up to {SCHEMA}"
        )
    raise UsageError(
        f"{file} is of schema {written}, from before the first release; this one reads {SCHEMA}",
        hint="play the experiment anew",
    )


def _build_newer_error(sentence: str) -> UsageError:
    return UsageError(sentence, hint="use the dyno that wrote it, or a newer one")


def write_json(file: Path, data: Any) -> Path:
    """Write a record, or plain data, as a file of a run, whole or not at all.

    Raise `HostError` if the disk is full.
    """
    try:
        with private_files.write_new_file(file) as out:
            json.dump(encode(data), out, separators=(",", ":"))
    except OSError as error:
        hint = "what was written before is kept; `dyno clean` lists what can be freed"
        if file.name == "verdict.json":
            hint = "`dyno show RUN` only reads; to judge it anew, copy the run where you may write"
        cause = f"{error.strerror}{find_fullest(error, file.parent)}"
        raise HostError(f"cannot write {file}", cause=cause, hint=hint) from error
    return file


#: The folder of a run's counts of instructions, and the record in each of these.
COUNTS, COUNT_RECORD = "counts", "count.json"
#: Where `dyno profile` keeps its profiles, a file each, beside the runs.
SERVER_PROFILES = "server-profiles"
#: The plan of a run over a cluster.
FLEET_RECORD = "fleet.json"
#: What a history needs of a run, derived.
POINTS = "points.json"
#: The folder of profiles with callers.
PROFILES = "profiles"
#: The folder for what trials loaded into servers that go on running.
LOADED = "loaded"


@dataclass(frozen=True)
class RunProgress:
    """What is known of a run that plays: `played` are its trials or what it calls them, with that
    word; `last_utc` when the last of them began. `rows` are comparisons so far with their titles:
    intervals, and no verdict.
    """

    sentence: str
    blocks: int = 0
    wanted: int = 0
    played: tuple[int, str] = (0, "")
    last_utc: str = ""
    rows: Sequence[tuple[str, Comparison]] = ()


class MeasuredPoint(NamedTuple):
    """What a run says of one of its candidates in one metric, for a history: a number above 0 of
    each restart (of a disk, each block).

    `options` and `controls` are those that it was played with, `alike` is what else the points of
    a series share beside host, build and settings. `repeat` are the instrument's own options, which
    stand in its command after the workload; `script` is empty where the workload's name will do.
    `margin_percent` is above 0 where the numbers are exact, so that a lone step is judged by them;
    they are then those of so many `inputs`.
    """

    metric: Metric
    candidate: Candidate
    values: tuple[float, ...]
    options: Mapping[str, str] = {}
    controls: Mapping[str, str] = {}
    alike: Mapping[str, str] = {}
    script: str = ""
    repeat: tuple[str, ...] = ()
    margin_percent: float = 0.0
    inputs: int = 1


class MeasuredRun(NamedTuple):
    """The points of a run; its copies have the same first three fields. `host` are the facts that
    points share, `base` is the candidate that the others were measured along with (empty: none),
    `losses` say what is in no series, and why. `comparisons` are those of its verdict that may
    confirm or reject a flagged change, `series` is what the run was said to be of.
    """

    created_utc: str
    seed: int
    name: str
    points: Sequence[MeasuredPoint]
    host: Mapping[str, str] = {}
    base: str = ""
    losses: Sequence[str] = ()
    comparisons: Sequence[Comparison] = ()
    series: str = ""


class Instrument:
    """What measures, and leaves runs of its own `name`: each a folder, known by its `record`, or
    where `is_file` a file in `SERVER_PROFILES`. A package of `dyno.instruments` offers one as
    `INSTRUMENT`; whatever takes a run of any kind asks it, and knows no kind itself.

    `noun` is a run in a sentence, `said` what a list says of it. A summary changes with `changing`,
    a report with `measured`, names in the folder. `begun` lies there from the beginning, where the
    record is written at the end. `has_trials` where runs of it are comparisons block by block
    (`run.json`), which pairs and heat maps are made of; `has_history` where `dyno history` reads
    them. `command` is the file of `cli` that plays, shows, reports and resumes them, as far as it
    does.
    """

    name: str
    noun: str
    said: str
    command = "judged_run"
    record = begun = ""
    is_file = has_trials = has_history = False

    @property
    def measured(self) -> tuple[str, ...]:
        """Its record alone, unless it says otherwise."""
        return (self.record,)

    @property
    def changing(self) -> tuple[str, ...]:
        """The same, unless something derived is told, too."""
        return self.measured

    def has_run(self, path: Path) -> bool:
        """Return whether a run of it lies at a path."""
        is_profile = self.is_file and path.parent.name == SERVER_PROFILES
        return is_profile or (bool(self.record) and (path / self.record).is_file())

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """What a list tells of a run, which has its name, place and kind already."""
        raise NotImplementedError

    def render_page(self, path: Path) -> str:
        """The page of a comparison block by block; all other pages are made of `read_result`."""
        raise NotImplementedError

    def read_result(self, path: Path) -> Any:
        """What it came to (`dyno.report.result`), as page and formats tell it; `UsageError` where
        nothing can be told yet.
        """
        raise NotImplementedError

    def read_points(self, path: Path) -> MeasuredRun:
        """What a history needs of a run, if it is no comparison and `has_history`."""
        raise NotImplementedError

    def read_progress(self, path: Path) -> RunProgress:
        """What is known of one that plays just now."""
        raise NotImplementedError


def load_instruments() -> dict[str, Instrument]:
    """All instruments, by the name of the runs that they leave."""
    found = load_things("dyno.instruments", "INSTRUMENT").values()
    return {each.name: each for each in found}


def list_records() -> list[str]:
    """The records by which a folder is known as a run's."""
    own = [each.record for each in load_instruments().values() if each.record]
    return [*own, FLEET_RECORD]


@dataclass(frozen=True)
class RunFolder:
    """One run's folder."""

    path: Path

    @property
    def instrument(self) -> Instrument:
        """What it was measured with; `UsageError` where there is no run."""
        for each in load_instruments().values():
            if each.has_run(self.path):
                return each
        raise UsageError(f"there is no run in {self.path}")

    def read_run(self) -> Run:
        """`run.json`; `UsageError` where it is missing, broken or from a newer Dyno."""
        return read_json(Run, self.path / "run.json")

    def read_trials(self) -> list[Trial]:
        """Every trial on disk, by number, torn ones included; `UsageError` for one of another run,
        whose workload or candidate this one has not.
        """
        files = sorted((self.path / "trials").glob("[0-9]*.json"))
        found = [read_json(Trial, file) for file in files]
        if not found:
            return []
        run = self.read_run()
        workloads = {each.name for each in run.workloads}
        names = {each.name for each in run.candidates}
        beside = {make(name) for name in names for make in (name_echo, name_contents)}
        candidates = names | beside | {CLIENT_BASELINE}
        for file, trial in zip(files, found, strict=True):
            if trial.workload not in workloads or trial.candidate not in candidates:
                cause = f"'{trial.candidate}' on '{trial.workload}' is not in run.json"
                raise build_damage_error(file, cause)
            if trial.block >= 0 and not 0 <= trial.order < len(names):
                cause = f"Trial.order must be a place among {len(names)} candidates"
                raise build_damage_error(file, cause)
        return found

    def write_trial(self, trial: Trial) -> None:
        """Writes a trial once, whole or not at all; `HostError` where the disk is full."""
        file = self.path / "trials" / f"{trial.number:04}.json"
        if file.exists():
            raise UsageError(f"{file} already exists", hint="another dyno may be playing this run")
        write_json(file, trial)

    def read_counts(self) -> tuple[Count, ...]:
        """The counts of instructions that were made with the run, one for each workload."""
        return tuple(
            read_json(Count, file) for file in sorted(self.path.glob(f"{COUNTS}/*/{COUNT_RECORD}"))
        )

    def write_profile(self, profile: StackProfile) -> None:
        """Writes the profile of a trial that was played for its callers."""
        folder = self.path / PROFILES
        if not folder.is_dir():
            private_files.make_folder(folder)
        write_json(folder / f"{profile.number:04}.json", profile)

    def read_profiles(self) -> list[StackProfile]:
        """Those of the run, by number; none where callers were not asked for."""
        files = sorted((self.path / PROFILES).glob("[0-9]*.json"))
        return [read_json(StackProfile, file) for file in files]

    def read_verdict(self) -> Verdict | None:
        """`verdict.json`, or None where nothing has judged the run yet."""
        file = self.path / "verdict.json"
        return read_json(Verdict, file) if file.exists() else None

    def write_verdict(self, verdict: Verdict) -> Path:
        """Writes `verdict.json`, which is derived and may be written again."""
        private_files.tighten(self.path)
        return write_json(self.path / "verdict.json", encode(verdict, former_keys=True))

    def log(self, number: int) -> Path:
        """Where trial `number` writes its log."""
        return self.path / "logs" / f"{number:04}.log"

    def find_loaded_list(self, number: int) -> Path:
        """Where trial `number` lists what it loaded into an attached server, while it is there."""
        return self.path / LOADED / f"{number:04}.json"

    @contextmanager
    def hold_alone(self) -> Iterator[None]:
        """Locks the run while it is played; `UsageError` where another dyno plays it.

        The kernel lets go of it however we end.
        """
        private_files.tighten(self.path)
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if not try_lock(handle):
                hint = "wait for its end, or interrupt it"
                raise UsageError(f"another dyno plays {self.path.name}", hint=hint)
            mark(handle)
            yield
        finally:
            os.close(handle)

    def is_played(self) -> bool:
        """Does a dyno play this run just now?"""
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return is_marked(handle)
        finally:
            os.close(handle)

    def find_homes(self) -> Path:
        """The folder for the engines' data: in the run's own, or elsewhere (`scratch`).

        Runs that began elsewhere in the same second have the same name, and not the same path.
        """
        if chosen := scratch.find_data_home():
            own = hashlib.sha256(bytes(self.path.resolve())).hexdigest()[:8]
            return Path(chosen).absolute() / f"dyno-{self.path.name}-{own}"
        return self.path.absolute() / "home"

    def make_homes(self) -> None:
        """Makes that folder: private where only we go there, else others may pass through and not
        look into it.
        """
        homes = self.find_homes()
        private_files.make_folder(homes)
        if homes.parent != self.path.absolute():
            homes.chmod(0o711)

    @contextmanager
    def hold_homes(self) -> Iterator[Path]:
        """That folder, empty at first, held while a run is played, and gone at the end."""
        self.clear_homes()
        self.make_homes()
        try:
            with scratch.hold(self.find_homes()):
                yield self.find_homes()
        finally:
            self.clear_homes()

    def clear_homes(self) -> str:
        """Removes the engines' data, those of torn trials too; answers why some stay, a sentence,
        empty where none do.
        """
        return private_files.remove_folder(self.find_homes())


def find_runs_home() -> Path:
    """Where runs lie: `$DYNO_RUNS`, else `./runs`."""
    return Path(os.environ.get("DYNO_RUNS") or "runs")


def make_run_to_come() -> RunFolder:
    """A run that is not there yet, which knows where the data of its engines will lie."""
    return RunFolder(find_runs_home() / "any")


def create_run(run: Run, runs: Path) -> RunFolder:
    """A new folder ``<utc>-<name>`` under `runs`, with `run.json` in it."""
    path = make_run_folder(runs, run.created_utc, run.name)
    for inner in ("trials", "logs"):
        private_files.make_folder(path / inner)
    write_json(path / "run.json", run)
    return RunFolder(path)


def make_run_folder(runs: Path, created_utc: str, words: str) -> Path:
    """A new folder ``<utc>-<words>`` under `runs`, of a name that no other has; `HostError` where
    none can be made.
    """
    stamp = re.sub(r"[-:Z]|\.\d+|\+.*", "", created_utc) + "Z"
    name = f"{stamp}-{re.sub(r'[^A-Za-z0-9._@-]+', '-', words).strip('-')[:60].strip('-')}"
    for count in range(1, 1000):
        path = runs / (name if count == 1 else f"{name}-{count}")
        try:
            private_files.make_folder(path)
        except OSError as error:
            is_file = isinstance(error, FileExistsError)
            if is_file and runs.is_dir():
                continue
            hint = "name another folder for runs with DYNO_RUNS"
            cause = f"{error.strerror}{find_fullest(error, runs)}"
            cause = f"{runs} is a file" if is_file else cause
            raise HostError(f"cannot make {path}", cause=cause, hint=hint) from error
        return path
    raise HostError(f"too many runs are named {name}")


def open_run(path: Path, runs: Path) -> RunFolder:
    """The folder at `path`, or at ``runs/path``; `UsageError` where there is no run in it."""
    for folder in (path, runs / path):
        if (folder / "run.json").is_file():
            return RunFolder(folder)
        if torn := find_torn(folder):
            hint = f"{torn.noun} cannot go on; start it again"
            raise UsageError(f"{folder.name} is {torn.noun} that did not end", hint=hint)
    if path.is_dir():
        raise UsageError(f"there is no run in {path}", hint="run.json is missing")
    raise build_unknown_error("run", str(path), [f.path.name for f in list_runs(runs)])


def find_torn(folder: Path) -> Instrument | None:
    """What a run that has no record would be of: one that is played, or was killed."""
    if any((folder / name).exists() for name in list_records()):
        return None
    known = load_instruments().values()
    return next((it for it in known if it.begun and (folder / it.begun).is_dir()), None)


def list_runs(runs: Path) -> list[RunFolder]:
    """All comparisons under `runs`, oldest first."""
    return [RunFolder(file.parent) for file in sorted(runs.glob("*/run.json"))]


def list_every_run(runs: Path) -> list[RunFolder]:
    """The same with counts, runs of disks, and capacities."""
    found = {file.parent for record in list_records() for file in runs.glob(f"*/{record}")}
    return [RunFolder(path) for path in sorted(found)]
