"""How an engine means to execute the statements that a trial sends: its plans at start and end.

Explained are the statements that the script names (`dyno.plans`), else an execution of each text
that the driver sent. The first execution known of a text stands for it in all trials of a run, so
that two plans never differ by the values in them. Only EXPLAIN is sent, and outside measured time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate

from dyno.driver import StatementExample
from dyno.driver.plan import Plan
from dyno.engines import Ask, Explains, ExplainsGeneric
from dyno.errors import DynoError
from dyno.instruments.time.job import TrialJob
from dyno.instruments.time.known_statements import KnownText
from dyno.instruments.time.leftovers import CLEANUP, PREPARE
from dyno.record import OF_VALUES, PhaseRecord, StatementKind, StatementTally
from dyno.workloads.replay.logs import PREPARED
from dyno.workloads.replay.order import OrderedLog, list_executions

#: Statements that are explained: those sent most often.
EXPLAINED_MOST = 100
#: Of a plan that was none.
NO_ROW = "no row has the values that were sent"
#: Kinds that may have a plan. What begins or ends a transaction has none, and is not told of.
EXPLAINED: frozenset[StatementKind] = frozenset({"read", "insert", "update", "delete", "write"})
NOT_EXPLAINED = "it is no statement that engines explain"
#: What engines explain, after comments and brackets.
_EXPLAINABLE = re.compile(
    r"(?:\s|\(|/\*(?!!)(?>.*?\*/)|--[^\n]*+\n)*+"
    r"(?:SELECT|WITH|INSERT|UPDATE|DELETE|REPLACE|TABLE|VALUES|MERGE|FROM)\b",
    re.IGNORECASE | re.DOTALL,
)
#: Words that set something or mark a place in a transaction.
_ASIDE = re.compile(r"\s*(?:SET|SAVEPOINT|RELEASE|USE|PRAGMA|ROLLBACK)\b", re.IGNORECASE)


@dataclass(frozen=True)
class ReadPlans:
    """Plans by statement, and why others have none; of prepared ones the `generic` plans, too."""

    plans: dict[str, str] = field(default_factory=dict)
    unexplained: dict[str, str] = field(default_factory=dict)
    generic: dict[str, str] = field(default_factory=dict)


def read_plans_before(plan: Plan, job: TrialJob) -> dict[str, str]:
    """The plans, before its phases, of the statements that the script names, else of those that the
    engine explained in earlier blocks; none where somebody else's process may not open the database
    meanwhile.
    """
    if not isinstance(job.engine, Explains) or job.statements.has_refused(_find_place(job)):
        return {}
    named = {each.name: each.sql for each in job.tools.describe(plan).plans}
    statements = named or job.statements.list_explained_before(_find_place(job), job.block)
    if not statements:
        return {}
    try:
        return _ask_all(plan, job, statements, job.tools.ask_briefly)
    except DynoError:
        job.statements.note_refusal(_find_place(job))
        return {}


def read_plans(
    plan: Plan, job: TrialJob, phases: Sequence[PhaseRecord], examples: Sequence[StatementExample]
) -> ReadPlans:
    """The plans at a trial's end."""
    if not isinstance(job.engine, Explains):
        return ReadPlans()
    named = {each.name: each.sql for each in job.tools.describe(plan).plans}
    only_prepared = {
        name: named.pop(name).removeprefix(PREPARED)
        for name in [name for name, sql in named.items() if sql.startswith(PREPARED)]
    }
    known = job.statements.add(_find_place(job), {each.digest: each.sql for each in examples})
    wanted, unexplained = dict(named), dict[str, str]()
    for each in () if named else _list_statements(phases):
        sql = known.get(each.digest, "").rstrip("; \n")
        if why := _explain_no_plan(each, sql, len(wanted)):
            unexplained[each.text] = why
        elif each.kind in EXPLAINED:
            wanted[each.text] = sql
    found = _ask_each(plan, job, wanted)
    job.statements.note_explained(
        _find_place(job), job.block, {name: wanted[name] for name in found.plans}
    )
    prepared = {each.digest: each.prepared for each in examples if each.prepared}
    digests = {} if named else {each.text: each.digest for each in _list_statements(phases)}
    sources = {text: prepared.get(digests.get(text, ""), "") for text in found.plans}
    sources = {text: sql for text, sql in sources.items() if sql} | only_prepared
    generic = _ask_generic(plan, job, sources)
    return ReadPlans(found.plans, unexplained | found.unexplained, generic)


