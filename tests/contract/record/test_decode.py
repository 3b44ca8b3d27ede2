"""Plain data to dataclasses: what fits becomes what it was, and what does not is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from dyno.record import decode


@dataclasses.dataclass(frozen=True)
class Inner:
    number: float


@dataclasses.dataclass(frozen=True)
class Outer:
    name: str
    many: tuple[Inner, ...]
    by_name: dict[str, int]
    maybe: str | None = None


def test_plain_data_becomes_what_it_was() -> None:
    outer = Outer("a", (Inner(1.0), Inner(2.5)), {"x": 1}, None)
    assert decode.decode(Outer, json.loads(json.dumps(dataclasses.asdict(outer)))) == outer


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"name": "a", "many": []}, "Outer: no field by_name"),
        ({"name": "a", "many": [], "by_name": {}, "more": 1}, "Outer: unknown field more"),
        ({"name": "a", "many": [{"number": "1"}], "by_name": {}}, r"Outer.many\[0\].number: float"),
        ({"name": "a", "many": [], "by_name": {"x": True}}, "Outer.by_name.x: int expected"),
        ([], "Outer: dict expected, found list"),
    ],
)
def test_data_of_another_shape_is_refused_with_its_place(data: Any, says: str) -> None:
    with pytest.raises(decode.WrongShape, match=says):
        decode.decode(Outer, data)
