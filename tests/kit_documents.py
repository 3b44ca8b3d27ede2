"""Random JSON documents for the kit's tests, with numbers that are exact."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any


def a_value(rng: random.Random, scalars: int, depth: int = 4) -> Any:
    """Any JSON with the first `scalars` kinds of values; numbers are exact."""
    kind = rng.randrange(scalars + 2 if depth else scalars)
    if kind == scalars:
        return [a_value(rng, scalars, depth - 1) for _ in range(rng.randrange(4))]
    if kind == scalars + 1:
        names = [rng.choice("abcd") for _ in range(rng.randrange(4))]
        return {name: a_value(rng, scalars, depth - 1) for name in names}
    small = Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-rng.randrange(7))
    return [None, small, rng.randrange(-(2**63), 2**63), True, "x y\n\\\"'ä", ""][kind]


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


def small_value(rng: random.Random, depth: int = 3) -> Any:
    """Any JSON of few values, so that documents share them."""
    kind = rng.randrange(8 if depth else 5)
    if kind > 5:
        names = rng.sample("abcd", rng.randrange(4))
        return {name: small_value(rng, depth - 1) for name in names}
    if kind == 5:
        return [small_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return [None, rng.randrange(4), Decimal(rng.randrange(8)) / 4, rng.random() < 0.5, "x1"][kind]


def part_of(rng: random.Random, value: Any) -> Any:
    """A pattern that the value holds."""
    if isinstance(value, dict):
        kept = [name for name in value if rng.random() < 0.7]
        return {name: part_of(rng, value[name]) for name in kept}
    if isinstance(value, list) and value:
        if rng.random() < 0.5:
            return part_of(rng, rng.choice(value))
        return [part_of(rng, each) for each in rng.sample(value, rng.randrange(len(value) + 1))]
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
