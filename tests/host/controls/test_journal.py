"""The journal of host-wide knobs, seen from inside: who finds, sets, shares and puts back what."""

from __future__ import annotations

import json
from pathlib import Path

import fake_sysfs
import pytest

from dyno.errors import HostError
from dyno.host.controls import ControlTarget, _journal, _knob, put_back
from dyno.host.controls.swap import SWAPPINESS
from dyno.host.controls.thp import ENABLED

SERVER = ControlTarget(embedded=False)


def _value(path: str) -> str:
    return _knob.read_current_value(_knob.find_path(path))


def _journalled(knobs: Path) -> list[str]:
    return [file.name for file in (knobs.parent / "journal").glob("*.json")]


def test_the_journal_is_on_the_disk_before_the_knob_is_written(
    knobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, dict[str, str]]] = []

    def note(knob: Path) -> None:
        (name,) = _journalled(knobs)
        entry = json.loads((knobs.parent / "journal" / name).read_text())
        seen.append((_knob.read_current_value(knob), entry))

    fake_sysfs.watch_writes(monkeypatch, knobs, note)
    with _journal.hold_knob(_knob.find_path(SWAPPINESS), "7") as holding:
        assert (holding.found, _value(SWAPPINESS)) == ("60", "7")
    entry = {"path": SWAPPINESS, "found": "60", "set": "7", "boot": "first-start"}
    assert seen == [("60", entry), ("7", entry)], "each with what the knob held before"
    assert (_value(SWAPPINESS), _journalled(knobs)) == ("60", [])


def test_several_runs_share_a_value_and_the_last_one_puts_back(knobs: Path) -> None:
    with _journal.hold_knob(_knob.find_path(ENABLED), "never") as first:
        with _journal.hold_knob(_knob.find_path(ENABLED), "never") as second:
            assert (first.found, second.found) == ("madvise", "madvise")
        assert second.outcome and second.outcome.state == "in use"
        assert _value(ENABLED) == "never"
        with (
            pytest.raises(HostError, match="a run under way holds it at never"),
            _journal.hold_knob(_knob.find_path(ENABLED), "always"),
        ):
            pass
    assert first.outcome and first.outcome.state == "put back"
    assert (_value(ENABLED), _journalled(knobs)) == ("madvise", [])


def test_a_kernel_that_keeps_another_value_is_believed(
    knobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _: "60\n")
    with pytest.raises(_knob.KnobRefused, match="was set to 7 and holds 60"):
        _knob.set_value(_knob.find_path(SWAPPINESS), "7")


def test_a_journal_that_others_can_write_to_is_not_believed(knobs: Path) -> None:
    journal = knobs.parent / "journal"
    journal.mkdir(mode=0o777)
    journal.chmod(0o777)
    injected = _journal.JournalEntry(SWAPPINESS, "200", "60", "first-start")
    (journal / _journal.name_entry(SWAPPINESS)).write_text(json.dumps(vars(injected)))
    with pytest.raises(HostError, match="others can write to the journal"):
        put_back()
    assert _value(SWAPPINESS) == "60"


def test_an_entry_that_makes_no_sense_is_named(knobs: Path) -> None:
    journal = knobs.parent / "journal"
    journal.mkdir()
    (journal / "x.json").write_text("{")
    with pytest.raises(HostError, match="is not an entry of the journal"):
        put_back()
