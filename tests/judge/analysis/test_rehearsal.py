"""A rehearsal judged: the gravest word of each class, the first line, and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs
from rehearsed import (
    EVERY,
    FAILS,
    FAST,
    LEFT,
    NEW,
    OPTIONS,
    OTHERWISE,
    PLANNED,
    SAME,
    SLOW,
    TABLE,
    WARNS,
    make_contents,
    make_rehearsal_run,
    rehearse,
)

from dyno.judge.analysis.judge import judge
from dyno.record import ComparedStatement, Failure, FolderUpgrade
from dyno.record.decode import encode
from dyno.record.integrity import IntegrityCheck
from dyno.report.export import to_json_result


def test_each_class_has_its_gravest_word_and_the_first_line_counts_them() -> None:
    found = rehearse()
    words = [it.word for it in found.classes]
    assert words == [
        *("fails", "answers otherwise", "types or warnings", "plan changed", "slower"),
        *("faster", "not compared", "same"),
    ]
    assert found.sentence == (
        "Of 8 statement classes 1 fails on 18, 1 answers differently, 1 differs in types or "
        "warnings only, 1 changes its plan, 1 gets slower (+1,004 %), 1 gets faster; "
        "1 is the same, 1 was not compared."
    )
    assert found.exit_code == 1


def test_classes_that_are_the_same_pass_and_their_open_time_is_told() -> None:
    other = structs.replace(SAME, text="SELECT 2", name="")
    found = rehearse((SAME, other, TABLE), {"SELECT 1": 1.0})
    assert found.exit_code == 0
    assert "none fails on 18, none answers differently; 2 are the same" in found.sentence
    assert "(the time of 1 is open)" in found.sentence


def test_without_blocks_time_is_not_compared_and_nothing_is_said_of_it() -> None:
    found = rehearse((SAME, SLOW), {}, untimed=True)
    assert "2 are the same (time was not compared)." in found.sentence
    assert found.exit_code == 0 and not any(it.time for it in found.classes)
    assert rehearse((SAME, SLOW), {}).exit_code == 2, "time was asked for, and no block counts"


def test_an_interval_that_is_open_is_not_shown_and_says_why() -> None:
    (found,) = rehearse((SAME,), {"SELECT 1": 1.0}, spread=0.1).classes
    assert found.word == "same" and found.time
    assert found.time.word == "not shown" and found.time.why


@pytest.mark.parametrize("statement", [FAILS, OTHERWISE, WARNS])
def test_what_is_accepted_is_counted_and_not_judged(statement: ComparedStatement) -> None:
    found = rehearse((statement, SAME), accepted={statement.text: "known"})
    (one, _) = found.classes
    assert (one.word, one.why, found.exit_code) == ("accepted", "known", 0)
    assert "1 differs as accepted" in found.sentence


def test_too_much_that_was_not_judged_opens_the_page_and_has_an_exit_of_its_own() -> None:
    many = structs.replace(LEFT, undecidable=600, unsteady=500, not_compared=90, downstream=80)
    found = rehearse((SAME, many), {}, untimed=True)
    assert found.exit_code == 2
    assert found.sentence.startswith(
        "Too little was judged: of 9,690 executions 10 not compared, 500 unsteady on OLD itself, "
        "80 downstream of an earlier difference, 100 may differ by right. Of 2 statement classes"
    )


def test_a_table_that_ends_with_other_rows_is_told_in_the_first_line() -> None:
    table = structs.replace(TABLE, same=0, differs=1, what="rows")
    found = rehearse((SAME, table, structs.replace(TABLE, text="rows of u")), {})
    assert found.sentence.endswith("1 of 2 tables holds other rows in the end.")
    assert found.exit_code == 1


def test_a_class_that_costs_more_on_the_whole_comes_first() -> None:
    often = structs.replace(SLOW, text="often", same=10_000, name="often")
    found = rehearse((SLOW, often), {"slow": 3.0, "often": 1.5})
    assert [it.answers.text for it in found.classes] == ["often", SLOW.text]
    assert [round(it.time.cost_ns / 1e9, 1) for it in found.classes if it.time] == [5.5, 0.2]
    assert found.sentence.count("(+200 % the worst)") == 1


def test_classes_without_a_time_of_their_own_are_timed_together() -> None:
    rare = structs.replace(SAME, name="")
    found = rehearse((rare,), {"all other statements": 2.0})
    assert found.exit_code == 1
    assert "The classes that are timed together get slower (+100 %)." in found.sentence


def test_a_changed_plan_that_is_slower_too_says_both_and_fails_the_rehearsal() -> None:
    found = rehearse((PLANNED,), {"planned": 2.0})
    assert found.exit_code == 1
    assert "1 changes its plan (1 slower, +100 %); 0 are the same" in found.sentence
    assert rehearse((PLANNED,), {"planned": 1.0}).exit_code == 0


def test_a_plan_that_two_blocks_of_new_have_not_is_no_change() -> None:
    (found,) = rehearse((structs.replace(PLANNED, name="unknown"),)).classes
    assert found.word == "same" and not found.plan


def test_a_new_server_that_dies_of_the_log_fails_and_one_that_was_not_played_is_open() -> None:
    run = make_rehearsal_run()
    died = Failure("the server died of signal 11")
    trials = make_contents(EVERY, contents=None, status="failed", failure=died)
    found = judge(run, trials, audits={}).rehearsal
    assert found and found.exit_code == 1 and "the log failed on 18" in found.sentence
    empty = judge(run, [], audits={}).rehearsal
    assert empty and (empty.exit_code, empty.failure) == (2, "not played yet")


def test_with_hidden_literals_no_value_of_an_execution_is_told() -> None:
    found = rehearse(hides_literals=True)
    told = json.dumps([encode(it) for it in found.classes])
    assert "gone(7)" not in told and "(300)" not in told
    assert "function gone(integer) does not exist ?" in told
    (planned,) = [it for it in found.classes if it.plan]
    assert planned.plan and "i=?" in planned.plan.base_plan


def test_the_json_result_has_the_classes_and_reads_as_json() -> None:
    run = make_rehearsal_run()
    verdict = judge(run, make_contents(EVERY), audits={})
    made = json.loads(json.dumps(to_json_result(verdict), allow_nan=False))
    assert made["rehearsal"]["exit_code"] == 1 and made["overall"] == "invalid"
    assert made["rehearsal"]["classes"][0]["answers"]["text"] == FAILS.text
    assert made["rehearsal"]["own"] == "18" and NEW not in made["sentence"]


def test_an_option_that_new_refuses_fails_the_rehearsal_unless_it_is_accepted() -> None:
    found = rehearse((SAME,), {}, untimed=True, options=OPTIONS)
    assert [it.name for it in found.options] == ["gone", "soft", "port"]
    assert found.exit_code == 1
    assert found.sentence.endswith("1 of your 3 options fails on 18.")
    accepted = {"gone": "we set other_option", "soft": "known"}
    found = rehearse((SAME,), {}, untimed=True, options=OPTIONS, accepted=accepted)
    assert [it.word for it in found.options] == ["accepted", "accepted", "taken"]
    assert found.exit_code == 0 and "options" not in found.sentence


def test_hidden_literals_hide_the_values_of_options() -> None:
    found = rehearse((SAME,), {}, untimed=True, options=OPTIONS, hides_literals=True)
    assert "a b" not in str(found) and "3307" not in str(found)
    assert found.options[0].new == "unknown variable 'gone=?'"


def test_an_upgrade_that_failed_is_the_first_line_and_faults_of_its_tables_fail_it() -> None:
    run = make_rehearsal_run(untimed=True, upgrades_folder=True)
    failure = Failure("mysqld: no such upgrade.", "its last words are\nmuch", "")
    upgrade = FolderUpgrade(2.5, "much", failed=True)
    lost = {"contents": None, "status": "failed", "failure": failure, "upgrade": upgrade}
    found = judge(run, make_contents((), **lost), audits={}).rehearsal
    assert found and found.exit_code == 1 and found.upgrade == upgrade
    assert found.sentence == (
        "The upgrade fails: 18 cannot take over the data folder of 13: mysqld: no such upgrade."
    )
    checks = (IntegrityCheck("table t", ("Corrupt",)), IntegrityCheck("table u"))
    damaged = {"upgrade": FolderUpgrade(2.5, "", checks)}
    found = judge(run, make_contents((SAME,), **damaged), audits={}).rehearsal
    assert found and found.exit_code == 1
    assert "1 check of the upgraded folder finds faults." in found.sentence
    whole = {"upgrade": FolderUpgrade(2.5, "", checks[1:])}
    found = judge(run, make_contents((SAME,), **whole), audits={}).rehearsal
    assert found and found.exit_code == 0 and found.upgrade == whole["upgrade"]


def test_a_remedy_says_what_it_wins_and_names_what_becomes_slower_by_it() -> None:
    """Without it each class takes 1 ms."""
    tried: dict[str, Any] = {"tried": "work_mem=64MB", "tried_for": (SLOW.text, PLANNED.text)}
    factors = {"slow": 0.5, "planned": 1.0, "SELECT 1": 1.5, "fast": 1.0}
    found = rehearse((SLOW, PLANNED, SAME, FAST), factors, **tried)
    assert found.sentence == (
        "With work_mem=64MB, of 2 classes that were slower or had other plans 1 gets faster "
        "(−50.0 % [−50.1, −49.9]); of 2 others 1 gets slower (+50.0 %)."
    )
    found = rehearse((SLOW, SAME), {"slow": 2.0, "SELECT 1": 1.0}, **tried)
    assert "of 1 class that was slower or had another plan none is shown" in found.sentence
    assert "to get faster, 1 slower; of 1 other none gets slower." in found.sentence
    found = rehearse((SLOW, OTHERWISE), {"slow": 0.5}, **tried)
    assert found.sentence.endswith("1 of all answers otherwise with it.")
