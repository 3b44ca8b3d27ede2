"""Audits `results` and `settings`: other answers, other settings than asked. Clean and spoiled."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from audit_records import NEW, OLD, a_run, a_trial, engine, findings, only

from dyno.compare.play.evidence import compute_rows_digest
from dyno.record import Evidence, Finding, Trial

ASKED = "SELECT c FROM t"


def _answered(
    number: int, candidate: str, rows: str = "2", check: str = "1f", **changes: Any
) -> Trial:
    """A trial of block 0 whose check statement was answered by so many rows of that checksum."""
    evidence = (Evidence("answer", changes.pop("sql", ASKED), 0, rows, check),)
    trial = a_trial(number, candidate, queries=10_000)
    return dataclasses.replace(trial, block=0, evidence=evidence, **changes)


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
        dataclasses.replace(_answered(number, name), attempt=2)
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


def test_a_digest_knows_no_order_of_rows_and_every_value() -> None:
    rows: list[list[str | None]] = [["1", None], ["2", "b"]]
    assert compute_rows_digest(rows) == compute_rows_digest(rows[::-1])
    assert (
        len(
            {
                compute_rows_digest(rows),
                compute_rows_digest([["1", ""], ["2", "b"]]),
                compute_rows_digest(rows[:1]),
                compute_rows_digest([]),
            }
        )
        == 4
    )
    assert compute_rows_digest([["1"], ["2"]]) != compute_rows_digest([["1", "2"]])


def _told(asked: dict[str, str], *told: dict[str, str]) -> tuple[str, str]:
    side = dataclasses.replace(NEW, settings=asked)
    trials = [
        dataclasses.replace(a_trial(number, "new"), settings=each)
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
    old = dataclasses.replace(a_trial(2, "old"), settings={"jit": "off", "version": "1", "x": "1"})
    new = dataclasses.replace(a_trial(3, "new"), settings={"jit": "on", "version": "2", "y": "1"})
    finding = only("settings", a_run(), old, new)
    assert finding.soundness == "sound" and finding.sentence.endswith("by default also differ: jit")
    run = a_run(*(dataclasses.replace(side, build={"sha256": "1f"}) for side in (OLD, NEW)))
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
        dataclasses.replace(old, build=ATTACHED),
        dataclasses.replace(old, name="new", settings=asked or {}),
    )
    told = ((2, "old", theirs), (3, "new", ours))
    trials = [dataclasses.replace(a_trial(n, side), settings=s) for n, side, s in told]
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
        dataclasses.replace(a_trial(number, side.name), settings=dict.fromkeys(names, value))
        for number, side, value in zip((2, 3), sides, ("on", "off"), strict=True)
    )
    sentence = only("settings", a_run(*sides), old, new).sentence
    assert sentence.endswith("synchronous_commit, log_statement, jit, a_new_one")
