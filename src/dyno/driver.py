"""The Python side of `dyno-driver`: find it, ask it, play a plan through its handshake."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dyno.plan import Description, Plan, Session


def locate() -> Path:
    """The driver: ``$DYNO_DRIVER``, else beside the interpreter, else on the path."""
    raise NotImplementedError


def describe(plan: Plan) -> Description:
    """What the plan's script declares under the plan's options; an error of it is raised."""
    raise NotImplementedError


def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
    """The rows of each statement as text; None is NULL. This is the `engines.Ask` callable."""
    raise NotImplementedError
