"""Loads that are kept: where loading is slow, trials begin with a copy of one from the cache.

The data folder of an engine that was stopped after `prepare` goes to the cache, and trials that
follow begin with a copy of it and play only the rest; so do those of a workload whose options
differ in what shapes no data (`workloads.select_data_options`). Each candidate has `LOADS` loads of
a workload, made one after the other in the first blocks and rotated over the others; blocks that
share them are one datum (`docs/METHOD.md`). What a load counted lies beside it, so that the ledger
stays true; its phases belong to it and to no trial.

In a rehearsal the base's data folder may be what a candidate begins with: loaded by the base,
stopped cleanly, upgraded by the candidate's own means, and checked (`with_upgraded`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dyno import private_files
from dyno.builds import cache
from dyno.disk_use import measure_file_bytes
from dyno.engines import Snapshots, UpgradesFolders
from dyno.errors import HostError, TrialFailed
from dyno.instruments.time.controls import hold_controls
from dyno.instruments.time.engine_session import EngineSession, SessionPart
from dyno.instruments.time.evidence import check_integrity
from dyno.instruments.time.job import LoadChoice, TrialJob, TrialNotes
from dyno.instruments.time.leftovers import LoadedTables
from dyno.instruments.time.watch import Watch
from dyno.judge.analysis.judge import InterimResult
from dyno.record import FolderUpgrade, PhaseRecord, Run, Trial, WorkloadPlan, name_contents
from dyno.record.integrity import IntegrityCheck
from dyno.runs.resolve.design import SMALL_BYTES
from dyno.runs.resolve.draft import Prepared
from dyno.workloads import select_data_options

#: The command that loads.
PREPARE = "prepare"
KIND = "load"


@dataclass(frozen=True)
class KeptLoad:
    """A load in the cache: its folder, what its script counted, how long it took, and what it sent
    (`LoadCondition` tells of `texts`, `sent` and `rows_changed`).
    """

    name: str
    folder: Path
    counters: dict[str, int]
    seconds: float
    texts: str = ""
    sent: int | None = None
    rows_changed: int | None = None


def choose_load(
    asked: int | None,
    workload: WorkloadPlan,
    played: Sequence[Trial],
    block: int,
    size_bytes: int = 0,
) -> LoadChoice | None:
    """The turn of a trial in `block`; None where every trial loads its data anew.

    `asked` is the design's number of loads. Where that does not say, the workload's first trial
    decides, for all candidates, unless the data are small by the script's own guess, `size_bytes`.
    """
    if PREPARE not in workload.commands or asked == 0:
        return None
    if asked is not None:
        return LoadChoice(block % asked, asked)
    own = [t for t in played if t.workload == workload.name and t.block >= 0 and t.status == "ok"]
    if not own:
        return None if 0 < size_bytes < SMALL_BYTES else LoadChoice(0, 0)
    first = own[0].conditions.load
    return LoadChoice(block % first.of, first.of) if first else None


def prepare_load(session: EngineSession, choice: LoadChoice) -> KeptLoad | None:
    """Leaves a load in the home of the session's job, made there where the cache has none.

    None, and an empty home, where loading turned out to be so quick that every trial does it.
    """
    job = session.job
    name = _name_load(job, choice.number)
    found = _find_load(name)
    if found is None:
        part = SessionPart((PREPARE,), _compute_seed(job, choice.number))
        with session.run_engine() as server:
            session.play(server, part)
        if not choice.of and part.seconds <= choice.slow_s:
            shutil.rmtree(job.home)
            job.home.mkdir(mode=0o700)
            return None
        found = _keep_load(name, job.home, part)
    with cache.keep_entries([found.folder]):
        _copy(found.folder / "home", job.home)
    return found


def _find_load(name: str) -> KeptLoad | None:
    try:
        folder = cache.find_root() / KIND / name
        os.utime(folder)
        noted = json.loads((folder / "load.json").read_text())
    except OSError:  # there is none, or none that we may read: it is made anew
        return None
    return KeptLoad(name, folder, **noted)


def _keep_load(name: str, home: Path, part: SessionPart) -> KeptLoad:
    """Moves what lies in `home` to the cache, which drops older loads for its space."""
    size = measure_file_bytes(home)
    cache.trim(KIND, cache.read_limit_bytes() - size)

    def make(fresh: Path) -> None:
        try:
            home.rename(fresh / "home")
        except OSError:  # another file system
            _copy(home, fresh / "home")
        (fresh / "load.json").write_text(json.dumps(noted))

    noted = {"counters": part.counters, "seconds": part.seconds, **_describe_work(part.phases)}
    folder = cache.ensure_entry(KIND, name, make, lambda _: None)
    return KeptLoad(name, folder, **noted)


def _describe_work(phases: Sequence[PhaseRecord]) -> dict[str, Any]:
    """What a load sent: its texts' digest, how many statements, how many rows they changed."""
    streams = [tally for phase in phases for tally in phase.streams]
    statements = [each for tally in streams for each in tally.statements]
    texts = "\n".join(sorted({each.digest for each in statements}))
    return {
        "texts": hashlib.sha256(texts.encode()).hexdigest()[:16],
        "sent": sum(each.sent for each in statements),
        "rows_changed": sum(each.rows_changed for each in statements),
    }


