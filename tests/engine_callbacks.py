"""What an engine is given that a test does not start: questions that fail, words that are lost."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.driver.plan import Session


def ask_nothing(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
    """An `engines.Ask` that must not be called."""
    raise AssertionError(f"asked {statements} of {session}")


def say_nothing(clause: str) -> None:
    """A `builds.Say` for what matters to nobody."""
    assert clause
