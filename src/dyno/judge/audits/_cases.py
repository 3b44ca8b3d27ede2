"""What an audit judges, one candidate in one phase of a workload over all its restarts; and how its
findings are put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dyno.judge.analysis.effects import find_margin_percent
from dyno.record import (
    Candidate,
    Finding,
    Phase,
    PhaseRecord,
    Primary,
    Run,
    Soundness,
    Tally,
    Trial,
)


@dataclass(frozen=True)
class Case:
    """One candidate in one phase of a workload: its good trials, their records of that phase.

    `plan` is the phase as declared; None for one that no workload declares (a load).
    """

    candidate: Candidate
    workload: str
    phase: str
    plan: Phase | None
    played: tuple[Trial, ...]

    @property
    def name(self) -> str:
        """`oltp_point_select/run on new`."""
        return f"{self.workload}/{self.phase} on {self.candidate.name}"

    @property
    def trials(self) -> tuple[int, ...]:
        """The trials' numbers."""
        return tuple(trial.number for trial in self.played)

    @property
    def records(self) -> tuple[PhaseRecord, ...]:
        """What they measured in the phase."""
        return find_records(self.played, self.phase)

    @property
    def streams(self) -> dict[str, list[tuple[PhaseRecord, Tally]]]:
        """Each stream's tallies, one for each restart, beside the record that holds it."""
        found: dict[str, list[tuple[PhaseRecord, Tally]]] = {}
        for record in self.records:
            for tally in record.streams:
                found.setdefault(tally.name, []).append((record, tally))
        return found

    @property
    def is_idle(self) -> bool:
        """Was no event answered, and did none fail?"""
        return not any(t.done or t.failed for record in self.records for t in record.streams)

    @property
    def primaries(self) -> tuple[Primary, ...]:
        """What a verdict rests on in the phase."""
        return self.plan.primary if self.plan else ()

    def list_primary(self, stream: str) -> list[str]:
        """The metrics of a stream that a verdict rests on."""
        return [each.metric for each in self.primaries if each.stream == stream]

    def find_margin_percent(self, run: Run, stream: str | None = None) -> float:
        """The slowdown that matters in the phase, or in one of its streams."""
        plan = next(each for each in run.workloads if each.name == self.workload)
        return find_margin_percent(
            run, plan.with_options(self.candidate.options), self.phase, stream
        )

    def make_finding(self, audit: str, soundness: Soundness, words: str) -> Finding:
        """What is wrong here. A load has no line of its own: what is wrong in it taints all."""
        phase = self.phase if self.plan else ""
        return Finding(audit, soundness, f"{self.name}: {words}", self.trials, phase)


@dataclass(frozen=True)
class Unchecked:
    """What could have been judged and was not: what the check lacked, and the name of what it was
    lacking for (empty: for all).
    """

    why: str
    name: str = ""


@dataclass(frozen=True)
class Inapplicable:
    """What this run has nothing of to judge, by what it was asked for: as `Unchecked`."""

    why: str
    name: str = ""


Unjudged = Unchecked | Inapplicable
KEEPS_NOTHING = "the engine keeps no data"
NO_EVENT = "no event was answered, and none failed"
#: Names that a sentence lists.
_NAMED = 3
_WORDS: dict[Soundness, type[Unjudged]] = {
    "not checked": Unchecked,
    "does not apply": Inapplicable,
}


def conclude(
    audit: str, faults: Iterable[Finding], sound: str, unjudged: Iterable[Unjudged] = ()
) -> list[Finding]:
    """The audit's findings: its faults; where there are none, that what was checked is sound
    (`sound` is empty where nothing was checked); and what was not checked or does not apply, with
    the reasons.
    """
    found = list(faults)
    if sound and not found:
        found.append(Finding(audit, "sound", sound))
    left = list(unjudged)
    if not left and not found:
        left = [Unchecked("no phase with a primary metric was played")]
    is_all = not found and len({(type(each), each.why) for each in left}) == 1
    for word, kind in _WORDS.items():
        names: dict[str, dict[str, None]] = {}
        for each in left:
            if isinstance(each, kind):
                names.setdefault(each.why, {})[each.name] = None
        if names:
            reasons = (why if is_all else why + _format_names(own) for why, own in names.items())
            found.append(Finding(audit, word, "; ".join(reasons)))
    return found


def keeps_data(side: Candidate) -> bool:
    """Does the candidate's engine hold anything that could be asked for? `null` does not."""
    return side.engine != "null"


def _format_names(names: Iterable[str]) -> str:
    """` (a, b, c and 2 more)`."""
    named = [name for name in names if name]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f" ({', '.join(named[:_NAMED])}{more})" if named else ""


def list_cases(run: Run, trials: Sequence[Trial]) -> Iterator[Case]:
    """Every candidate in every phase with a primary metric that it played: elsewhere no verdict is
    at stake.
    """
    return (case for case in list_every_case(run, trials) if case.primaries and case.records)


def list_every_case(run: Run, trials: Sequence[Trial]) -> Iterator[Case]:
    """Every candidate in every phase, those of its loads included."""
    good = [trial for trial in trials if trial.status == "ok"]
    for workload in run.workloads:
        for candidate in run.candidates:
            phases = workload.with_options(candidate.options).phases
            declared = {phase.name: phase for phase in phases}
            key = (workload.name, candidate.name)
            own = tuple(trial for trial in good if (trial.workload, trial.candidate) == key)
            played = {record.phase: None for trial in own for record in trial.phases}
            for phase in declared | dict.fromkeys(name for name in played if name not in declared):
                yield Case(candidate, workload.name, phase, declared.get(phase), own)


def find_records(trials: Sequence[Trial], phase: str) -> tuple[PhaseRecord, ...]:
    """The records of `phase` in `trials`."""
    return tuple(each for trial in trials for each in trial.phases if each.phase == phase)


def count_full_seconds(record: PhaseRecord, tally: Tally) -> tuple[int, ...]:
    """Events done in each second that was measured whole: the last answers' is not."""
    return tally.series.done[: int(record.duration_s)]