def _copy(source: Path, target: Path) -> None:
    """Puts a copy of a folder in place of another, with owners, times, and shared blocks."""
    try:
        private_files.remove_all(target)  # a copy would go into what stays
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise HostError(f"cannot restore {target} from its kept load", cause=why) from None
    cache.copy(source, target)


def _name_load(job: TrialJob, number: int) -> str:
    """The cache's name for a load: readable, and a hash of all that the data depend on."""
    settings = job.candidate.settings
    if isinstance(job.engine, Snapshots):
        settings = job.engine.select_file_settings(settings)
    options = select_data_options(Path(job.workload.script), job.workload.options)
    parts = [
        job.candidate.engine,
        job.candidate.build,
        settings,
        options,
        _compute_seed(job, number),
    ]
    makers = [job.workload.script_sha256, job.driver_sha256]
    text = json.dumps([*parts, *makers], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    words = f"{job.candidate.engine}-{job.build.version}-{Path(job.workload.script).stem}"
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', words)}-{number + 1}-{digest}"


def _compute_seed(job: TrialJob, number: int) -> int:
    """The load's own seed: the same for all candidates, another one for each load."""
    text = f"{job.run_seed}/{Path(job.workload.script).stem}/{KIND}/{number}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


#: Letters of a program's words that a record keeps, its last ones.
WORDS_KEPT = 20_000


def with_upgraded(job: TrialJob, prepared: Prepared) -> TrialJob:
    """The job; where the run asks for it and it is not the base's, with what it begins with."""
    design = prepared.design
    if not design.upgrades_folder or job.candidate.name == design.base:
        return job
    base = next(it for it in prepared.candidates if it.name == design.base)
    old = replace(
        job,
        candidate=base,
        engine=prepared.engines[base.name],
        build=prepared.builds[base.name],
        controls=design.controls | base.controls,
        home=job.home.with_name(f"{job.workload.name}-upgraded"),
        load=None,
    )
    return replace(job, upgraded=old)


def stop_where_failed(run: Run, state: InterimResult, played: Sequence[Trial]) -> InterimResult:
    """Where a rehearsal stands, which is over where a side's answers failed: its data were refused,
    or the upgrade of its folder, and nothing can be held against the other side.
    """
    sides = {name_contents(it.name) for it in run.candidates} if run.design.rehearses else ()
    for trial in played:
        if trial.failure and trial.candidate in sides:
            return replace(state, state="failed", sentence=trial.why_failed)
    return state


def begin_with_upgraded(old: TrialJob, job: TrialJob, notes: TrialNotes, watch: Watch) -> None:
    """Puts a copy of the home of `old`, upgraded, in the place of the job's; it is made where it is
    not there yet, which `notes` tell then.

    `TrialFailed` where OLD cannot load the data, or NEW not take them over.
    """
    if not old.home.exists():
        try:
            _make_upgraded(old, replace(job, home=old.home), notes, watch)
        except BaseException:
            private_files.remove_folder(old.home)
            raise
    _copy(old.home, job.home)


def _make_upgraded(old: TrialJob, new: TrialJob, notes: TrialNotes, watch: Watch) -> None:
    engine = new.engine
    assert isinstance(engine, UpgradesFolders), "asked for of such engines alone"
    old.home.mkdir(parents=True, mode=0o700)
    with ExitStack() as stack:
        session = _make_upgrader(old, stack, watch)
        with session.run_engine() as server:
            session.play(server, SessionPart((PREPARE,), old.seed))
    began_s = time.monotonic()
    try:
        words = engine.upgrade_folder(old.build, new.build, new.home, new.candidate.settings)
    except TrialFailed as failed:
        took_s = time.monotonic() - began_s
        notes.upgrade = FolderUpgrade(took_s, failed.cause[-WORDS_KEPT:], failed=True)
        raise
    took_s = time.monotonic() - began_s
    notes.upgrade = FolderUpgrade(took_s, words[-WORDS_KEPT:], _check_upgraded(new, watch))


def _check_upgraded(new: TrialJob, watch: Watch) -> tuple[IntegrityCheck, ...]:
    """All that the engine can be asked of its tables, as in a first block."""
    asked = replace(new, block=0, check="full")
    with ExitStack() as stack, _make_upgrader(asked, stack, watch).run_engine() as server:
        return check_integrity(asked, server)


def _make_upgrader(job: TrialJob, stack: ExitStack, watch: Watch) -> EngineSession:
    notes = TrialNotes()
    return EngineSession(job, notes, watch, hold_controls(job, notes, stack), LoadedTables(job))
