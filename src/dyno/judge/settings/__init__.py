"""What engines' settings are known to cost: a table for each engine, `ENGINE.toml`.

A table names settings by class, and says of each what it makes the engine do. Names may hold `*`.
The classes stand in the order of their cost: what a commit waits for changes the rate of small
writes by a factor, a line in a log for each statement by a third, a plan only here and there.
*memory* holds caches, buffers and what is written in the background.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

#: The dearest first.
CLASSES = ("durability", "logging", "memory", "parallelism", "checks", "plans")


@dataclass(frozen=True)
class Cost:
    """A setting's class, and what it makes the engine do."""

    kind: str
    why: str


@dataclass(frozen=True)
class KnownCosts:
    """An engine's settings that are known to cost time: names, or patterns of names."""

    costs: Mapping[str, Cost]

    def find(self, name: str) -> Cost | None:
        """What is known of a setting; None where nothing is."""
        lower = name.lower()
        if found := self.costs.get(lower):
            return found
        patterns = (pattern for pattern in self.costs if "*" in pattern)
        return next((self.costs[p] for p in patterns if fnmatchcase(lower, p)), None)

    def rank(self, names: Iterable[str]) -> list[str]:
        """The names, the dearest class first; those of which nothing is known last."""
        order = {name: at for at, name in enumerate(self.costs)}
        return sorted(names, key=lambda name: (*self._rank(name, order), name))

    def _rank(self, name: str, order: Mapping[str, int]) -> tuple[int, int]:
        cost = self.find(name)
        if cost is None:
            return len(CLASSES), 0
        return CLASSES.index(cost.kind), order.get(name.lower(), len(order))


@cache
def load_known_costs(engine: str) -> KnownCosts:
    """The table of an engine; an empty one where there is none."""
    file = Path(__file__).with_name(f"{engine}.toml")
    if not file.is_file():
        return KnownCosts({})
    return KnownCosts(_read(tomllib.loads(file.read_text(encoding="utf-8"))))


def _read(table: dict[str, Any]) -> dict[str, Cost]:
    """The settings of each class in the file's order, after those of the engine that it is like."""
    like = table.pop("like", "")
    found = dict(load_known_costs(like).costs) if like else {}
    for kind, settings in table.items():
        found |= {name: Cost(kind, why) for name, why in settings.items()}
    return found
