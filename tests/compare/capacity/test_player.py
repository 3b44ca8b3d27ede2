"""While one candidate plays a step the others are suspended, and woken whatever happens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from dyno.compare.capacity.player import RestartPlayer
from dyno.errors import TrialFailed


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
