"""For engines that a test does not start: one that nobody may ask, one who hears what is said."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.plan import Session


def never(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
    """An `engines.Ask` that must not be called."""
    raise AssertionError(f"asked {statements} of {session}")


def quiet(clause: str) -> None:
    """A `builds.Say` for what matters to nobody."""
    assert clause
