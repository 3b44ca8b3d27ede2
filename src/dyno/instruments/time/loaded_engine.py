"""An engine of ours with the tables of a workload, up for as long as somebody looks at it: nothing
is measured, and no control holds the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dyno.engines import Server
from dyno.instruments.time.brief_play import make_pilot_job
from dyno.instruments.time.controls import ControlStack
from dyno.instruments.time.engine_session import EngineSession, SessionPart
from dyno.instruments.time.job import Tools, TrialNotes
from dyno.instruments.time.leftovers import PREPARE, LoadedTables
from dyno.instruments.time.run import make_temporary_run
from dyno.runs.resolve.draft import RunDraft


@contextmanager
def run_loaded(draft: RunDraft) -> Iterator[Server]:
    """The first candidate's engine on fresh data, the workload's tables in it and settled; neither
    is left behind. `TrialFailed` where it does not start, or refuses what loads it.
    """
    (workload,) = draft.workloads
    with make_temporary_run() as place:
        job = make_pilot_job(draft, workload, draft.candidates[0], place, Tools(probes={}))
        job.home.mkdir(mode=0o700)
        loaded = LoadedTables(job)
        session = EngineSession(job, TrialNotes(), lambda _: None, ControlStack(), loaded)
        with session.run_engine() as server:
            if PREPARE in workload.commands:
                session.play(server, SessionPart((PREPARE,), job.seed))
            job.engine.settle(server)
            yield server
