"""Audits `results` and `settings`: other answers, other settings than asked. Clean and spoiled."""

from __future__ import annotations

from typing import Any

import pytest
from audit_records import NEW, OLD, a_run, a_trial, engine, findings, only
from msgspec import structs

from dyno.instruments.time.evidence import compute_rows_digest
from dyno.record import Evidence, Finding, Trial

ASKED = "SELECT c FROM t"
ORDERED = "SELECT a, c FROM t ORDER BY a"
Rows = tuple[tuple[str | None, ...], ...]
BOUNDARY: tuple[Rows, Rows] = ((("0.12345678901234549",),), (("0.12345678901234551",),))
ABB: Rows = (("1", "a"), ("1", "b"), ("2", "c"))
UNSORTED: Rows = (ABB[0], ABB[2], ABB[1])
OTHER: Rows = (*ABB[:2], ("2", "x"))


def _answered(
    number: int, candidate: str, rows: str = "2", check: str = "1f", **changes: Any
) -> Trial:
    """A trial of block 0 whose check statement was answered by so many rows of that checksum."""
    evidence = (Evidence("answer", changes.pop("sql", ASKED), 0, rows, check),)
    trial = a_trial(number, candidate, queries=10_000)
    return structs.replace(trial, block=0, evidence=evidence, **changes)


BASE = _answered(2, "old")


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"check": "2e"}, "with other values"), ({"rows": "1", "check": "2e"}, "with 1 and 2 rows")],
)
def test_other_answers_to_the_same_statement_are_invalid(
    changes: dict[str, str], words: str
) -> None:
    finding = only("results", a_run(), BASE, _answered(3, "new", **changes))
    assert (finding.soundness, finding.trials) == ("invalid", (3,))
    assert f"new and old answer 'answer' {words}" in finding.sentence


def test_another_engine_need_only_give_as_many_rows() -> None:
    run = a_run(OLD, engine("new", "another"))
    assert only("results", run, BASE, _answered(3, "new", check="2e")).soundness == "sound"
    assert only("results", run, BASE, _answered(3, "new", rows="1")).soundness == "doubtful"


@pytest.mark.parametrize("changes", [{}, {"sql": "SELECT d FROM t", "check": "2e"}])
def test_the_same_answers_and_other_statements_are_sound(changes: dict[str, str]) -> None:
    finding = only("results", a_run(), BASE, _answered(3, "new", **changes))
    assert finding.soundness == "sound" and "2 answers to check statements" in finding.sentence


def test_only_the_last_attempt_at_a_block_is_compared() -> None:
    torn = _answered(3, "new", check="2e")
    again = [
        structs.replace(_answered(number, name), attempt=2)
        for number, name in ((4, "old"), (5, "new"))
    ]
    assert only("results", a_run(), BASE, torn, *again).soundness == "sound"


@pytest.mark.parametrize(
    ("rows", "soundness"),
    [(10_000, "sound"), (9_600, "sound"), (9_000, "doubtful"), (7_000, "invalid"), (0, "invalid")],
)
def test_fewer_rows_per_query_are_told(rows: int, soundness: str) -> None:
    finding = only("results", a_run(), a_trial(2, "old"), a_trial(3, "new", rows_read=rows))
    assert finding.soundness == soundness
    if soundness != "sound":
        assert (finding.trials, finding.phase) == ((3,), "run")


def test_a_mix_of_few_events_may_differ_by_chance() -> None:
    def judged(events: int, rows: int) -> str:
        few = {"done": events, "intended": events, "queries": 10_000}
        trials = (a_trial(2, "old", **few), a_trial(3, "new", rows_read=rows, **few))
        return only("results", a_run(), *trials).soundness

    assert [judged(events, 9_000) for events in (100, 10_000)] == ["sound", "doubtful"]
    assert judged(100, 6_000) == "invalid"


def test_few_queries_and_null_prove_nothing() -> None:
    few = a_trial(3, "new", queries=99, rows_read=0)
    assert only("results", a_run(), a_trial(2, "old"), few).soundness == "sound"
    null = a_run(OLD, engine("new", "null"))
    nothing = a_trial(3, "new", rows_read=0)
    assert only("results", null, a_trial(2, "old"), nothing).soundness == "sound"


def test_a_digest_knows_every_value_and_the_order_apart() -> None:
    rows: list[list[str | None]] = [["1", None], ["2", "b"]]
    one, turned = compute_rows_digest(rows), compute_rows_digest(rows[::-1])
    assert one != turned and one[16:] == turned[16:]
    others: list[list[list[str | None]]] = [[["1", ""], ["2", "b"]], rows[:1], []]
    others.append([["1", None], ["2.0", "b"]])
    digests = {compute_rows_digest(each)[16:] for each in (rows, *others)}
    assert len(digests) == 5
    assert compute_rows_digest([["1"], ["2"]]) != compute_rows_digest([["1", "2"]])


