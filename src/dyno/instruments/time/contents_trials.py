"""The trials in which every side is asked the same, and what their answers come to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec.structs import replace

from dyno.engines import ReadsSql
from dyno.instruments.time.contents import Replies
from dyno.instruments.time.job import AskedLog, TrialJob
from dyno.instruments.time.loads import PREPARE
from dyno.instruments.time.log_contents import LogReplies
from dyno.instruments.time.trial import Played
from dyno.record import Candidate, Contents, Trial, WorkloadPlan, name_contents
from dyno.runs.resolve.draft import Prepared
from dyno.workloads.replay.order import OrderedLog

Answers = TypeVar("Answers", Replies, LogReplies)


@dataclass(frozen=True)
class AnsweredTrial(Generic[Answers]):
    """A trial that asked a side, what stopped it, and the answers."""

    trial: Trial
    error: BaseException | None
    replies: Answers


def list_due_sides(
    prepared: Prepared, workload: WorkloadPlan, played: Sequence[Trial], *, is_log: bool
) -> list[list[Candidate]]:
    """The candidates whose answers to a workload are not compared yet, by their options: the base
    or the first of its options, then the others. Not those that keep nothing, that run already, or
    whose workload loads no data of its own; nor, but for a log, before each has played a trial.
    """
    done = {trial.candidate for trial in played if trial.workload == workload.name}
    good = {t.candidate for t in played if t.workload == workload.name and t.status == "ok"}
    groups: dict[tuple[tuple[str, str], ...], list[Candidate]] = {}
    run = prepared.run
    for side in sorted(run.candidates, key=lambda it: it.name != run.design.base):
        keeps = isinstance(prepared.engines[side.name], ReadsSql)
        loads = PREPARE in workload.with_options(side.options).commands
        if keeps and loads and not prepared.builds[side.name].attached and not prepared.clients:
            groups.setdefault(tuple(sorted(side.options.items())), []).append(side)
    return [
        sides
        for sides in groups.values()
        if (len(sides) > 1 or run.design.saves_answers)
        and (is_log or all(side.name in good for side in sides))
        and not any(name_contents(side.name) in done for side in sides)
    ]


def compare_sides(
    sides: Sequence[Candidate],
    ask: Callable[[Candidate, int], AnsweredTrial[Answers]],
    *,
    always_again: bool = False,
) -> Iterator[Played]:
    """The trials of all sides with what their answers came to beside the first's; that one is asked
    again where another answers otherwise, or always: a side alone is held against itself. `ask` is
    told how many trials were not kept yet.
    """
    base = sides[0]
    theirs = ask(base, 0)
    is_log = isinstance(theirs.replies, LogReplies)
    first = Contents("", theirs.replies.seconds, is_log=is_log)
    yield _add(theirs, first), theirs.error
    again: AnsweredTrial[Answers] | None = None
    if always_again and not theirs.error:
        again = ask(base, 0)
        beside = Contents("", again.replies.seconds, is_log=is_log)
        if len(sides) == 1 and not again.error:
            found = theirs.replies.compare(again.replies, again.replies, same_engine=True)
            beside = replace(beside, base=base.name, statements=found)
        yield _add(again, beside), again.error
    for side in sides[1:]:
        own = ask(side, 0)
        if theirs.error or own.error:
            yield own.trial, own.error
            continue
        same = side.engine == base.engine
        found = theirs.replies.compare(own.replies, None, same_engine=same)
        fresh: AnsweredTrial[Answers] | None = None
        if again is None and any(each.differs for each in found):
            again = fresh = ask(base, 1)
        if again is not None and not again.error:
            found = theirs.replies.compare(own.replies, again.replies, same_engine=same)
        yield _add(own, Contents(base.name, own.replies.seconds, found, is_log)), None
        if fresh is not None:
            again_contents = Contents("", fresh.replies.seconds, is_log=is_log)
            yield _add(fresh, again_contents), fresh.error


def make_timed(job: TrialJob, log: OrderedLog) -> TrialJob:
    """The job that plays a log one statement at a time, as the answers were compared."""
    replies = LogReplies(log, job.home.with_name(f"{job.number:04}.answers"))
    asked = AskedLog(replies, is_timed=True)
    return dataclasses.replace(job, sampler=None, explains=True, asked=asked)


def _add(answered: AnsweredTrial[Answers], contents: Contents) -> Trial:
    if answered.error:
        return answered.trial
    return replace(answered.trial, contents=contents)
