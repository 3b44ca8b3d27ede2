"""Audit `contents`: does every candidate answer what the base answers?

After the first block each candidate is asked every statement of the workload on a fresh copy of
its data, and the answers are compared whole: columns, rows, order, NULL, refusals, warnings, rows
changed, the rows that tables hold in the end, and what breaks a constraint
(`instruments/time/contents.py`). A log is played in its own order instead, before the first block
(`instruments/time/log_contents.py`).

- An answer that differs is *invalid* between candidates of one engine. Different engines have
  spellings and rules of their own: *doubtful*. So are the same rows in columns of other names or
  types, or with other warnings.
- A candidate that dies of what the base answers is *invalid*.
- Statements that the experiment's table `accepted` (`--accept`) names are counted, with its reason.
- Rows that may differ by right (a LIMIT over ties, what the base answers otherwise to itself) are
  undecidable; both these and what was not compared are counted in the sentence, with a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    KEEPS_NOTHING,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    keeps_data,
)
from dyno.record import (
    KINDS_OF_OURS,
    LESS_GRAVE,
    Candidate,
    ComparedStatement,
    Finding,
    Soundness,
    Trial,
    WorkloadPlan,
    name_contents,
)

#: Statements that a finding names, letters of a text, and rows of each side that it shows.
NAMED, QUOTED, ROWS = 3, 90, 1
PREPARE = "prepare"
DIED = "the server died"
REHEARSED = "answers are what a rehearsal compares, class by class"


@dataclass(frozen=True)
class _Compared:
    """A candidate's answers to a workload; none where they were not compared, and why."""

    workload: str
    candidate: Candidate
    trial: Trial | None
    base: Candidate | None = None
    why: str = ""

    @property
    def statements(self) -> Sequence[ComparedStatement]:
        return self.trial.contents.statements if self.trial and self.trial.contents else ()