def read_plans_of_values(plan: Plan, job: TrialJob, log: OrderedLog) -> dict[str, str]:
    """The plans of further executions of each statement that the script names, by its name and a
    number; none of those that the engine refuses.
    """
    if not isinstance(job.engine, Explains):
        return {}
    named = {each.name: each.sql for each in job.tools.describe(plan).plans}
    wanted = {
        f"{name} {OF_VALUES.format(number)}": sql
        for name, texts in list_executions(log).items()
        if name in named and not named[name].startswith(PREPARED)
        for number, sql in enumerate((it for it in texts if it != named[name]), 2)
    }
    return _ask_each(plan, job, wanted).plans


def note_texts(
    job: TrialJob, phases: Sequence[PhaseRecord], examples: Sequence[StatementExample]
) -> None:
    """Keep what the phases sent, to ask it again."""
    runs = {each.digest: each.executions for each in examples}
    texts = (
        KnownText(each.text, each.kind, runs.get(each.digest, ()))
        for each in _list_statements(phases)
    )
    if job.block >= 0:
        job.statements.note_texts(job.workload.name, job.candidate.name, texts)


def _find_place(job: TrialJob) -> tuple[str, str]:
    return job.workload.name, job.candidate.engine


def _list_statements(phases: Iterable[PhaseRecord]) -> list[StatementTally]:
    """A tally of each text that the phases sent, loads aside, the most frequent first."""
    sent: dict[str, int] = {}
    tallies: dict[str, StatementTally] = {}
    for phase in phases:
        if phase.phase in (PREPARE, CLEANUP):
            continue
        for each in (tally for stream in phase.streams for tally in stream.statements):
            tallies[each.digest] = each
            sent[each.digest] = sent.get(each.digest, 0) + each.sent
    return sorted(tallies.values(), key=lambda each: (-sent[each.digest], each.text))


def _explain_no_plan(statement: StatementTally, sql: str, others: int) -> str:
    """Why a statement is not explained that should be told of; empty where it is, or has none."""
    kind = statement.kind
    if kind == "ddl":
        return "it changes the schema"
    if kind == "several":
        return "it is several statements in one text"
    if kind == "other" and statement.digest and not _ASIDE.match(statement.text):
        return NOT_EXPLAINED
    if kind in EXPLAINED and not sql:
        return "it is too long to be kept"
    if kind in EXPLAINED and not _EXPLAINABLE.match(sql):
        return NOT_EXPLAINED
    if kind in EXPLAINED and others == EXPLAINED_MOST:
        return f"{EXPLAINED_MOST} others were sent more often"
    return ""


def _ask_each(plan: Plan, job: TrialJob, statements: Mapping[str, str]) -> ReadPlans:
    """All at once or, where the engine refuses some, one by one."""
    if not statements:
        return ReadPlans()
    plans: dict[str, str] = {}
    refused: dict[str, str] = {}
    with suppress(DynoError):
        plans = _ask_all(plan, job, statements, job.tools.ask)
    for name, sql in statements.items() if not plans else ():
        try:
            plans |= _ask_all(plan, job, {name: sql}, job.tools.ask)
        except DynoError as error:
            refused[name] = error.message
    empty = {name: NO_ROW for name, told in plans.items() if not told}
    return ReadPlans({n: told for n, told in plans.items() if told}, refused | empty)


def _ask_generic(plan: Plan, job: TrialJob, prepared: Mapping[str, str]) -> dict[str, str]:
    """The generic plans of what was prepared, by name; what the engine refuses has none."""
    engine = job.engine
    if not isinstance(engine, ExplainsGeneric) or not isinstance(engine, Explains):
        return {}
    wanted = {name: engine.list_generic_questions(sql) for name, sql in prepared.items()}
    if not wanted:
        return {}
    answers: dict[str, list[list[str | None]]] = {}
    try:
        told = job.tools.ask(plan.session, [each for asked in wanted.values() for each in asked])
        ends = accumulate(len(asked) for asked in wanted.values())
        answers = {name: told[end - 2] for name, end in zip(wanted, ends, strict=True)}
    except DynoError:
        for name, asked in wanted.items():
            with suppress(DynoError):
                answers[name] = job.tools.ask(plan.session, asked)[-2]
    return {name: engine.extract_plan(rows) for name, rows in answers.items()}


def _ask_all(plan: Plan, job: TrialJob, statements: Mapping[str, str], ask: Ask) -> dict[str, str]:
    engine = job.engine
    assert isinstance(engine, Explains)
    questions = [f"{engine.explain} {sql}" for sql in statements.values()]
    answers = ask(plan.session, questions)
    return {name: engine.extract_plan(rows) for name, rows in zip(statements, answers, strict=True)}
