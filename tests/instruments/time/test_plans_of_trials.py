"""Which statements an engine is asked to explain, with whose values, and why others are not."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fake_driver import fake_setup
from fake_engine import FakeEngine
from fakes import make_record, make_tally
from msgspec import structs

from dyno.driver import StatementExample
from dyno.driver.plan import Plan, PlannedStatement, Script
from dyno.errors import TrialFailed
from dyno.instruments.time.job import TrialJob
from dyno.instruments.time.known_statements import KnownStatements
from dyno.instruments.time.plans import EXPLAINED_MOST, read_plans, read_plans_before
from dyno.record import PhaseRecord, StatementTally

PLAN = Plan({"kind": "fake"}, Script("x.lua", {}), 1)


class ExplainingEngine(FakeEngine):
    explain: ClassVar[str] = "EXPLAIN"

    def extract_plan(self, rows: list[list[str | None]]) -> str:
        return str(rows[0][0] or "")


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def job(tmp_path: Path, asked: list[str]) -> TrialJob:
    setup = fake_setup()

    def ask(session: Any, statements: Any) -> list[list[list[str | None]]]:
        asked.extend(statements)
        if refused := [sql for sql in statements if "refused" in sql]:
            raise TrialFailed(f"no plan of {refused[0]}")
        return [[["" if "nobody" in sql else f"plan of {sql}"]] for sql in statements]

    tools = dataclasses.replace(setup.tools, ask=ask, ask_briefly=ask)
    return setup.job(tmp_path, engine=ExplainingEngine(setup.journal), tools=tools)


def make_statement(text: str, kind: Any = "read", sent: int = 1) -> StatementTally:
    return StatementTally(text, f"d {text}", kind, sent, 0, 0, 0)


def make_phases(*statements: StatementTally, phase: str = "run") -> list[PhaseRecord]:
    record = make_record([make_tally(10.0, statements=statements)])
    return [structs.replace(record, phase=phase)]


def make_examples(*texts: str, value: str = "7") -> list[StatementExample]:
    return [StatementExample(f"d {text}", text.replace("?", value)) for text in texts]


SELECT = "SELECT a FROM t WHERE id=?"


def test_each_statement_sent_is_explained_with_the_values_of_one_execution(
    job: TrialJob, asked: list[str]
) -> None:
    found = read_plans(PLAN, job, make_phases(make_statement(SELECT)), make_examples(SELECT))
    assert asked == ["EXPLAIN SELECT a FROM t WHERE id=7"]
    assert found.plans == {SELECT: "plan of EXPLAIN SELECT a FROM t WHERE id=7"}
    assert not found.unexplained


def test_all_trials_of_a_run_are_asked_with_the_same_values(
    job: TrialJob, asked: list[str]
) -> None:
    phases = make_phases(make_statement(SELECT))
    first = read_plans(PLAN, job, phases, make_examples(SELECT, value="7"))
    assert not read_plans_before(PLAN, job), "the first block has nothing to go by"
    later = dataclasses.replace(job, block=1)
    assert read_plans_before(PLAN, later) == first.plans
    assert read_plans(PLAN, later, phases, make_examples(SELECT, value="9")) == first
    elsewhere = dataclasses.replace(job, block=1, statements=KnownStatements())
    assert not read_plans_before(PLAN, elsewhere)
    assert set(asked) == {"EXPLAIN SELECT a FROM t WHERE id=7"}


def test_an_engine_that_explains_nothing_before_a_phase_is_asked_once(
    job: TrialJob, asked: list[str]
) -> None:
    read_plans(PLAN, job, make_phases(make_statement(SELECT)), make_examples(SELECT))
    refusing = dataclasses.replace(job.tools, ask_briefly=_refuse)
    later = dataclasses.replace(job, block=1, tools=refusing)
    assert read_plans_before(PLAN, later) == {}
    asked.clear()
    assert read_plans_before(PLAN, dataclasses.replace(job, block=2)) == {} and asked == []
    assert read_plans(PLAN, job, make_phases(make_statement(SELECT)), []).plans, "at the end it is"


def _refuse(session: Any, statements: Any) -> list[list[list[str | None]]]:
    raise TrialFailed("the database is locked")


def test_what_cannot_be_explained_is_told_with_the_reason(job: TrialJob, asked: list[str]) -> None:
    phases = make_phases(
        make_statement("CREATE TABLE u (a int)", "ddl"),
        make_statement("SELECT ?; SELECT ?", "several"),
        make_statement("CALL p(?)", "other"),
        make_statement("COPY t FROM STDIN", "write"),
        make_statement("INSERT INTO t VALUES (?)", "insert"),
        make_statement("SELECT refused"),
        make_statement("SELECT nobody"),
        make_statement("BEGIN", "begin"),
        make_statement("SET a = ?", "other"),
        make_statement(SELECT),
    )
    examples = make_examples(SELECT, "SELECT refused", "SELECT nobody", "COPY t FROM STDIN")
    found = read_plans(PLAN, job, phases, examples)
    assert list(found.plans) == [SELECT]
    assert found.unexplained == {
        "CREATE TABLE u (a int)": "it changes the schema",
        "SELECT ?; SELECT ?": "it is several statements in one text",
        "CALL p(?)": "it is no statement that engines explain",
        "COPY t FROM STDIN": "it is no statement that engines explain",
        "INSERT INTO t VALUES (?)": "it is too long to be kept",
        "SELECT refused": "no plan of EXPLAIN SELECT refused",
        "SELECT nobody": "no row has the values that were sent",
    }
    assert all(sql.startswith("EXPLAIN SELECT") for sql in asked), "and nothing else is sent"


def test_loads_are_not_explained_and_of_many_statements_the_most_frequent(job: TrialJob) -> None:
    assert not read_plans(PLAN, job, make_phases(make_statement(SELECT), phase="prepare"), []).plans
    texts = [f"SELECT a FROM t{number}" for number in range(EXPLAINED_MOST + 3)]
    tallies = [make_statement(text, sent=at) for at, text in enumerate(texts)]
    found = read_plans(PLAN, job, make_phases(*tallies), make_examples(*texts))
    assert len(found.plans) == EXPLAINED_MOST and texts[-1] in found.plans
    assert set(found.unexplained) == set(texts[:3])


def test_words_that_execute_what_they_explain_are_never_sent(
    job: TrialJob, asked: list[str]
) -> None:
    odd = ["ANALYZE SELECT a", "ANALYZE t", "/*!50000 ANALYZE */ SELECT a", "DO sleep(?)"]
    odd += ["EXECUTE p", "(/* x */ ANALYZE SELECT a)"]
    read_plans(PLAN, job, make_phases(*map(make_statement, odd)), make_examples(*odd))
    assert asked == []


class GenericEngine(ExplainingEngine):
    def list_generic_questions(self, prepared: str) -> list[str]:
        return [f"prepare {prepared}", f"generic {prepared}", "deallocate"]


def test_what_was_prepared_has_a_generic_plan_too_and_a_text_has_none(job: TrialJob) -> None:
    generic = dataclasses.replace(job, engine=GenericEngine(fake_setup().journal))
    phases = make_phases(make_statement("a=?"), make_statement("b=?"), make_statement("c=?"))
    examples = [
        structs.replace(example, prepared=prepared)
        for example, prepared in zip(
            make_examples("a=?", "b=?", "c=?"), ("a=$1", "", "c=$1 refused"), strict=True
        )
    ]
    found = read_plans(PLAN, generic, phases, examples)
    assert found.generic.keys() == found.plans.keys() - {"b=?", "c=?"}
    assert not read_plans(PLAN, job, phases, examples).generic


def test_statements_that_a_script_names_are_explained_before_the_first_block_too(
    job: TrialJob, asked: list[str]
) -> None:
    named = structs.replace(
        job.tools.describe(PLAN), plans=(PlannedStatement("by key", "SELECT 1"),)
    )
    naming = dataclasses.replace(
        job, tools=dataclasses.replace(job.tools, describe=lambda plan: named)
    )
    assert read_plans_before(PLAN, naming) == {"by key": "plan of EXPLAIN SELECT 1"}
    refusing = dataclasses.replace(
        naming, tools=dataclasses.replace(naming.tools, ask_briefly=_refuse)
    )
    assert read_plans_before(PLAN, refusing) == {}
    asked.clear()
    assert read_plans_before(PLAN, naming) == {} and not asked, "who has refused is not asked again"
