"""Words that have another name now: taken for one release, and a line of stderr says so."""

from __future__ import annotations

import pytest

from dyno import former_names
from dyno.cli import calibrate, command, run_words
from dyno.former_names import FormerNameWarning
from dyno.host.controls import load_controls
from dyno.runs.resolve.candidates import resolve_control_values


def test_an_option_under_its_former_name_does_the_same_and_says_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["calibrate", "--engine", "null@0", "--kind"]
    codes = [run_words([*words, "plant", "--plant=0"]), run_words([*words, "delay", "--inject=0"])]
    notes, now = capsys.readouterr().err.split("--inject must be above 0")[:2]
    assert codes == [64, 64]
    assert "note: '--plant' is now '--inject'" in notes and "note: 'plant' is now 'delay'" in notes
    assert "note" not in now


def test_every_former_name_leads_to_one_that_is_there() -> None:
    for name, renamed in former_names.OPTIONS.items():
        known = [
            opt for it in command.commands[name].params for opt in (*it.opts, *it.secondary_opts)
        ]
        assert set(renamed.values()) <= set(known) and not renamed.keys() & set(known)
    assert set(former_names.KINDS.values()) <= set(calibrate.KINDS)
    assert set(former_names.CONTROLS.values()) <= load_controls().keys()


def test_what_follows_two_dashes_is_nobodys_option() -> None:
    assert former_names.rename_options(["calibrate", "--", "--plant"])[-1] == "--plant"


def test_a_control_under_its_former_name_is_held_under_its_name() -> None:
    with pytest.warns(FormerNameWarning, match="'plant' is now 'inject'"):
        assert resolve_control_values({"plant": "10ns"})["inject"] == "10ns"
