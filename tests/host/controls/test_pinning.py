"""Control `pinning`: cores for the driver and for the engine."""

from __future__ import annotations

import os
import shutil

import pytest

from dyno.errors import UsageError
from dyno.host.controls import ControlResult, ControlTarget, load_controls
from dyno.record import PinningCondition


def _held(value: str, *, embedded: bool = True) -> ControlResult:
    with load_controls()["pinning"].hold(value, ControlTarget(embedded=embedded)) as held:
        return held


def _cores(monkeypatch: pytest.MonkeyPatch, *cores: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(cores))


def test_the_driver_of_a_server_that_runs_already_has_cores_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _cores(monkeypatch, 0, 1, 2, 3)
    with load_controls()["pinning"].hold(
        "apart", ControlTarget(embedded=False, attached=True)
    ) as held:
        assert held.pinning == PinningCondition(driver=(3,), engine=())
        assert "runs already" in held.found["refused"]


def test_an_embedded_engine_gets_all_cores_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _cores(monkeypatch, 0, 1, 2, 3)
    held = _held("apart")
    cores = (1, 2, 3)
    assert (held.pinning, held.prefix) == (PinningCondition(cores, cores), ())
    assert held.found == {"before": "0,1,2,3", "set": "apart"}


def test_a_server_and_the_driver_share_no_core(monkeypatch: pytest.MonkeyPatch) -> None:
    _cores(monkeypatch, 0, 1, 2, 3)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/taskset")
    held = _held("apart", embedded=False)
    assert held.pinning == PinningCondition((3,), (0, 1, 2))
    assert held.prefix == ("taskset", "-c", "0,1,2")
    held = _held("0-1", embedded=False)
    assert held.pinning == PinningCondition((0, 1), (2, 3))
    assert held.prefix == ("taskset", "-c", "2,3")


def test_auto_is_apart_where_no_pilot_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    _cores(monkeypatch, 0, 1, 2, 3)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/taskset")
    for embedded in (True, False):
        chosen, apart = (_held(value, embedded=embedded) for value in ("auto", "apart"))
        assert (chosen.pinning, chosen.prefix) == (apart.pinning, apart.prefix)


@pytest.mark.parametrize("cores", [(0, 1, 2, 3), (3,)])
def test_together_is_one_core_for_driver_and_engine(
    cores: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    _cores(monkeypatch, *cores)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/taskset")
    for embedded in (True, False):
        held = _held("together", embedded=embedded)
        assert held.pinning == PinningCondition((3,), (3,))
        assert held.prefix == (() if embedded else ("taskset", "-c", "3"))
        assert held.found["set"] == "together"


def test_one_core_cannot_be_divided_and_the_record_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _cores(monkeypatch, 7)
    for embedded in (True, False):
        held = _held("apart", embedded=embedded)
        assert held.found["refused"] == "1 core to share" and held.pinning is None
    assert _held("7").pinning == PinningCondition((7,), (7,))


def test_without_pinning_the_kernel_places_the_threads() -> None:
    held = _held("off")
    assert (held.pinning, held.prefix) == (None, ()) and set(held.found) == {"before"}


@pytest.mark.parametrize("value", ["0-99999", "3-1", "99999"])
def test_cores_that_are_not_here_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match="cannot pin") as caught:
        load_controls()["pinning"].check(value)
    assert "usable cores are" in caught.value.hint
