"""Random JSON documents for the kit's tests, with numbers that are exact."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any


def a_value(dice: random.Random, scalars: int, depth: int = 4) -> Any:
    """Any JSON with the first `scalars` kinds of values; numbers are exact."""
    kind = dice.randrange(scalars + 2 if depth else scalars)
    if kind == scalars:
        return [a_value(dice, scalars, depth - 1) for _ in range(dice.randrange(4))]
    if kind == scalars + 1:
        names = [dice.choice("abcd") for _ in range(dice.randrange(4))]
        return {name: a_value(dice, scalars, depth - 1) for name in names}
    small = Decimal(dice.randrange(-(10**9), 10**9)).scaleb(-dice.randrange(7))
    return [None, small, dice.randrange(-(2**63), 2**63), True, "x y\n\\\"'ä", ""][kind]


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar with its nearest key, in order."""
    if not isinstance(value, dict | list):
        yield key, value
        return
    inner = value.items() if isinstance(value, dict) else [(key, each) for each in value]
    for name, each in inner:
        yield from leaves(each, name)


def written(value: Any) -> str:
    """A document of ours as JSON, decimals as they are."""
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(k)}: {written(v)}' for k, v in value.items())}}}"
    return f"{value:f}" if isinstance(value, Decimal) else json.dumps(value)


def quoted(value: Any) -> str:
    """A document as a literal of SQL."""
    text = written(value).replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'"


def small_value(dice: random.Random, depth: int = 3) -> Any:
    """Any JSON of few values, so that documents share them."""
    kind = dice.randrange(8 if depth else 5)
    if kind > 5:
        names = dice.sample("abcd", dice.randrange(4))
        return {name: small_value(dice, depth - 1) for name in names}
    if kind == 5:
        return [small_value(dice, depth - 1) for _ in range(dice.randrange(4))]
    return [None, dice.randrange(4), Decimal(dice.randrange(8)) / 4, dice.random() < 0.5, "x1"][
        kind
    ]


def part_of(dice: random.Random, value: Any) -> Any:
    """A pattern that the value holds."""
    if isinstance(value, dict):
        kept = [name for name in value if dice.random() < 0.7]
        return {name: part_of(dice, value[name]) for name in kept}
    if isinstance(value, list) and value:
        if dice.random() < 0.5:
            return part_of(dice, dice.choice(value))
        return [part_of(dice, each) for each in dice.sample(value, dice.randrange(len(value) + 1))]
    return value


def holds(document: Any, pattern: Any) -> bool:
    """Is all of the pattern in the document? By the rules of docs/guides/kit/json-index.md."""
    if isinstance(pattern, list):
        return isinstance(document, list) and all(
            any(holds(each, wanted) for each in document) for wanted in pattern
        )
    if isinstance(document, list):
        return any(holds(each, pattern) for each in document)
    if isinstance(pattern, dict):
        return isinstance(document, dict) and all(
            name in document and holds(document[name], each) for name, each in pattern.items()
        )
    return _kind(document) == _kind(pattern) and bool(document == pattern)


def _kind(value: Any) -> type:
    # True is 1 to Python
    return Decimal if type(value) is int else type(value)
