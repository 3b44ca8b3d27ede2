"""Records with one or more values that no Dyno wrote, drawn by a seed."""

from __future__ import annotations

import copy
import random
from typing import Any

ODD: list[Any] = [None, 0, -1, 10**400, 1e308, float("nan"), "", "é", "a" * 5000, [], {}, [0], True]


def list_places(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of each value of a record, of lists the first three."""
    found = [before] if before else []
    inner = list(value.items()) if isinstance(value, dict) else []
    inner = list(enumerate(value))[:3] if isinstance(value, list) else inner
    return found + [place for key, it in inner for place in list_places(it, (*before, key))]


def mutate(record: Any, draw: random.Random) -> Any:
    """The record with one value replaced, removed, emptied, doubled or made large."""
    made = copy.deepcopy(record)
    *above, key = draw.choice(list_places(made))
    holder = made
    for each in above:
        holder = holder[each]
    value = holder[key]
    way = draw.choice(["replace", "remove", "empty", "scale", "double", "shorten"])
    if way == "remove":
        del holder[key]
    elif way == "scale" and isinstance(value, int | float):
        holder[key] = type(value)(value * draw.choice([0, -1, 1000, 1e12]))
    elif way == "empty" and isinstance(value, list | dict | str):
        holder[key] = type(value)()
    elif way in ("double", "shorten") and isinstance(value, list) and value:
        holder[key] = [*value, copy.deepcopy(value[0])] if way == "double" else value[:-1]
    else:
        holder[key] = draw.choice(ODD)
    return made
