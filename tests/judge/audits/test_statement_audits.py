"""What is known of statements by their text: rows changed, commits, the same work, the client."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from audit_records import OLD, a_run, a_trial, engine, findings, only
from fakes import make_latency
from msgspec.structs import replace

from dyno.record import (
    Conditions,
    Finding,
    LoadCondition,
    StatementKind,
    StatementTally,
    Trial,
)

EVENTS = 10_000
AUDITS = ("rows_changed", "committed", "same_work", "client_time")


def sent(
    text: str = "UPDATE t SET k=?",
    kind: StatementKind = "update",
    count: int = EVENTS,
    changed: int | None = None,
    **more: Any,
) -> StatementTally:
    """A text that was sent in each event, and changed a row each time."""
    rows = count if changed is None else changed
    known: dict[str, Any] = {"failed": 0, "rows_read": 0} | more
    return StatementTally(text, str(hash(text)), kind, count, rows_changed=rows, **known)


READ = sent("SELECT k FROM t", "read", changed=0, rows_read=EVENTS)


def restarts(
    make: Callable[[str, int], Sequence[StatementTally]] | None = None, **tally: Any
) -> list[Trial]:
    """Four restarts of `old` and `new`, of these statements or one update; `tally` is of `new`."""
    trials = []
    for block in range(4):
        for at, name in enumerate(("old", "new")):
            statements = tuple(make(name, block) if make else (sent(),))
            own = {key: value for key, value in tally.items() if name == "new"}
            trial = a_trial(2 + 2 * block + at, name, statements=statements, **own)
            trials.append(replace(trial, block=block))
    return trials


def new_alone(*statements: StatementTally) -> list[Trial]:
    """`new` was sent these, `old` one update."""
    return restarts(lambda name, _: statements if name == "new" else (sent(),))


def words(audit: str, trials: Sequence[Trial]) -> list[Finding]:
    return findings(audit, a_run(), *trials)


@pytest.mark.parametrize("audit", AUDITS)
def test_records_of_an_older_driver_were_not_checked(audit: str) -> None:
    assert only(audit, a_run(), a_trial(2, "old"), a_trial(3, "new")).soundness == "not checked"


@pytest.mark.parametrize("audit", AUDITS[:3])
def test_equal_work_is_sound(audit: str) -> None:
    assert only(audit, a_run(), *restarts()).soundness == "sound"


def skips_on(side: str) -> Callable[[str, int], list[StatementTally]]:
    """One update, which leaves a hundredth of the rows out on a side."""
    return lambda name, _: [sent(changed=EVENTS - 100 if name == side else EVENTS)]


def test_an_update_that_skips_rows_is_invalid_on_either_side() -> None:
    for side in ("old", "new"):
        (found,) = words("rows_changed", restarts(skips_on(side)))
        assert found.soundness == "invalid" and "`UPDATE t SET k=?` changed" in found.sentence


def test_rows_that_a_script_expects_are_held_against_it_on_both_sides() -> None:
    found = words("rows_changed", restarts(lambda *_: [sent(changed=9_999, rows_expected=EVENTS)]))
    assert [each.soundness for each in found] == ["invalid", "invalid"]
    assert "changed 39,996 rows, and must change 40,000" in found[0].sentence


def test_a_write_that_changes_nothing_anywhere_is_doubtful_unless_it_is_rare() -> None:
    nothing = sent("DELETE FROM t", "delete", changed=0)
    found = words("rows_changed", restarts(lambda *_: [nothing]))
    assert {each.soundness for each in found} == {"doubtful"}
    rare = replace(nothing, sent=500)
    (found_rare,) = words("rows_changed", restarts(lambda *_: [sent(), rare]))
    assert found_rare.soundness == "sound"
    returned = replace(nothing, rows_read=EVENTS)
    (found_returned,) = words("rows_changed", restarts(lambda *_: [returned]))
    assert found_returned.soundness == "sound"


def test_a_delete_that_finds_less_the_further_it_comes_is_no_fault() -> None:
    def deletes(name: str, block: int) -> list[StatementTally]:
        return [sent("DELETE FROM t", "delete", changed=5_000 - block if name == "old" else 4_800)]

    (found,) = words("rows_changed", restarts(deletes))
    assert found.soundness == "sound"


def test_lost_rows_are_invalid_and_few_rolled_back_are_sound() -> None:
    lost = only("committed", a_run(), *restarts(rows_lost=EVENTS))
    assert lost.soundness == "invalid" and "100.0 % of the 40,000 rows" in lost.sentence
    some = restarts(rows_committed=9_900, rows_rolled_back=100)
    assert only("committed", a_run(), *some).soundness == "sound"


def test_open_ends_are_invalid_where_the_base_has_none() -> None:
    apart = [replace(t, phases=t.phases) for t in restarts(ends=EVENTS, ends_open=EVENTS)]
    known = [
        replace(t, phases=(replace(p, streams=(replace(s, ends=EVENTS),)),))
        for t in apart
        for p in t.phases
        for s in p.streams
    ]
    found = only("committed", a_run(), *known)
    assert found.soundness == "invalid" and "100 % of the events left" in found.sentence


def test_another_text_and_one_more_and_one_less_are_invalid() -> None:
    for statements in (
        (sent("UPDATE u SET k=?"),),
        (sent(), READ),
        (sent(count=9_000),),
    ):
        found = words("same_work", new_alone(*statements))
        assert {each.soundness for each in found} == {"invalid"}, statements
    assert "and 0 times on old" in words("same_work", new_alone(sent(), READ))[0].sentence


def sketched(classes: dict[str, int], executions: int = 1024) -> list[Trial]:
    """One update, whose values met so many classes on each side."""

    def update(name: str, _: int) -> list[StatementTally]:
        sketches: dict[str, Any] = {"sketches": 2, "sketched": 2 * executions}
        return [sent(**sketches, value_classes=2 * classes[name])]

    return restarts(update)


def test_values_that_hardly_vary_on_one_side_are_invalid() -> None:
    for side, other in (("old", "new"), ("new", "old")):
        (found,) = words("same_work", sketched({side: 1, other: 64}))
        assert found.soundness == "invalid" and "nearly always with the same" in found.sentence


def test_values_that_vary_alike_or_of_which_few_were_seen_are_sound() -> None:
    alike = sketched({"old": 20, "new": 64}), sketched({"old": 1, "new": 1})
    for trials in (*alike, sketched({"old": 1, "new": 20}, executions=20)):
        assert only("same_work", a_run(), *trials).soundness == "sound"


def test_other_texts_of_another_engine_are_told_and_not_judged() -> None:
    run = a_run(OLD, engine("new", "other"))
    trials = new_alone(sent("UPDATE u SET k=?"))
    found = findings("same_work", run, *trials)
    assert "invalid" not in {each.soundness for each in found}
    assert any("another dialect" in each.sentence for each in found)


def test_texts_beyond_those_kept_apart_are_not_compared() -> None:
    further = replace(sent("(further statements)"), digest="")
    assert only("same_work", a_run(), *new_alone(sent(), further)).soundness == "not checked"


def test_drawn_statements_are_no_false_alarm_in_many_runs() -> None:
    draw = random.Random(5)
    texts = [f"SELECT {n} FROM t" for n in range(12)]

    def drawn(*_: object) -> list[StatementTally]:
        counts = [sum(draw.random() < 0.08 for _ in range(400)) for _ in texts]
        found = zip(texts, counts, strict=True)
        return [sent(text, "read", count, 0) for text, count in found if count]

    told = [f.soundness for _ in range(60) for f in words("same_work", restarts(drawn))]
    assert set(told) == {"sound"}


def test_a_load_that_changes_other_rows_is_invalid() -> None:
    def load(rows: int) -> Trial:
        number, name = (2, "old") if rows == 1000 else (3, "new")
        trial = a_trial(number, name, statements=(sent("INSERT", "insert", 1, rows),))
        phase = replace(trial.phases[0], phase="prepare")
        return replace(trial, block=0, phases=(phase,))

    (found,) = findings("same_work", a_run(), load(1000), load(500))
    assert found.soundness == "invalid" and "500 rows, and 1,000 on old" in found.sentence


def test_a_load_of_a_torn_block_is_held_against_no_other() -> None:
    """Resumed, the block is played anew: one side has loaded once more."""

    def load(number: int, name: str, attempt: int) -> Trial:
        trial = a_trial(number, name, statements=(sent("INSERT", "insert", 1, 1000),))
        phase = replace(trial.phases[0], phase="prepare")
        return replace(trial, block=0, attempt=attempt, phases=(phase,))

    told = findings("same_work", a_run(), load(2, "old", 1), load(3, "old", 2), load(4, "new", 2))
    assert [each.soundness for each in told] == ["sound"]


def client(client_us: float, event_us: float, slept_us: float = 0) -> list[Trial]:
    """`new` took so long for an event, and `old` 100 µs, 2 of them in the client."""
    times = {"old": (2.0, 100.0, 0.0), "new": (client_us, event_us, slept_us)}
    trials = []
    for trial in restarts():
        own, whole, slept = times[trial.candidate]
        (record,) = trial.phases
        tally = replace(
            record.streams[0],
            client_ns=round(own * 100_000),
            client_events=100,
            slept_ns=round(slept * 1e3 * EVENTS),
            latency=make_latency(whole * 1e3, EVENTS),
        )
        trials.append(replace(trial, phases=(replace(record, streams=(tally,)),)))
    return trials


@pytest.mark.parametrize(
    ("client_us", "event_us", "word"),
    [
        (2.5, 130.0, "sound"),
        (6.0, 104.0, "sound"),
        (42.0, 140.0, "invalid"),
        (42.0, 100.0, "doubtful"),
        (12.0, 140.0, "doubtful"),
        (2.0, 400.0, "sound"),
    ],
)
def test_time_of_the_client_is_held_against_the_base(
    client_us: float, event_us: float, word: str
) -> None:
    assert only("client_time", a_run(), *client(client_us, event_us)).soundness == word


def test_a_client_that_lost_its_core_in_some_restarts_is_no_fault() -> None:
    trials = client(90.0, 190.0)
    calm = client(2.0, 100.0)
    mixed = [one if one.block < 3 else other for one, other in zip(trials, calm, strict=True)]
    assert only("client_time", a_run(), *mixed).soundness == "sound"


def test_a_sleep_that_no_timed_event_had_counts_all_the_same() -> None:
    assert only("client_time", a_run(), *client(2.0, 200.0, 100.0)).soundness == "invalid"


def test_a_rest_on_one_side_is_the_client_s() -> None:
    trials = client(2.0, 100.0)
    rests = [
        replace(t, phases=(replace(p, streams=(replace(s, rested_ns=10**9),)),))
        if t.candidate == "new"
        else t
        for t in trials
        for p in t.phases
        for s in p.streams
    ]
    found = only("client_time", a_run(), *rests)
    assert found.soundness == "invalid" and "the script made the difference" in found.sentence


@pytest.mark.parametrize("asked", [{"connections": 2}, {"target_per_s": 100.0}])
def test_more_users_or_another_rate_on_one_side_are_invalid(asked: dict[str, Any]) -> None:
    found = words("same_work", restarts(**asked))
    assert [each.soundness for each in found] == ["invalid"]


@pytest.mark.parametrize(
    ("theirs", "word"),
    [
        (("a", 10, 1000), "sound"),
        (("b", 10, 1000), "invalid"),
        (("a", 10, 500), "invalid"),
        (("", None, None), "sound"),
    ],
)
def test_kept_loads_of_one_number_are_held_against_each_other(
    theirs: tuple[str, int | None, int | None], word: str
) -> None:
    known = {"old": ("a", 10, 1000), "new": theirs}
    trials = []
    for trial in restarts():
        texts, sent_, rows = known[trial.candidate]
        load = LoadCondition(1, 8, f"load-{trial.candidate}", 9.0, texts, sent_, rows)
        trials.append(replace(trial, conditions=Conditions(load=load)))
    assert only("same_work", a_run(), *trials).soundness == word


def test_statements_that_a_script_catches_are_errors() -> None:
    failing = replace(sent(), failed=EVENTS // 2)
    (found,) = words("errors", new_alone(failing))
    assert found.soundness == "invalid" and "the script went on" in found.sentence
    (few,) = words("errors", restarts(lambda *_: [replace(sent(), failed=20)]))
    assert few.soundness == "sound"


def test_null_changes_nothing_and_is_not_judged() -> None:
    sides = engine("old", "null"), engine("new", "null")
    nothing = restarts(lambda *_: [sent(changed=0, rows_expected=EVENTS)])
    assert only("rows_changed", a_run(*sides), *nothing).soundness == "does not apply"


@pytest.mark.parametrize("text", ["INSERT INTO t VALUES (?)", "INSERT INTO t SELECT ?"])
def test_a_side_whose_inserts_change_no_row_is_invalid_whatever_its_texts(text: str) -> None:
    def insert(name: str, _: int) -> list[StatementTally]:
        ours = text if name == "new" else "INSERT INTO t VALUES (?)"
        return [sent(ours, "insert", changed=0 if name == "new" else EVENTS)]

    trials = restarts(insert)
    for new in (engine("new"), engine("new", "other")):
        found = findings("rows_changed", a_run(OLD, new), *trials)
        assert [each.soundness for each in found] == ["invalid"], new
        assert "on new" in found[0].sentence and "10,000" not in found[0].sentence.split("did")[0]
