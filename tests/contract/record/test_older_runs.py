"""A run of schema 1, as it was written before conditions and failures were types, is read on."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from dyno.cli import exit_code
from dyno.compare.run_folder import RunFolder
from dyno.errors import UsageError
from dyno.judge.analysis.judge import judge
from dyno.judge.analysis.sentence import pilot_words
from dyno.record import (
    SCHEMA,
    ControlCondition,
    Dropped,
    Failure,
    LoadCondition,
    PinningCondition,
    StorageCondition,
    Trial,
    Turns,
    Verdict,
    Window,
)

#: Five blocks of `null`: a trial of block 1 failed, others' CPU spoilt blocks 0 and 2.
OLD = RunFolder(Path(__file__).resolve().parents[2] / "golden" / "run-of-schema-1")
#: What the Dyno of that schema made of it.
EXPECTED: dict[str, Any] = json.loads((OLD.path / "verdict.json").read_text())
#: What the old verdict said of blocks by name, and the text's parts.
DROPPED = (
    Dropped("select", 0, "foreign_percent", 85.6, 80.0),
    Dropped("select", 2, "foreign_percent", 89.2, 80.0),
)


@pytest.fixture
def copied(tmp_path: Path) -> RunFolder:
    """The old run where a test may spoil it."""
    return RunFolder(Path(shutil.copytree(OLD.path, tmp_path / "run")))


def spoil(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def trial(folder: RunFolder, number: int) -> Trial:
    return next(each for each in folder.trials() if each.number == number)


#: What a comparison did not say yet.
NEW: dict[str, Any] = {"share_unseen_percent": None, "doubts": []}
#: Audits that there were not.
NEW_AUDITS = {"dropped_blocks", "noise_effect", "round_trip", "turns", "unlike_conditions"}


def expected(name: str) -> Any:
    """What the old verdict said, with what it did not say yet."""
    if name == "comparisons":
        return [row | NEW for row in EXPECTED[name]]
    return EXPECTED[name]


def without_new(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings of the audits that there were."""
    return [each for each in findings if each["audit"] not in NEW_AUDITS]


def is_fault(finding: dict[str, Any]) -> bool:
    return finding["soundness"] in ("doubtful", "invalid")


def test_what_an_older_record_does_not_tell_was_not_checked_and_is_not_called_sound() -> None:
    findings = judge(OLD.run(), OLD.trials()).findings
    words = {f.audit: f.soundness for f in reversed(findings)}
    untold = ("debug_build", "driver_late", "stalls")
    assert {name: words[name] for name in untold} == dict.fromkeys(untold, "not checked")
    idle = ("ledger", "results", "server_count", "storage", "client_bottleneck", "turns")
    assert {name: words[name] for name in idle} == dict.fromkeys(idle, "does not apply")
    assert words["counters"] == "sound"


def text_form(verdict: Verdict) -> dict[str, str]:
    """The dropped blocks as schema 1 had them."""
    return {f"{each.workload}/{each.block}": each.reason for each in verdict.dropped}


