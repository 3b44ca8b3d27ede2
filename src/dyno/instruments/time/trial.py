"""One trial: a fresh home, a fresh engine, the driver under the controls, the ledger, the stop; and
those of a block played together, where they are interleaved.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from dyno import private_files
from dyno.disk_use import measure_file_bytes
from dyno.engines import ReadsSql
from dyno.errors import DynoError
from dyno.instruments.time.controls import (
    act_after_restore,
    describe_conditions,
    hold_controls,
    record_no_copy,
)
from dyno.instruments.time.engine_session import EngineSession, SessionPart
from dyno.instruments.time.interleaving import InterleavedBlock, InterleavingBroken
from dyno.instruments.time.job import LoadChoice, TrialJob, TrialNotes
from dyno.instruments.time.leftovers import LoadedTables
from dyno.instruments.time.loads import PREPARE, begin_with_upgraded, prepare_load
from dyno.instruments.time.watch import Event, Watch
from dyno.record import Conditions, Failure, LoadCondition, Status, Trial
from dyno.runs.resolve.design import LOADS

#: A trial that is over, and what stopped it, if anything did.
Played = tuple[Trial, BaseException | None]
#: Plays a job; a test hands in one that plays nothing.
TrialPlayer = Callable[[TrialJob, Watch], Played]
#: How often the main thread looks up: a signal is heard by it alone.
PAUSE_S = 0.1


def play_trial(job: TrialJob, watch: Watch) -> Played:
    """Plays `job`, and answers the trial with what stopped it, if anything did.

    Whatever happens, nothing of it is left: no process, no data; what cannot be cleared away is
    said in the record. Only faults of our own escape.
    """
    began, began_ns, notes = datetime.now(UTC), time.monotonic_ns(), TrialNotes()
    status: Status = "ok"
    error: BaseException | None = None
    try:
        job.home.mkdir(parents=True, mode=0o700)
        with ExitStack() as stack:
            held = hold_controls(job, notes, stack)
            session = EngineSession(job, notes, watch, held, LoadedTables(job))
            commands = job.workload.commands
            if job.upgraded is not None:
                begin_with_upgraded(job.upgraded, job, notes, watch)
                act_after_restore(held, notes, job.home)
                commands = tuple(each for each in commands if each != PREPARE)
            elif job.load is not None and _take_kept_load(job.load, session):
                commands = tuple(each for each in commands if each != PREPARE)
            else:
                record_no_copy(held, notes)
            with session.run_engine() as server:
                if job.asked is None:
                    session.play(
                        server, SessionPart(commands, job.seed, is_last=True, phases=notes.phases)
                    )
                elif isinstance(job.engine, ReadsSql):
                    if PREPARE in commands:
                        session.play(server, SessionPart((PREPARE,), job.seed))
                    if job.explains:
                        session.explain_loaded(server)
                        notes.settings = job.engine.settings(server)
                    if job.block >= 0:
                        job.engine.settle(server)
                    notes.phases += job.asked.ask(server, job.engine)
        notes.size_bytes = measure_file_bytes(job.home)
    except DynoError as failed:
        status, error = "failed", failed
    except InterleavingBroken:  # the trial that failed says why
        status = "interrupted"
    except KeyboardInterrupt as stopped:
        status, error = "interrupted", stopped
    finally:
        if said := private_files.remove_folder(job.home):
            notes.left_behind.append(said)
        if job.seat and status != "ok":
            job.seat.block.break_off()
    played = _build_record(job, notes, began, status, error)
    return replace(played, began_ns=began_ns, over_ns=time.monotonic_ns()), error


def _build_record(
    job: TrialJob, notes: TrialNotes, began: datetime, status: Status, error: BaseException | None
) -> Trial:
    return Trial(
        number=job.number,
        workload=job.workload.name,
        block=job.block,
        candidate=job.candidate.name,
        attempt=job.attempt,
        order=job.order,
        started_utc=began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        status=status,
        phases=tuple(notes.phases),
        counters=notes.counters,
        settings=notes.settings,
        conditions=Conditions(
            describe_conditions(notes),
            notes.pinning,
            notes.driver,
            notes.load,
            notes.storage,
            notes.data,
        ),
        evidence=notes.evidence,
        plans=notes.plans,
        plans_before=notes.plans_before,
        unexplained=notes.unexplained,
        generic_plans=notes.generic_plans,
        integrity=notes.integrity,
        upgrade=notes.upgrade,
        size_bytes=notes.size_bytes,
        failure=_describe_failure(error) if isinstance(error, DynoError) else None,
        log=_log(job.log),
        options=job.candidate.options,
        left_behind=tuple(notes.left_behind),
    )


def _describe_failure(error: DynoError) -> Failure:
    return Failure(error.message, error.cause, error.hint)


def _log(log: Path) -> str:
    """The log's place within the run's folder; one without a word in it is removed."""
    with suppress(FileNotFoundError):
        if log.stat().st_size:
            return f"{log.parent.name}/{log.name}"
        log.unlink()
    return ""


def _take_kept_load(choice: LoadChoice, session: EngineSession) -> bool:
    """Copies a kept load into the home, its counts with it; False where there is none."""
    job, notes = session.job, session.notes
    load = prepare_load(session, choice)
    notes.counters = dict(load.counters) if load else {}
    if load is None:
        return False
    work = load.texts, load.sent, load.rows_changed
    of = choice.of or LOADS
    notes.load = LoadCondition(choice.number + 1, of, load.name, load.seconds, *work)
    act_after_restore(session.controls, notes, job.home)
    return True


def play_together(
    jobs: Sequence[TrialJob], block: InterleavedBlock, play: TrialPlayer, watch: Watch
) -> tuple[list[Played], KeyboardInterrupt | None]:
    """Plays all jobs side by side; answers what `play` answered of each, and the Ctrl-C that
    stopped them.

    Where one fails, the others end as `interrupted`. A fault of our own is raised when all have
    ended. An engine's life is bound to its thread's, which lasts until all have ended.
    """
    lock = threading.Lock()

    def tell(event: Event) -> None:
        with lock:
            watch(event)

    stopped: KeyboardInterrupt | None = None
    with ThreadPoolExecutor(len(jobs), thread_name_prefix="trial") as threads:
        trials = [threads.submit(play, job, tell) for job in jobs]
        while True:
            try:
                if not wait(trials, PAUSE_S).not_done:
                    return [trial.result() for trial in trials], stopped
                if any(trial.done() and trial.exception() for trial in trials):
                    block.break_off()
            except KeyboardInterrupt as pressed:
                stopped = pressed
                block.break_off()


def compute_trial_seed(run_seed: int, workload: str, block: int) -> int:
    """The seed of a block's trials: all candidates of a block are sent the same requests."""
    digest = hashlib.sha256(f"{run_seed}/{workload}/{block}".encode()).digest()
    return int.from_bytes(digest[:4])
