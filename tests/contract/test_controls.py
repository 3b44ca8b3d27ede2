"""The controls' room: each control says what it found and set, and leaves all as it was."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from dyno.controls import NOT_HERE, Control, Held, aslr, controls
from dyno.errors import UsageError

ROOM = sorted(controls().items())


def _held(name: str, value: str, *, embedded: bool = True, seed: int = 1) -> Held:
    with controls()[name].hold(value, embedded=embedded, dice=random.Random(seed)) as held:
        return held


def _cores(monkeypatch: pytest.MonkeyPatch, *cores: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(cores))


@pytest.mark.parametrize(("name", "control"), ROOM)
@pytest.mark.parametrize("embedded", [True, False])
def test_a_control_holds_each_of_its_words(name: str, control: Control, embedded: bool) -> None:
    before = os.sched_getaffinity(0), dict(os.environ)
    control.check(control.default)
    assert control.summary and control.default in control.values
    for value in control.values:
        if not value.isupper():
            control.check(value)
            assert _held(name, value, embedded=embedded).found["before"]
    assert (os.sched_getaffinity(0), dict(os.environ)) == before


@pytest.mark.parametrize(("name", "control"), ROOM)
def test_a_control_refuses_a_word_that_it_does_not_know(name: str, control: Control) -> None:
    with pytest.raises(UsageError, match=f"unknown value of {name}") as caught:
        control.check("sideways")
    assert control.default in caught.value.hint


def test_an_embedded_engine_gets_all_cores_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _cores(monkeypatch, 0, 1, 2, 3)
    held = _held("pinning", "apart")
    assert (held.cpus, held.prefix) == ((1, 2, 3), ())
    assert held.found == {"before": "0,1,2,3", "driver": "1,2,3", "engine": "1,2,3"}


def test_a_server_and_the_driver_share_no_core(monkeypatch: pytest.MonkeyPatch) -> None:
    _cores(monkeypatch, 0, 1, 2, 3)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/taskset")
    held = _held("pinning", "apart", embedded=False)
    assert (held.cpus, held.prefix) == ((3,), ("taskset", "-c", "0,1,2"))
    held = _held("pinning", "0-1", embedded=False)
    assert (held.cpus, held.prefix) == ((0, 1), ("taskset", "-c", "2,3"))


def test_one_core_cannot_be_divided_and_the_record_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _cores(monkeypatch, 7)
    for embedded in (True, False):
        held = _held("pinning", "apart", embedded=embedded)
        assert held.found["state"].startswith(NOT_HERE) and held.cpus == ()
    assert _held("pinning", "7").cpus == (7,)


def test_without_pinning_the_kernel_places_the_threads() -> None:
    held = _held("pinning", "off")
    assert (held.cpus, held.prefix) == ((), ()) and set(held.found) == {"before"}


@pytest.mark.parametrize("value", ["0-99999", "3-1", "99999"])
def test_cores_that_are_not_here_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match="cannot pin") as caught:
        controls()["pinning"].check(value)
    assert "usable here" in caught.value.hint


def test_left_on_the_layout_differs_between_restarts_but_not_between_replays() -> None:
    sizes = [len(_held("aslr", "on", seed=seed).environment[aslr.FILLER]) for seed in range(20)]
    assert len(set(sizes)) > 15 and max(sizes) < aslr.FILLER_BYTES
    assert _held("aslr", "on", seed=3) == _held("aslr", "on", seed=3)


def test_switched_off_a_process_has_the_same_layout_every_time() -> None:
    held = _held("aslr", "off")
    if "state" in held.found:
        pytest.skip(held.found["state"])
    command = [*held.prefix, "cat", "/proc/self/maps"]
    maps = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(3)}
    assert len(maps) == 1 and held.environment == {aslr.FILLER: ""}


def test_a_host_that_refuses_is_reported_and_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    aslr._refusal.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    held = _held("aslr", "off")
    aslr._refusal.cache_clear()
    assert held.found["state"].startswith(NOT_HERE) and held.prefix == ()


def test_a_host_without_randomisation_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "switch").write_text("0\n")
    monkeypatch.setattr(aslr, "SWITCH", tmp_path / "switch")
    assert NOT_HERE in _held("aslr", "on").found["state"]
