"""What an engine answers of its own structures: a fault, an excuse, or nothing wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from fake_driver import fake_setup

from dyno.engines import Engine
from dyno.errors import TrialFailed
from dyno.instruments.time.evidence import check_integrity

SAID: dict[str, list[list[str | None]]] = {
    "list": [["table a", "check a"], ["table b", "check b"], ["table m", "check m"]],
    "check a": [["a", "check", "status", "OK"]],
    "check b": [["b", "check", "error", "Corrupt"]],
    "check m": [["m", "note", "The storage engine for the table doesn't support check"]],
    # an orphan whose key is `OK` is one
    "orphans": [["OK"]],
    "keys": [],
}


def ask(session: Any, statements: Sequence[str]) -> list[list[list[str | None]]]:
    if statements[-1] == "structure":
        refused = TrialFailed("the engine refused a statement", cause="it is malformed")
        refused.state = "XX001"
        raise refused
    return [SAID[sql] for sql in statements]


def test_damage_is_a_fault_and_a_table_that_cannot_be_checked_is_not_checked(
    tmp_path: Path,
) -> None:
    setup = fake_setup()
    setup.tools = dataclasses.replace(setup.tools, ask=ask)
    engine = SimpleNamespace(
        integrity={"structure": "structure", "orphans": "orphans"},
        keys_sql="keys",
        deep="every page",
        deep_sql=("list",),
    )
    job = setup.job(tmp_path, engine=cast(Engine, engine), check="full")
    server = cast(Any, SimpleNamespace(session={}))
    found = {it.name: it for it in check_integrity(job, server)}
    assert [name for name, it in found.items() if it.faults] == ["structure", "orphans", "table b"]
    assert found["structure"].faults == ("the engine refused a statement: it is malformed",)
    assert [name for name, it in found.items() if it.unchecked] == ["table m"]
    (left,) = [
        it
        for it in check_integrity(dataclasses.replace(job, check="quick"), server)
        if it.unchecked
    ]
    assert (left.name, left.unchecked) == ("every page", "only --check full looks at it")
