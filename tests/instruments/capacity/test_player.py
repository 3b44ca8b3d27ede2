"""While one candidate plays a step the others are suspended, and woken whatever happens."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from dyno.cli import capacity
from dyno.errors import TrialFailed
from dyno.instruments.capacity.player import BlockPlayer, RestartPlayer
from dyno.instruments.capacity.run import make_plan, plan_search, prepare_capacity
from dyno.instruments.time.job import LoadChoice
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import RunFolder


@dataclass
class MadeFreezer:
    """Notes what it is told."""

    told: list[str] = field(default_factory=list)

    def freeze(self) -> None:
        self.told.append("freeze")

    def thaw(self) -> None:
        self.told.append("thaw")


@dataclass(eq=False)
class MadePlayer:
    freezer: MadeFreezer = field(default_factory=MadeFreezer)


def suspend(one: MadePlayer, players: list[MadePlayer]) -> Any:
    return RestartPlayer.suspend_others(cast(Any, one), cast(Any, players))


def test_the_others_are_suspended_for_a_step_and_then_woken() -> None:
    one, other = players = [MadePlayer(), MadePlayer()]
    with suspend(one, players):
        assert other.freezer.told == ["freeze"]
    assert other.freezer.told == ["freeze", "thaw"]
    assert one.freezer.told == []


def test_the_others_are_woken_before_an_error_is_told_else_it_would_be_blamed_on_them() -> None:
    one, other = players = [MadePlayer(), MadePlayer()]
    with pytest.raises(TrialFailed), suspend(one, players):
        raise TrialFailed("the server died")
    assert other.freezer.told == ["freeze", "thaw"]


@pytest.mark.slow
def test_data_that_take_long_to_load_are_loaded_once_and_copied_for_each_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    words = ["sqlite@system", "b=sqlite@system", "-w", "oltp_point_select", "--slo", "p50<1ms"]
    words += ["--set", "table_size=100", "--step", "100ms", "--seed", "1"]
    given = capacity.command.make_context("capacity", words).params
    experiment, asked, phase = plan_search(capacity.make_experiment(given))
    prepared = prepare_capacity(draft_run(experiment, lambda _: None), phase, lambda _: None)
    kept, plan = RunFolder(tmp_path / "run"), make_plan(prepared, asked)
    one = BlockPlayer(plan, prepared, kept, lambda _: None, choose_load=lambda *_: LoadChoice(0, 1))
    block = one.play_block(0, {})
    (load,) = (tmp_path / "cache" / "load").iterdir()
    assert (load / "home").is_dir() and len(block.restarts) == 2
    assert all(step.done for restart in block.restarts for step in restart.steps)
