"""Audit `loads`: few loads behind many blocks are found out, unless the candidates share them."""

from __future__ import annotations

import re

import pytest
from fakes import make_load, make_run, make_trial

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Conditions, DriverCondition, Finding, Trial


def _trials(blocks: int, of: int, *, shared: bool) -> list[Trial]:
    """Two candidates whose `of` loads rotate each, or with the same ones."""
    return [
        make_trial(
            2 * block + at,
            name,
            block,
            1.0,
            conditions=Conditions(
                load=make_load(f"{shared or name}-{block % of}", block % of + 1, of)
            ),
        )
        for block in range(blocks)
        for at, name in enumerate(("old", "new"))
    ]


def _only(trials: list[Trial]) -> Finding:
    (finding,) = load_audits()["loads"].judge(RunView(make_run(), trials))
    return finding


@pytest.mark.parametrize(
    ("blocks", "of", "shared", "soundness"),
    [
        (10, 8, False, "sound"),
        (3, 8, False, "sound"),
        (10, 3, False, "sound"),
        (10, 2, False, "doubtful"),
        (1, 1, False, "sound"),
        (2, 1, False, "doubtful"),
        (10, 1, True, "sound"),
    ],
)
def test_loads_are_held_against_the_blocks(
    blocks: int, of: int, shared: bool, soundness: str
) -> None:
    finding = _only(_trials(blocks, of, shared=shared))
    assert finding.soundness == soundness
    assert re.search(rf"\b{min(of, blocks)}\b", finding.sentence)
    assert bool(finding.trials) == (soundness == "doubtful")


def test_data_that_are_loaded_anew_are_no_question() -> None:
    known = Conditions(driver=DriverCondition("", "", (), 1))
    assert "anew" in _only([make_trial(1, "old", 0, 1.0, conditions=known)]).sentence
