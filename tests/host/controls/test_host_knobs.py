"""The controls of the whole host: found, set and put back, in a tree of knobs."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import fake_sysfs
import pytest

from dyno.host.controls import ControlTarget, _knob, load_controls
from dyno.host.controls.governor import POLICIES
from dyno.host.controls.swap import SWAPPINESS
from dyno.host.controls.thp import ENABLED
from dyno.host.controls.turbo import BOOST, NO_TURBO

SERVER = ControlTarget(embedded=False)


def _value(path: str) -> str:
    return _knob.read_current_value(_knob.find_path(path))


def _journalled(knobs: Path) -> list[str]:
    return [file.name for file in (knobs.parent / "journal").glob("*.json")]


def test_what_somebody_set_meanwhile_is_left_and_the_record_says_that_it_was_not_held(
    knobs: Path,
) -> None:
    with load_controls()["swap"].hold("avoid", SERVER) as held:
        assert held.found == {"before": "60", "set": "avoid", "devices": "/dev/zram0"}
        fake_sysfs.write_file(knobs, SWAPPINESS, "33")
    assert held.found["refused"] == "another process set it to 33 meanwhile"
    assert "set" not in held.found
    assert (_value(SWAPPINESS), _journalled(knobs)) == ("33", [])


def test_knobs_of_several_policies_are_put_back_each_to_its_own(knobs: Path) -> None:
    names = [f"{POLICIES}/policy{number}/scaling_governor" for number in (0, 1)]
    with load_controls()["governor"].hold("performance", SERVER) as held:
        assert held.found == {"before": "powersave, schedutil", "set": "performance"}
        assert [_value(name) for name in names] == ["performance", "performance"]
    assert [_value(name) for name in names] == ["powersave", "schedutil"]


def test_where_one_knob_of_several_refuses_none_is_set(
    knobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def refuse(knob: Path) -> None:
        if "policy1" in str(knob):
            raise OSError(errno.EBUSY, "Device busy")

    fake_sysfs.watch_writes(monkeypatch, knobs, refuse)
    with load_controls()["governor"].hold("performance", SERVER) as held:
        assert held.found["refused"].endswith("does not take performance (device busy)")
        assert _value(f"{POLICIES}/policy0/scaling_governor") == "powersave"
    assert _journalled(knobs) == []


@pytest.mark.parametrize(("switch", "on", "off"), [(NO_TURBO, "0", "1"), (BOOST, "1", "0")])
def test_turbo_is_told_by_either_switch(knobs: Path, switch: str, on: str, off: str) -> None:
    _knob.find_path(NO_TURBO).unlink()
    fake_sysfs.write_file(knobs, switch, on)
    with load_controls()["turbo"].hold("off", SERVER) as held:
        assert held.found == {"before": "on", "set": "off"}
        assert _value(switch) == off
    assert _value(switch) == on


def test_the_scheduler_is_that_of_the_disk_below_the_data_s_partition(knobs: Path) -> None:
    queue = "/sys/devices/pci/block/sda/queue/scheduler"
    if not os.major(knobs.stat().st_dev):
        pytest.skip("this folder's file system counts as a device of its own")
    home = ControlTarget(embedded=False, home=knobs / "data" / "not" / "yet" / "there")
    with load_controls()["io_scheduler"].hold("none", home) as held:
        assert held.found == {"before": "mq-deadline", "set": "none"}
        assert _value(queue) == "none"
    assert _value(queue) == "mq-deadline"


def test_what_the_kernel_does_not_offer_is_told_with_what_it_does(knobs: Path) -> None:
    fake_sysfs.write_file(knobs, ENABLED, "always [madvise]")
    with load_controls()["thp"].hold("never", SERVER) as held:
        assert held.found["refused"] == f"{ENABLED} offers always, madvise"
    assert held.found["before"] == "madvise"


def test_a_host_without_the_knob_says_so(knobs: Path) -> None:
    for path in (ENABLED, SWAPPINESS, NO_TURBO):
        _knob.find_path(path).unlink()
    for name, value in {"thp": "never", "swap": "0", "turbo": "off"}.items():
        with load_controls()[name].hold(value, SERVER) as held:
            assert held.found["refused"]
            assert held.found["before"] == "none"
