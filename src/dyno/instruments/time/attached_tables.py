"""Tables in a server that runs already: where a script may load data, and what it leaves behind.

Once a trial's `prepare` is over, well or not, the tables that appeared in the database meanwhile
are listed in the run's folder: that they appeared while we loaded into a database that was empty is
the ground on which they are taken for ours. At its end, whatever ends it but a kill, the trial
drops those of the list that its script's `cleanup` has left, and nothing else; `resume` does so
after a kill. A kill within `prepare` leaves no list: what lies there then stays, and `resolve`
refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dyno.builds import Build, Say
from dyno.engines import Attaches, Engine
from dyno.instruments.time.job import TrialJob
from dyno.private_files import make_folder
from dyno.record import PhaseRecord
from dyno.record.decode import encode
from dyno.record.schema import Record
from dyno.runs.run_folder import LOADED, RunFolder, read_json, write_json

#: The script's commands that load and that drop.
PREPARE, CLEANUP = "prepare", "cleanup"


def is_prepared(phases: Sequence[PhaseRecord]) -> bool:
    """Did `prepare` come to its end, so that what it made is there and its own?"""
    loads = [phase for phase in phases if phase.phase == PREPARE and not phase.interrupted]
    return bool(loads) and not any(stream.failed for load in loads for stream in load.streams)


class _List(Record):
    candidate: str
    tables: tuple[str, ...]


@dataclass
class LoadedTables:
    """The tables that a trial loads into somebody's server; nothing, where the server is ours."""

    job: TrialJob
    before: frozenset[str] | None = None
    made: frozenset[str] = frozenset()

    def begin(self) -> None:
        """The load is about to begin: what is there already is not ours."""
        self.before = self._list_tables()

    def note_tables(self) -> None:
        """The load is over, if one was begun: lists what appeared."""
        job = self.job
        if self.before is not None:
            self.made, self.before = self._list_tables() - self.before, None
        if self.made:
            make_folder(job.loaded.parent, exist_ok=True)
            write_json(job.loaded, encode(_List(job.candidate.name, tuple(sorted(self.made)))))

    def drop(self) -> None:
        """Drops what the script has left of what it made, and the list."""
        engine, left = self.job.engine, self._list_tables() & self.made
        if left and isinstance(engine, Attaches):
            engine.drop(self.job.build, sorted(left))
        self.job.loaded.unlink(missing_ok=True)

    def _list_tables(self) -> frozenset[str]:
        engine, build = self.job.engine, self.job.build
        if not build.attached or not isinstance(engine, Attaches):
            return frozenset()
        return frozenset(engine.list_tables(build))


def drop_leftovers(
    run: RunFolder, engines: Mapping[str, Engine], builds: Mapping[str, Build], say: Say
) -> None:
    """Drops what the killed trials of a run listed and is there now, and their lists."""
    for file in sorted(run.path.glob(f"{LOADED}/*.json")):
        listed = read_json(_List, file)
        engine, build = engines[listed.candidate], builds[listed.candidate]
        there = engine.list_tables(build) if isinstance(engine, Attaches) else []
        if isinstance(engine, Attaches) and (left := [it for it in there if it in listed.tables]):
            say(f"dropping {', '.join(left)}, which a killed run loaded at {build.name}")
            engine.drop(build, left)
        file.unlink()
