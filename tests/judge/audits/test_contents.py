"""Audit `contents`: answers of all candidates beside the base's."""

from __future__ import annotations

import pytest
from audit_records import a_run, a_trial, engine, findings
from msgspec import structs
from ways_to_be_fooled import assert_caught

from dyno.record import (
    ClientHost,
    ComparedStatement,
    Contents,
    Failure,
    Finding,
    Run,
    Trial,
    name_contents,
)

READ = ComparedStatement("SELECT c FROM t WHERE id=?", "read", same=64)
TABLE = ComparedStatement("rows of t", "table", same=3)
OTHERWISE = structs.replace(
    READ, same=60, differs=4, why="the rows differ", base=("1",), own=("2",)
)


def prepared(run: Run, *commands: str) -> Run:
    workload = structs.replace(run.workloads[0], commands=commands or ("prepare", "run"))
    return structs.replace(run, workloads=(workload,))


def compared(*statements: ComparedStatement, failure: Failure | None = None) -> list[Trial]:
    base, own = (a_trial(number, name) for number, name in ((2, "old"), (3, "new")))
    asked = [
        structs.replace(
            trial,
            number=trial.number + 10,
            block=-1,
            candidate=name_contents(trial.candidate),
            phases=(),
            status="failed" if failure and trial is own else "ok",
            failure=failure if trial is own else None,
            contents=None if failure and trial is own else Contents("old", 0.1, statements),
        )
        for trial in (base, own)
    ]
    return [base, own, *asked]


def told(run: Run, *trials: Trial) -> Finding:
    (found,) = findings("contents", run, *trials)
    return found


def test_the_same_answers_are_sound_and_counted() -> None:
    unsure = structs.replace(READ, undecidable=2, why="LIMIT over ties")
    found = told(prepared(a_run()), *compared(unsure, TABLE))
    assert found.soundness == "sound"
    assert "67 answers are the same: 1 of 1 statements, 1 tables" in found.sentence
    assert "2 undecidable (LIMIT over ties)" in found.sentence


def test_values_spelled_otherwise_and_the_cost_are_told() -> None:
    spelled = structs.replace(READ, why="sums are the same to 13 digits")
    trials = [
        structs.replace(each, began_ns=0, over_ns=1_500_000_000 * (each.block < 0))
        for each in compared(spelled, TABLE)
    ]
    found = told(prepared(a_run()), *trials)
    assert found.soundness == "sound"
    assert "1 have values of another spelling (sums are the same to 13 digits)" in found.sentence
    assert found.sentence.endswith("asked in 3.0 s beside the blocks")


def test_one_answer_that_differs_is_invalid() -> None:
    found = findings("contents", prepared(a_run()), *compared(OTHERWISE, TABLE))
    assert_caught("other-answer", found)
    assert "the rows differ (2, not 1) in 4 of 64 executions" in found[0].sentence


def test_a_difference_that_is_accepted_is_counted_with_its_reason() -> None:
    run = prepared(a_run())
    reason = "GROUP BY orders no more"
    design = structs.replace(run.design, accepted={READ.text: reason, "SELECT 9": "old"})
    again = structs.replace(OTHERWISE, after_writes=True)
    found = told(structs.replace(run, design=design), *compared(OTHERWISE, again))
    assert found.soundness == "sound"
    assert f"`{READ.text}` is accepted and differs ({reason})" in found.sentence
    assert "`SELECT 9` is accepted and does not differ (old)" in found.sentence


@pytest.mark.parametrize(("what", "word"), [("types", "doubtful"), ("rows", "invalid")])
def test_the_same_rows_in_columns_of_other_types_are_doubtful(what: str, word: str) -> None:
    found = told(prepared(a_run()), *compared(structs.replace(OTHERWISE, what=what)))
    assert found.soundness == word


def test_another_engine_may_spell_otherwise() -> None:
    run = prepared(a_run())
    sides = (engine("old"), engine("new", "another"))
    found = told(structs.replace(run, candidates=sides), *compared(OTHERWISE))
    assert found.soundness == "doubtful"


def test_a_candidate_that_dies_of_a_question_is_invalid_and_any_other_failure_not_checked() -> None:
    died = findings("contents", prepared(a_run()), *compared(failure=Failure("the server died")))
    assert "invalid" in {found.soundness for found in died}
    found = told(prepared(a_run()), *compared(failure=Failure("no space left")))
    assert found.soundness == "not checked" and "no space left" in found.sentence


def test_a_statement_of_which_nothing_was_compared_is_not_checked_by_name() -> None:
    left = ComparedStatement("SELECT 1", "read", not_compared=2, why="it was not answered")
    alone = told(prepared(a_run()), *compared(left, TABLE))
    assert alone.soundness == "not checked" and "it was not answered" in alone.sentence
    found = findings("contents", prepared(a_run()), *compared(READ, left))
    assert {it.soundness for it in found} == {"sound", "not checked"}
    assert "`SELECT 1`" in found[1].sentence


def test_nothing_asked_is_not_checked_with_its_reason() -> None:
    found = told(prepared(a_run()), *compared()[:2])
    assert found.soundness == "not checked" and "no trial has asked" in found.sentence
    found = told(prepared(a_run(), "run"), *compared()[:2])
    assert found.soundness == "not checked" and "loads no data of its own" in found.sentence


def test_servers_that_client_hosts_load_are_not_checked_by_name() -> None:
    run = prepared(a_run())
    hosts = structs.replace(run, client_hosts=(ClientHost("one"),))
    found = told(hosts, *compared()[:2])
    assert found.soundness == "not checked" and "no fresh copy of their data" in found.sentence


def test_answers_of_a_rehearsal_make_nothing_invalid() -> None:
    run = prepared(a_run())
    run = structs.replace(run, design=structs.replace(run.design, rehearses=True))
    found = told(run, *compared(OTHERWISE, TABLE))
    assert found.soundness == "does not apply" and "rehearsal" in found.sentence
