"""Keys that can have no effect where they stand, and bare numbers whose unit is easily mistaken.

Neither is an error: the server takes both, and a comparison of two such candidates would be one of
a build with itself, or of a cache a thousand times too small. So they are told before the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Idle:
    """`keys` (a regular expression) can have no effect while `other` has one of `values`."""

    keys: str
    other: str
    values: tuple[str, ...]

    def holds(self, name: str, chosen: Mapping[str, str]) -> bool:
        """Is `name` without effect under `chosen`? A setting that is not chosen is not known."""
        value = chosen.get(self.other)
        idle = value is not None and value.casefold() in self.values
        return idle and name != self.other and re.fullmatch(self.keys, name) is not None


#: How servers spell a switch that is off.
OFF = ("off", "0", "false", "no")


def find_idle_keys(
    asked: Mapping[str, str], chosen: Mapping[str, str], pairs: Sequence[Idle]
) -> Iterator[str]:
    """A clause for each key of `asked` that has no effect under `chosen`, all that will hold."""
    for name, value in asked.items():
        pair = next((pair for pair in pairs if pair.holds(name, chosen)), None)
        if pair is not None and value.casefold() not in OFF:  # what is off need not be told twice
            against = f"{pair.other}={chosen[pair.other]}"
            yield f"{name}={value} can have no effect while {against}"