def _answered_with(number: int, candidate: str, sql: str, rows: Rows, held: bool) -> Trial:
    """A trial whose check statement was answered so, its rows in the record or not."""
    digest = compute_rows_digest([list(row) for row in rows])
    entry = Evidence("Q", sql, 0, str(len(rows)), digest, rows if held else (), "sqlite")
    return structs.replace(a_trial(number, candidate, queries=10_000), block=0, evidence=(entry,))


@pytest.mark.parametrize(
    ("sql", "rows", "held", "words"),
    [
        (ORDERED, (ABB, UNSORTED), True, "invalid: in another order: '2', 'c' and '1', 'b'"),
        (ORDERED, (ABB, (ABB[1], ABB[0], ABB[2])), True, "sound: 2 answers to check"),
        (ASKED, (ABB, ABB[::-1]), True, "sound: 2 answers to check"),
        (ASKED, (ABB, OTHER), True, "invalid: other values: '2', 'x' and '2', 'c'"),
        (f"{ORDERED} LIMIT 3", (ABB, OTHER), True, "not checked: rows that tie"),
        (ASKED, ((("t",),), (("true",),)), True, "invalid: other values: 'true' and 't'"),
        (ASKED, ((("1.0",),), (("1",),)), True, "not checked: the column's type is unknown"),
        (ASKED, BOUNDARY, True, "not checked: the column's type is unknown"),
        (ASKED, (ABB, ABB[::-1]), False, "sound: 2 answers to check"),
        (ORDERED, (ABB, ABB[::-1]), False, "not checked: too many for a record"),
        (ASKED, (ABB, OTHER), False, "doubtful: other checksums"),
    ],
)
def test_check_statements_are_held_to_their_order_and_their_types(
    sql: str, rows: tuple[Rows, Rows], held: bool, words: str
) -> None:
    """A sorter that does not sort passed, `t` was `true` in text, and a rounding boundary parted
    two floats.
    """
    sides = ((2, "old", rows[0]), (3, "new", rows[1]))
    trials = [_answered_with(number, name, sql, each, held) for number, name, each in sides]
    soundness, _, said = words.partition(": ")
    found = findings("results", a_run(), *trials)
    assert [it.soundness for it in found if said in it.sentence] == [soundness], found


@pytest.mark.parametrize(
    ("rows", "held", "words"),
    [
        ((ABB, OTHER), True, "doubtful: other values: '2', 'x' and '2', 'c'"),
        (((("b   ", "1"),), (("b", "1"),)), True, "sound: 2 answers to check"),
        (((("1.00", "-0.50"),), (("1", "-0.5"),)), True, "sound: 2 answers to check"),
        (((("10",),), (("1",),)), True, "doubtful: other values: '1' and '10'"),
        (((("1e1",),), (("10",),)), True, "not checked: the column's type is unknown"),
        ((ABB, OTHER), False, "not checked: engines spell values otherwise"),
    ],
)
def test_check_statements_of_two_engines_are_compared_by_their_values(
    rows: tuple[Rows, Rows], held: bool, words: str
) -> None:
    sides = ((2, "old", rows[0]), (3, "new", rows[1]))
    trials = [_answered_with(number, name, ASKED, each, held) for number, name, each in sides]
    soundness, _, said = words.partition(": ")
    found = findings("results", a_run(OLD, engine("new", "another")), *trials)
    assert [it.soundness for it in found if said in it.sentence] == [soundness], found


def test_checksums_of_two_versions_of_dyno_are_not_compared() -> None:
    new = structs.replace(BASE.evidence[0], digest="2e" * 16)
    trials = BASE, structs.replace(a_trial(3, "new", queries=10_000), block=0, evidence=(new,))
    found = findings("results", a_run(), *trials)
    assert "not checked" in {it.soundness for it in found}


def _told(asked: dict[str, str], *told: dict[str, str]) -> tuple[str, str]:
    side = structs.replace(NEW, settings=asked)
    trials = [
        structs.replace(a_trial(number, "new"), settings=each)
        for number, each in enumerate(told, 3)
    ]
    found = findings("settings", a_run(OLD, side), *trials)
    return found[0].soundness, found[0].sentence


