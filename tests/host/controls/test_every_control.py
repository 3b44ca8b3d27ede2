"""The controls: each control says what it found and set, and leaves all as it was."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import fake_sysfs
import pytest

from dyno.errors import UsageError
from dyno.host.controls import Control, ControlResult, ControlTarget, aslr, load_controls

PACKAGE = sorted(load_controls().items())


def _held(name: str, value: str, *, embedded: bool = True, seed: int = 1) -> ControlResult:
    subject = ControlTarget(embedded=embedded, home=Path.cwd(), rng=random.Random(seed))
    with load_controls()[name].hold(value, subject) as held:
        return held


@pytest.mark.parametrize(("name", "control"), PACKAGE)
@pytest.mark.parametrize("embedded", [True, False])
def test_a_control_holds_each_of_its_words_and_leaves_all_as_it_was(
    name: str, control: Control, embedded: bool, knobs: Path
) -> None:
    before = os.sched_getaffinity(0), dict(os.environ), fake_sysfs.read_all(knobs)
    control.check(control.default)
    assert control.summary and control.default in control.values
    for value in control.values:
        if not value.isupper():
            control.check(value)
            found = _held(name, value, embedded=embedded).found
            assert found["before"]
            assert found.get("refused", "no reason") and "state" not in found
            assert not ("set" in found and "refused" in found)
            assert found.get("set", value) == value
    assert (os.sched_getaffinity(0), dict(os.environ), fake_sysfs.read_all(knobs)) == before


@pytest.mark.parametrize(("name", "control"), PACKAGE)
def test_by_default_nothing_of_the_host_is_written(
    name: str, control: Control, knobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_sysfs.watch_writes(monkeypatch, knobs, lambda knob: pytest.fail(f"{knob} was written"))
    assert "refused" not in _held(name, control.default).found
    assert not (knobs.parent / "journal").exists()


#: Whose default changes nothing of the host, and says what it did to the process all the same.
ALWAYS_SET = ("aslr", "pinning")


@pytest.mark.parametrize(("name", "control"), PACKAGE)
def test_of_a_server_that_runs_already_nothing_is_held(name: str, control: Control) -> None:
    subject = ControlTarget(embedded=False, attached=True, preloads=False)
    for value in control.values:
        if value.isupper() or (name, value) == ("pinning", "off"):
            continue
        with control.hold(value, subject) as held:
            is_kept = value == control.default and name not in ALWAYS_SET
            assert bool(held.found.get("refused")) != is_kept and "set" not in held.found
            assert (held.prefix, held.environment, held.preload) == ((), {}, False)


@pytest.mark.parametrize(("name", "control"), PACKAGE)
def test_a_control_refuses_a_word_that_it_does_not_know(name: str, control: Control) -> None:
    with pytest.raises(UsageError, match=f"unknown value of {name}") as caught:
        control.check("xyzzy")
    assert control.default in caught.value.hint


def test_with_aslr_left_on_the_layout_differs_between_restarts_but_not_between_replays() -> None:
    sizes = [len(_held("aslr", "on", seed=seed).environment[aslr.FILLER]) for seed in range(20)]
    assert len(set(sizes)) > 15 and max(sizes) < aslr.FILLER_BYTES
    assert _held("aslr", "on", seed=3) == _held("aslr", "on", seed=3)


def test_switched_off_a_process_has_the_same_layout_every_time() -> None:
    held = _held("aslr", "off")
    if "refused" in held.found:
        pytest.skip(held.found["refused"])
    command = [*held.prefix, "cat", "/proc/self/maps"]
    maps = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(3)}
    assert len(maps) == 1 and held.environment == {aslr.FILLER: ""}


def test_a_host_that_refuses_is_reported_and_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    aslr._find_refusal.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    held = _held("aslr", "off")
    aslr._find_refusal.cache_clear()
    assert held.found["refused"] and held.prefix == ()


def test_a_host_without_randomisation_is_reported(knobs: Path) -> None:
    fake_sysfs.write_file(knobs, aslr.SWITCH, "0")
    assert _held("aslr", "on").found["refused"]