class AnswersCompared:
    """What candidates answer to the same statements on fresh copies of the same data."""

    summary = "all candidates answer every statement of the workload as the base does"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate that answers otherwise; else how much was compared. In a
        rehearsal answers are the result (`judge/rehearsal.py`), and make nothing invalid.
        """
        if view.run.design.rehearses:
            return conclude("contents", [], "", [Inapplicable(REHEARSED)])
        found = list(_list_compared(view))
        accepted = view.run.design.accepted
        findings = [it for each in found for it in _find_faults(each, accepted)]
        told = [statement for each in found for statement in each.statements]
        left: list[Unjudged] = [
            Unchecked(each.why, f"{each.workload} on {each.candidate.name}")
            for each in found
            if each.why
        ]
        left += [
            Unchecked(it.why, f"`{_cut(it.text)}`")
            for it in told
            if it.kind not in KINDS_OF_OURS and not it.same and not it.differs
        ]
        if not found:
            left.append(_explain_nothing(view))
        words = _describe(told, accepted)
        if words:
            spent_s = sum(each.over_ns - each.began_ns for each in view.contents) / 1e9
            words += f"; asked in {spent_s:.1f} s beside the blocks"
        return conclude("contents", findings, words, left)


def _explain_nothing(view: RunView) -> Unjudged:
    if not any(map(keeps_data, view.run.candidates)):
        return Inapplicable(KEEPS_NOTHING)
    return Inapplicable("there is one candidate, or each has options of its own")


def _list_compared(view: RunView) -> Iterator[_Compared]:
    """Every candidate but the first of its options, in every workload."""
    run = view.run
    keeping = [side for side in run.candidates if keeps_data(side)]
    ordered = sorted(keeping, key=lambda it: it.name != run.design.base)
    for workload in run.workloads:
        first: dict[tuple[tuple[str, str], ...], Candidate] = {}
        for side in ordered:
            base = first.setdefault(tuple(sorted(side.options.items())), side)
            if base is not side:
                yield _find_compared(view, workload, base, side)


def _find_compared(
    view: RunView, workload: WorkloadPlan, base: Candidate, side: Candidate
) -> _Compared:
    def find(name: str) -> Trial | None:
        own = (workload.name, name_contents(name))
        return next((t for t in view.contents if (t.workload, t.candidate) == own), None)

    trial, theirs = find(side.name), find(base.name)
    if trial and trial.contents:
        return _Compared(workload.name, side, trial, base)
    why = "no trial has asked for them yet"
    if view.run.client_hosts:
        why = "client hosts load servers that run already, which have no fresh copy of their data"
    elif base.attached or side.attached:
        why = "a server that runs already has no fresh copy of its data"
    elif PREPARE not in workload.with_options(side.options).commands:
        why = "the workload loads no data of its own"
    elif theirs and theirs.failure:
        why = f"the base failed: {theirs.why_failed}"
    elif trial and trial.failure:
        why = trial.why_failed
    return _Compared(workload.name, side, trial, base, why)


def _find_faults(each: _Compared, accepted: Mapping[str, str]) -> Iterator[Finding]:
    soundness: Soundness = "doubtful"
    if each.base and each.base.engine == each.candidate.engine:
        soundness = "invalid"
    where = f"{each.workload} on {each.candidate.name}"
    numbers = (each.trial.number,) if each.trial else ()
    if each.trial and each.why.startswith(DIED):
        yield Finding("contents", soundness, f"{where}: {each.why}", numbers)
    differing = [it for it in each.statements if it.differs and it.text not in accepted]
    for group, word in (
        ([it for it in differing if it.what not in LESS_GRAVE], soundness),
        ([it for it in differing if it.what in LESS_GRAVE], "doubtful"),
    ):
        if group and each.base:
            named = "; ".join(_describe_difference(it) for it in group[:NAMED])
            more = f"; and {len(group) - NAMED} more" if len(group) > NAMED else ""
            words = f"{where} answers otherwise than {each.base.name}: {named}{more}"
            yield Finding("contents", word, words, numbers)


def _describe_difference(each: ComparedStatement) -> str:
    of = each.same + each.differs + each.undecidable + each.not_compared
    rows = ""
    if each.base[:ROWS] != each.own[:ROWS]:
        own, base = (_cut("; ".join(side[:ROWS])) or "nothing" for side in (each.own, each.base))
        rows = f" ({own}, not {base})"
    when = " after the writes" if each.after_writes else ""
    return f"`{_cut(each.text)}`{when} {each.why}{rows} in {each.differs} of {of} executions"


def _cut(text: str) -> str:
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"


def _describe(told: Sequence[ComparedStatement], accepted: Mapping[str, str]) -> str:
    """How much was compared, and what was not; empty where nothing was."""
    same = sum(each.same for each in told)
    sent = [each for each in told if each.kind not in KINDS_OF_OURS]
    compared = sum(bool(each.same) for each in sent)
    if not compared:
        return ""
    kinds = Counter(each.kind for each in told if each.same)
    words = (
        f"{same:,} answers are the same: {compared} of {len(sent)} statements,"
        f" {kinds['table']} tables, {kinds['rule']} broken constraints"
    )
    spelled = [each for each in told if each.why and each.same and not _has_other_word(each)]
    if spelled:
        (reason, _), *_ = Counter(each.why for each in spelled).most_common(1)
        words += f"; {len(spelled)} have values of another spelling ({reason})"
    for name, word in (("undecidable", "undecidable"), ("not_compared", "not compared")):
        if count := sum(getattr(each, name) for each in told):
            words += f"; {count:,} {word} ({_find_reason(told, name)})"
    met = {each.text for each in told if each.differs}
    for text, reason in accepted.items():
        word = "differs" if text in met else "does not differ"
        words += f"; `{_cut(text)}` is accepted and {word} ({reason})"
    return words


def _has_other_word(each: ComparedStatement) -> bool:
    return bool(each.differs or each.undecidable or each.not_compared)


def _find_reason(told: Iterable[ComparedStatement], name: str) -> str:
    """The most frequent reason."""
    reasons = Counter[str]()
    for each in told:
        if getattr(each, name) and not each.differs:
            reasons[each.why] += getattr(each, name)
    return reasons.most_common(1)[0][0] if reasons else "beside others that differ"


AUDIT = AnswersCompared()
