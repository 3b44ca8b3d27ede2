"""One play under callgrind: a copy of the loaded data, so many operations of one user, and the
files that callgrind wrote of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyno import private_files
from dyno.builds import cache
from dyno.driver.plan import Excerpt
from dyno.errors import TrialFailed
from dyno.host.probes import Measure, Probe, ProbeTarget
from dyno.host.processes import list_process_family, read_start_ticks
from dyno.instruments.time.controls import hold_controls
from dyno.instruments.time.engine_session import EngineSession, SessionPart
from dyno.instruments.time.job import TrialJob, TrialNotes
from dyno.instruments.time.leftovers import LoadedTables
from dyno.instruments.time.loads import PREPARE
from dyno.judge.analysis.measures import count_operations
from dyno.profile.valgrind import FILES, Valgrind

#: The command whose operations are counted.
RUN = "run"


@dataclass
class CountSwitch:
    """Has callgrind count from where a phase stands ready until its last answer: a probe without
    numbers of its own.
    """

    valgrind: Valgrind
    folder: Path
    summary: str = "instructions"
    is_condition: bool = True
    measures: tuple[Measure, ...] = ()
    _on: list[int] = field(default_factory=list)

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """Switches on before a phase, and writes the counts after it."""
        if self._on:
            for pid in self._on:
                self.valgrind.write_counts(pid, self.folder)
            self._on.clear()
            return {}
        self._on += find_serving_processes(watched)
        for pid in self._on:
            self.valgrind.switch_on(pid, self.folder)
        return {}


def find_serving_processes(watched: ProbeTarget) -> list[int]:
    """Those that may serve the driver: the engine's process, or of a server of many those that
    began since the driver did.

    The others are left alone: callgrind may end a process that is switched on while a signal comes,
    and a server's helpers wake each other by signals.
    """
    family = list_process_family(watched.server_pid)
    if len(family) == 1 or watched.embedded:
        return family[:1]
    since = read_start_ticks(watched.client_pid)
    return [pid for pid in family[1:] if read_start_ticks(pid) >= since]


@dataclass(frozen=True)
class CountedPlay:
    """What a play did: so many operations, in files of counts in `folder`."""

    operations: int
    folder: Path

    @property
    def files(self) -> list[Path]:
        """The files of counts, one for each thread that did something."""
        return sorted(self.folder.glob(f"{FILES}.*"))


def load_data(job: TrialJob, loaded: Path) -> None:
    """Makes the data of `job`, lets the engine settle, so that they lie alike after each load, and
    moves them to `loaded`; nothing is counted meanwhile.
    """
    with _open_session(job, None) as session:
        if PREPARE in job.workload.commands:
            with session.run_engine() as server:
                session.play(server, SessionPart((PREPARE,), job.seed))
                job.engine.settle(server)
    job.home.rename(loaded)


def play_counted(
    job: TrialJob, loaded: Path, excerpt: Excerpt, valgrind: Valgrind, kept: Path
) -> CountedPlay:
    """Plays `excerpt` on a copy of `loaded` under callgrind, whose files are moved to `kept`.

    `TrialFailed` where an operation failed, or not all were played.
    """
    cache.copy(loaded, job.home)
    part = SessionPart((RUN,), job.seed, excerpt=excerpt)
    with _open_session(job, valgrind) as session, session.run_engine() as server:
        session.play(server, part)
    _check_work(part, excerpt)
    kept.parent.mkdir(mode=0o700, exist_ok=True)
    private_files.make_folder(kept)
    for file in sorted(find_count_folder(job.home).glob(f"{FILES}.*")):
        if file.stat().st_size:
            shutil.copyfile(file, kept / file.name)
    said = private_files.remove_folder(job.home)
    if said:
        raise TrialFailed(f"the data of a counted play stay: {said}")
    return CountedPlay(count_operations(part.phases[-1]), kept)


def find_count_folder(home: Path) -> Path:
    """Where callgrind writes: in the home, since a server's account may write nowhere else."""
    return home / "counts"


def _check_work(part: SessionPart, excerpt: Excerpt) -> None:
    tallies = [tally for phase in part.phases for tally in phase.streams]
    if failed := sum(tally.failed for tally in tallies):
        raise TrialFailed(f"{failed:,} operations failed while they were counted")
    done = sum(tally.done for tally in part.phases[-1].streams)
    if done != excerpt.events:
        raise TrialFailed(f"{done:,} events were played while they were counted, not all of them")


@contextmanager
def _open_session(job: TrialJob, valgrind: Valgrind | None) -> Iterator[EngineSession]:
    """An engine's session under the controls of its job and, if there is one, under callgrind."""
    notes = TrialNotes()
    with ExitStack() as stack:
        if valgrind is None:
            job.home.mkdir(mode=0o700)
            held = hold_controls(job, notes, stack)
        else:
            folder = find_count_folder(job.home)
            folder.mkdir(mode=0o700, exist_ok=True)
            job = replace(job, tools=replace(job.tools, probes=_make_probes(valgrind, folder)))
            held = hold_controls(job, notes, stack)
            held = replace(
                held,
                executor=valgrind.make_executor(folder),
                environment=held.environment | valgrind.environment,
                shown_as=valgrind.tool,
            )
        yield EngineSession(job, notes, lambda _: None, held, LoadedTables(job))


def _make_probes(valgrind: Valgrind, folder: Path) -> Mapping[str, Probe]:
    return {"instructions": CountSwitch(valgrind, folder)}