def same(found: Any, expected: Any) -> bool:
    """Alike to the last word, and in numbers to a billionth."""
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9)
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            same(found[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected)


def test_an_older_run_is_read_whole_and_becomes_of_today_s_schema() -> None:
    (workload,) = OLD.run().workloads
    (phase,) = workload.phases
    assert (phase.stop.kind, phase.streams[0].pace.kind) == ("time", "closed")
    trials = OLD.trials()
    assert [each.number for each in trials] == list(range(1, 12))
    assert {OLD.run().schema, *(each.schema for each in trials)} == {SCHEMA}


def test_no_file_of_it_names_a_folder_of_the_machine_it_was_played_on() -> None:
    text = "".join(file.read_text() for file in OLD.path.rglob("*.json"))
    assert not [root for root in ("/root", "/home", "/tmp", "/work") if f"{root}/" in text]


def test_a_failed_trial_of_an_older_run_says_why() -> None:
    failed = [each for each in OLD.trials() if each.status == "failed"]
    assert [(each.number, each.failure) for each in failed] == [
        (3, Failure("the driver was killed (signal 9)"))
    ]
    assert [each.failure for each in OLD.trials() if each.status == "ok"] == [None] * 10


def test_a_hint_that_stood_below_the_failure_is_a_hint_again(copied: RunFolder) -> None:
    text = "the server died (signal 11): its log ends with:\n  help\nhint: see its log"
    spoil(copied.path / "trials" / "0003.json", lambda data: data.update(failure=text))
    failure = trial(copied, 3).failure
    assert failure is not None and failure.hint == "see its log"
    assert str(failure) == "the server died (signal 11): its log ends with:\n  help"
    assert failure.sentence == "the server died (signal 11): its log ends with:"


def test_the_conditions_of_an_older_run_are_typed() -> None:
    found = trial(OLD, 1).conditions
    details = {"filler_bytes": "3621"}
    assert found.controls["aslr"] == ControlCondition("on", before="on", set="on", details=details)
    assert found.controls["thp"] == ControlCondition("keep", before="madvise")
    assert found.controls["pinning"] == ControlCondition("apart", before="0,1", set="apart")
    assert found.pinning == PinningCondition((1,), (1,))
    assert found.driver and (found.driver.cpus, found.driver.seed) == ((1,), 3165469135)
    assert found.storage == StorageCondition("ext4 on /dev/vda", 270553174016, 77865840640)
    assert (found.load, found.data) == (None, None)


def test_a_control_that_was_not_held_is_refused_with_the_bare_reason(copied: RunFolder) -> None:
    def refuse(data: dict[str, Any]) -> None:
        why = "not controllable here: no cpufreq"
        data["conditions"]["governor"] = {"before": "none", "state": why, "value": "performance"}

    spoil(copied.path / "trials" / "0001.json", refuse)
    expected = ControlCondition("performance", before="none", refused="no cpufreq")
    assert trial(copied, 1).conditions.controls["governor"] == expected


def test_conditions_that_were_text_are_numbers(copied: RunFolder) -> None:
    def hold(data: dict[str, Any]) -> None:
        data["conditions"] |= {
            "load": {"number": "2", "of": "8", "name": "x", "seconds": "1.5"},
            "data": {"bytes": "100", "cache_bytes": "7", "claim": "cached"},
            "durability": {"survives": "nothing", "fsync": "off"},
        }

    spoil(copied.path / "trials" / "0001.json", hold)
    found = trial(copied, 1).conditions
    assert found.load == LoadCondition(number=2, of=8, name="x", duration_s=1.5)
    assert found.data and (found.data.size_bytes, found.data.cache_bytes) == (100, 7)
    assert (found.data.claim, found.data.survives) == ("cached", "nothing")
    assert found.data.decided_by == {"fsync": "off"}


def test_windows_of_schema_2_were_those_of_all_workloads(copied: RunFolder) -> None:
    def by_turns(data: dict[str, Any]) -> None:
        turns = {"window_s": 0.2, "drain_s": 0.01, "edge_s": 0.02, "epoch_s": 1.0, "frozen": True}
        pilot = {"pinning": "apart", "latency_ns_p99": 7_000_000}
        data |= {"schema": 2, "pilot": pilot}
        data["design"]["turns"] = turns

    spoil(copied.path / "run.json", by_turns)
    run = copied.run()
    assert run.schema == SCHEMA and run.design.turns == Turns(Window(0.2, 0.01), 1.0, frozen=True)
    assert run.pilot and run.pilot.latency_ns_p99 == {"select": 7_000_000}
    told = "Windows of 200 ms: 99 of 100 events take 7.0 ms at most."
    assert pilot_words(run) == [told]


def test_an_older_run_is_judged_as_it_was() -> None:
    verdict = judge(OLD.run(), OLD.trials())
    found = json.loads(json.dumps(asdict(verdict)))
    # sentences are told in today's words, and its one doubtful finding doubts a row
    for row in found["comparisons"]:
        assert [doubt["audit"] for doubt in row.pop("doubts")] == ["noise"]
        row["doubts"] = []
    for name in ("overall", "complete", "comparisons", "looks", "spread"):
        assert same(found[name], expected(name)), name
    today, then = without_new(found["findings"]), expected("findings")
    assert [f for f in today if is_fault(f)] == [f for f in then if is_fault(f)]
    assert "null@25us may be slower than null@20us or not: select takes betw" in verdict.sentence
    assert text_form(verdict) == EXPECTED["dropped"]


def test_the_verdict_of_an_older_run_is_read_too() -> None:
    verdict = OLD.verdict()
    assert verdict is not None and verdict.schema == SCHEMA
    assert verdict.dropped == DROPPED
    assert text_form(verdict) == EXPECTED["dropped"]
    unlike = {"dropped", "schema"}
    found = json.loads(json.dumps(asdict(verdict)))
    assert all(same(found[name], expected(name)) for name in EXPECTED.keys() - unlike)


def test_a_run_of_a_schema_to_come_is_refused_by_its_name(copied: RunFolder) -> None:
    file = copied.path / "run.json"
    spoil(file, lambda data: data.update(schema=99))
    with pytest.raises(UsageError, match=f"{file} is of schema 99, from a newer dyno") as caught:
        copied.run()
    assert "use the dyno that wrote it" in caught.value.hint


DAMAGES: dict[str, Any] = {
    "conditions that are a list": {"conditions": ["aslr"]},
    "a condition that is a word": {"conditions": {"aslr": "on"}},
    "a seed that is no number": {
        "conditions": {"driver": {"environment": "", "prefix": "", "cpus": "", "seed": "x"}}
    },
    "a failure that is a number": {"failure": 7},
    "phases that are a number": {"phases": 7},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_trial_is_one_sentence(
    damage: dict[str, Any], copied: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    file = copied.path / "trials" / "0003.json"
    spoil(file, lambda data: data.update(damage))
    with pytest.raises(UsageError, match=f"{file} is damaged") as caught:
        copied.trials()
    assert caught.value.cause and "move it away" in caught.value.hint
    assert exit_code(["show", str(copied.path)]) == 64
    said = capsys.readouterr().err
    assert f"{file} is damaged" in said and "Traceback" not in said
