"""The report: documents as data, which `render/` draws; `sections/` of a page, `export.py`.

A report reads records and verdicts only, so it can be made again on a machine without engines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dyno.plugins import load_things
from dyno.record import Run, Trial, Verdict
from dyno.record.profile import CpuProfile, StackProfile

if TYPE_CHECKING:
    from dyno.judge.analysis.run_view import RunView
    from dyno.report.accepted import AcceptedLoss
    from dyno.report.document import Document


@dataclass(frozen=True)
class Book:
    """All that a section may look at; `losses` are those that the repository accepts, `page` is the
    file of its page in the folder.
    """

    folder: Path
    run: Run
    trials: Sequence[Trial]
    verdict: Verdict
    profiles: Sequence[StackProfile] = ()
    losses: tuple[AcceptedLoss, ...] = ()
    page: str = "report.html"

    @cached_property
    def view(self) -> RunView:
        from dyno.judge.analysis.run_view import RunView  # loads scipy; a history needs words only

        return RunView(self.run, self.trials)

    def find_stacks(self, candidate: str, workload: str, phase: str) -> CpuProfile | None:
        """The profile with callers of a candidate's phase; None where none was taken."""
        own = (it for it in self.profiles if (it.candidate, it.workload) == (candidate, workload))
        found = next((it.phases[phase] for it in own if phase in it.phases), None)
        return found if found and found.stacks else None

    def find_stacks_host(self, workload: str) -> str:
        """The host whose callers stand for a workload; empty where one host played the run."""
        return next((it.host for it in self.profiles if it.workload == workload), "")


@dataclass(frozen=True)
class Section:
    """A part of the page; sections stand in the order of their `place`. One that has nothing to say
    of a run builds no block.
    """

    title: str
    place: int
    build: Callable[[Book], Document]


def load_sections() -> dict[str, Section]:
    found: dict[str, Section] = load_things("dyno.report.sections", "SECTION")
    return dict(sorted(found.items(), key=lambda pair: pair[1].place))
