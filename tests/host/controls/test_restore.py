"""`dyno restore` after `kill -9`: a real process holds knobs of a tree, and dies in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import fake_sysfs
import pytest
from click.testing import CliRunner
from repository import ROOT

from dyno.cli import command, run_words
from dyno.host.controls import _knob, put_back
from dyno.host.controls.swap import SWAPPINESS
from dyno.host.controls.thp import ENABLED

pytestmark = pytest.mark.chaos

HOLDING = ROOT / "tests" / "hold_controls.py"
ALL = ("governor=performance", "turbo=off", "thp=never", "thp_defrag=never", "swap=0")


def _started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, HOLDING, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # a shell that started the tests in the background has made them deaf to it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _holding(*words: str) -> subprocess.Popen[str]:
    """A process that holds these now."""
    process = _started(*words)
    assert process.stdout
    assert process.stdout.readline()
    return process


def _killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _restored(*words: str) -> str:
    done = CliRunner().invoke(command, ["restore", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_killed_in_the_middle_of_hold_the_host_is_put_back_as_it_was(knobs: Path) -> None:
    before = fake_sysfs.read_all(knobs)
    _killed(_holding(*ALL))
    held = fake_sysfs.read_all(knobs)
    changed = {name for name in held if held[name] != before[name]}
    assert len(changed) == 6
    said = _restored("--dry-run")
    assert fake_sysfs.read_all(knobs) == held and said.count("would put back") == 6
    said = _restored()
    assert f"{SWAPPINESS}: 0 is 60 again" in said and said.count("again") == 6
    assert fake_sysfs.read_all(knobs) == before
    assert _restored() == "nothing to put back\n"


def test_killed_between_the_journal_and_the_knob_nothing_is_written(knobs: Path) -> None:
    before = fake_sysfs.read_all(knobs)
    process = _started("--before-write", "swap=0")
    process.communicate(timeout=30)
    assert process.returncode == -9
    assert len(list((knobs.parent / "journal").glob("*.json"))) == 1
    assert "as it was found" in _restored()
    assert fake_sysfs.read_all(knobs) == before
    assert not list((knobs.parent / "journal").glob("*.json"))


def test_a_run_under_way_is_left_alone_and_puts_back_itself(knobs: Path) -> None:
    process = _holding("swap=0")
    assert "a run under way holds it" in _restored()
    assert _knob.read_current_value(_knob.find_path(SWAPPINESS)) == "0"
    process.communicate("", timeout=30)
    assert _knob.read_current_value(_knob.find_path(SWAPPINESS)) == "60"


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_told_to_end_puts_back_itself(knobs: Path, end: signal.Signals) -> None:
    before = fake_sysfs.read_all(knobs)
    process = _holding(*ALL)
    process.send_signal(end)
    process.communicate(timeout=30)
    assert process.returncode and fake_sysfs.read_all(knobs) == before
    assert _restored() == "nothing to put back\n"


def test_of_two_that_share_a_knob_one_may_be_killed(knobs: Path) -> None:
    first, second = _holding("swap=0"), _holding("swap=0")
    _killed(first)
    assert "a run under way holds it" in _restored()
    second.communicate("", timeout=30)
    assert _knob.read_current_value(_knob.find_path(SWAPPINESS)) == "60"
    assert _restored() == "nothing to put back\n"


def test_a_new_run_puts_back_what_a_dead_one_left_before_it_sets_its_own(knobs: Path) -> None:
    _killed(_holding("swap=0"))
    process = _holding("swap=10")
    process.communicate("", timeout=30)
    assert _knob.read_current_value(_knob.find_path(SWAPPINESS)) == "60"


def test_what_somebody_changed_since_is_left_and_told(knobs: Path) -> None:
    _killed(_holding("swap=0", "thp=never"))
    fake_sysfs.write_file(knobs, SWAPPINESS, "33")
    said = _restored()
    assert f"{SWAPPINESS} holds 33 and is left so: 60 was found and 0 set" in " ".join(said.split())
    assert f"{ENABLED}: never is madvise again" in said
    assert _restored() == "nothing to put back\n"


def test_after_a_restart_of_the_host_its_own_values_stand(knobs: Path) -> None:
    _killed(_holding("swap=0"))
    fake_sysfs.write_file(knobs, _knob.BOOT, "second-start")
    assert "the host has restarted since" in _restored()
    assert _knob.read_current_value(_knob.find_path(SWAPPINESS)) == "0"


def test_what_cannot_be_put_back_ends_with_64_and_stays_in_the_journal(
    knobs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _killed(_holding("swap=0"))
    _knob.find_path(SWAPPINESS).unlink()
    assert run_words(["restore"]) == 64
    assert f"not put back: {SWAPPINESS}" in capsys.readouterr().err
    fake_sysfs.write_file(knobs, SWAPPINESS, "0")
    assert f"{SWAPPINESS}: 0 is 60 again" in _restored()


def test_the_next_run_says_what_it_put_back(knobs: Path) -> None:
    from dyno.runs.resolve.design import recover_knobs

    _killed(_holding("swap=0"))
    said: list[str] = []
    recover_knobs(said.append)
    assert said == [f"left by a run that was killed: {SWAPPINESS}: 0 is 60 again"]
    assert _knob.read_current_value(_knob.find_path(SWAPPINESS)) == "60" and put_back() == []
