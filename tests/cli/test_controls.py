"""The controls on the command line: shown with what stands in their way, chosen, mistyped."""

from __future__ import annotations

from pathlib import Path

import fake_sysfs
import pytest
from click.testing import CliRunner

from dyno.cli import command, run_words
from dyno.host.controls import NOT_HERE, load_controls
from dyno.host.controls.turbo import NO_TURBO

PLAY = ("play", "null", "-w", "oltp_point_select", "--time", "0.1s", "--set", "table_size=10")


def _said(*words: str) -> str:
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_every_control_is_shown_with_its_values_and_whether_it_can_be_held(knobs: Path) -> None:
    (knobs / NO_TURBO.lstrip("/")).unlink()
    said = _said("show", "controls")
    for name, control in load_controls().items():
        assert name in said
        assert f"{control.default} (default)" in said
    assert f"keep (default), on, off {NOT_HERE}: no switch for turbo on this host" in said
    assert f"bfq {NOT_HERE}" not in said


def test_one_control_is_shown_with_what_stands_in_each_value_s_way(knobs: Path) -> None:
    for name in load_controls():
        assert f"--control {name}=VALUE" in _said("show", "controls", name)
    policies = "sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors"
    fake_sysfs.write_file(knobs, policies, "performance powersave")
    barred = "schedutil, ondemand, conservative: the kernel offers performance, powersave"
    assert f"{NOT_HERE}: {barred}" in _said("show", "controls")


def test_a_control_is_held_for_a_trial_and_what_is_not_is_said(
    knobs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fake_sysfs.read_all(knobs)
    assert run_words([*PLAY, "--control", "thp=never", "--control", "numa=interleave"]) == 0
    assert f"{NOT_HERE}: numa=interleave: the host has one node" in capfd.readouterr().err
    assert fake_sysfs.read_all(knobs) == before


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("thp", "not of the form key=value"),
        ("htp=never", "unknown control 'htp'"),
        ("thp=nver", "unknown value of thp 'nver'"),
        ("swap=201", "unknown value of swap '201'"),
        ("numa=-1", "unknown value of numa '-1'"),
    ],
)
def test_a_wrong_word_is_refused_before_anything_starts(
    word: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_words([*PLAY, "--control", word]) == 64
    assert said in capfd.readouterr().err