@pytest.mark.parametrize(
    ("asked", "told", "soundness"),
    [
        ("1GB", "1024MB (configuration file)", "sound"),
        ("1G", "1073741824", "sound"),
        ("-65536", "-65536", "sound"),
        ("1GiB", "1.0 GiB", "sound"),
        ("1", "1ms (configuration file)", "sound"),
        ("60s", "1min (configuration file)", "sound"),
        ("true", "on", "sound"),
        ("-1", "16MB", "sound"),
        ("b,a", "A,B", "sound"),
        ("64MB", "128MB (configuration file)", "invalid"),
        ("off", "on (configuration file)", "invalid"),
        ("100", "10", "invalid"),
        ("O_DIRECT", "fsync", "doubtful"),
    ],
)
def test_a_setting_that_reads_back_otherwise_is_told(asked: str, told: str, soundness: str) -> None:
    found, sentence = _told({"cache": asked}, {"cache": told})
    assert found == soundness
    assert soundness == "sound" or f"cache={asked} and runs with {told}" in sentence


def test_a_setting_that_changes_between_restarts_is_doubtful() -> None:
    found, sentence = _told({}, {"cache": "1"}, {"cache": "2"})
    assert found == "doubtful" and "cache is 1 or 2" in sentence


def test_defaults_that_differ_between_versions_are_told_and_no_fault() -> None:
    old = structs.replace(a_trial(2, "old"), settings={"jit": "off", "version": "1", "x": "1"})
    new = structs.replace(a_trial(3, "new"), settings={"jit": "on", "version": "2", "y": "1"})
    finding = only("settings", a_run(), old, new)
    assert finding.soundness == "sound" and finding.sentence.endswith("by default also differ: jit")
    run = a_run(*(structs.replace(side, build={"sha256": "1f"}) for side in (OLD, NEW)))
    finding = only("settings", run, old, new)
    assert (finding.soundness, finding.trials) == (
        "doubtful",
        (3,),
    ) and "nobody asked for it" in finding.sentence


ATTACHED = {"address": "unix:/tmp"}
THEIRS = {"log_min_duration_statement": "0 (configuration file)", "work_mem": "4MB (database)"}
OURS = {"log_min_duration_statement": "-1", "work_mem": "4096kB"}


def _beside_a_server(
    theirs: dict[str, str], ours: dict[str, str], asked: dict[str, str] | None = None
) -> Finding:
    old = engine("old", "postgres", embedded=False)
    sides = (
        structs.replace(old, build=ATTACHED),
        structs.replace(old, name="new", settings=asked or {}),
    )
    told = ((2, "old", theirs), (3, "new", ours))
    trials = [structs.replace(a_trial(n, side), settings=s) for n, side, s in told]
    return only("settings", a_run(*sides), *trials)


def test_a_costly_setting_that_differs_beside_a_server_that_runs_already_is_doubtful() -> None:
    """A server that logged every statement lost to the same build by a third, under a green bar."""
    finding = _beside_a_server(THEIRS, OURS)
    assert (finding.soundness, finding.trials) == ("doubtful", (3,))
    assert finding.sentence.endswith(
        "log_min_duration_statement is 0 and -1 (logging: statements that take as long are logged)"
    ), "a value that is spelled otherwise, or set elsewhere, is no other value"


def test_beside_such_a_server_the_dearest_settings_are_told_first() -> None:
    names = ("jit", "log_directory", "log_duration", "fsync", "data_checksums", "shared_buffers")
    more, less = dict.fromkeys(names, "on"), dict.fromkeys(names, "off")
    told = _beside_a_server(THEIRS | more, OURS | less).sentence.split(": ", 1)[1]
    parts = [part.partition(" ")[0] for part in told.split("; ")]
    assert parts == ["fsync", "log_min_duration_statement", "shared_buffers", "also"]
    assert told.endswith("also log_duration, data_checksums"), "plans and places are not costly"


@pytest.mark.parametrize(
    ("theirs", "asked"),
    [
        (OURS, {}),
        (OURS | {"jit": "on", "port": "5433"}, {}),
        (THEIRS, {"log_min_duration_statement": "-1"}),
    ],
)
def test_what_costs_nothing_or_was_asked_for_is_no_doubt(
    theirs: dict[str, str], asked: dict[str, str]
) -> None:
    assert _beside_a_server(theirs, OURS | {"jit": "off", "port": "1"}, asked).soundness == "sound"


def test_a_value_that_comes_from_elsewhere_in_another_restart_is_the_same() -> None:
    found, sentence = _told({}, {"cache": "1"}, {"cache": "1 (configuration file)"})
    assert found == "sound", sentence


def test_defaults_that_differ_are_told_by_their_cost() -> None:
    sides = (engine("old", "postgres"), engine("new", "postgres"))
    names = ("a_new_one", "jit", "log_statement", "synchronous_commit")
    old, new = (
        structs.replace(a_trial(number, side.name), settings=dict.fromkeys(names, value))
        for number, side, value in zip((2, 3), sides, ("on", "off"), strict=True)
    )
    sentence = only("settings", a_run(*sides), old, new).sentence
    assert sentence.endswith("synchronous_commit, log_statement, jit, a_new_one")
