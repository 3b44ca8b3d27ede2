"""Factors that are crossed: what is varied on purpose, and the cells that this makes.

A factor is named by the key that it varies, as a candidate's keys are, or by an option of the
workload. Several candidates are a factor of their own, called `candidate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod
from typing import Literal, get_args

from dyno.errors import UsageError, build_unknown_error
from dyno.runs.experiment.candidates import Spec

Crossing = Literal["factorial", "one at a time"]
CANDIDATE = "candidate"
#: A block plays every cell once; 64 restarts of a server take some four minutes.
CELLS_MOST = 64


@dataclass(frozen=True)
class CrossedFactors:
    """Each factor with its levels, the base's first, and how they are crossed.

    *factorial* plays every combination; *one at a time* only those that differ from the base in
    one factor, which cannot show how factors act on each other.
    """

    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    crossing: Crossing = "factorial"

    def __post_init__(self) -> None:
        """Refuses what is no factor (`UsageError`)."""
        for name, levels in self.levels.items():
            if name == CANDIDATE:
                hint = "name several candidates: they are a factor by themselves"
                raise UsageError(f"a factor cannot be called '{CANDIDATE}'", hint=hint)
            _check_levels(name, levels)
        if self.crossing not in get_args(Crossing):
            raise build_unknown_error("design", self.crossing, get_args(Crossing))


def _check_levels(name: str, levels: Sequence[str]) -> None:
    hint = f"two or more, the base's first: {name}=A,B"
    if len(levels) < 2:
        raise UsageError(f"the factor '{name}' has {len(levels) or 'no'} level", hint=hint)
    seen: set[str] = set()
    for level in levels:
        if not level or "&" in level:
            raise UsageError(f"'{level}' cannot be a level of the factor '{name}'", hint=hint)
        if _normalize_level(level) in seen:
            raise UsageError(
                f"the level '{level}' of the factor '{name}' is given twice", hint=hint
            )
        seen.add(_normalize_level(level))


def _normalize_level(level: str) -> str:
    """One spelling of a level: `wal` for `WAL`, `1` for `01` and `1.0`."""
    try:
        return format(Decimal(level).normalize(), "f")
    except InvalidOperation:
        return level.lower()


def cross_factors(given: Iterable[tuple[str, Sequence[str]]], crossing: Crossing) -> CrossedFactors:
    """The factors as given; `UsageError` where one is named twice or is none."""
    levels: dict[str, tuple[str, ...]] = {}
    for name, found in given:
        if name in levels:
            raise UsageError(
                f"the factor '{name}' is given twice", hint="list all its levels at once"
            )
        levels[name] = tuple(found)
    return CrossedFactors(levels, crossing)


@dataclass(frozen=True)
class Cell:
    """A candidate with a level of each factor."""

    name: str
    spec: Spec
    levels: dict[str, str]


def list_levels(specs: Sequence[Spec], varied: CrossedFactors) -> dict[str, tuple[str, ...]]:
    """The levels of every factor, with the candidates in front where there are several."""
    names = tuple(spec.name for spec in specs)
    return ({CANDIDATE: names} if len(names) > 1 else {}) | dict(varied.levels)


def list_cells(specs: Sequence[Spec], varied: CrossedFactors) -> tuple[Cell, ...]:
    """Every cell, the base first; the last factor varies fastest.

    `UsageError` where they are too many, or a factor's key has a value in a candidate already.
    """
    levels = list_levels(specs, varied)
    _check_number(levels, varied.crossing)
    _check_free(specs, varied)
    base = {name: found[0] for name, found in levels.items()}
    by_name = {spec.name: spec for spec in specs}
    made = (
        _combine_levels(levels) if varied.crossing == "factorial" else _vary_one_at_a_time(levels)
    )
    return tuple(
        Cell(_name_cell(each), by_name.get(each.get(CANDIDATE, ""), specs[0]), each)
        for each in (base | move for move in made)
    )


def count_cells(levels: Mapping[str, Sequence[str]], crossing: Crossing) -> int:
    """How many cells these levels make."""
    sizes = [len(found) for found in levels.values()]
    return prod(sizes) if crossing == "factorial" else 1 + sum(size - 1 for size in sizes)


def _check_number(levels: Mapping[str, Sequence[str]], crossing: Crossing) -> None:
    found = count_cells(levels, crossing)
    if found > CELLS_MOST:
        fewer = count_cells(levels, "one at a time")
        hint = f"at most {CELLS_MOST}: leave some out"
        if crossing == "factorial" and fewer <= CELLS_MOST:
            hint = f"at most {CELLS_MOST}; one at a time it is {fewer} cells"
        raise UsageError(f"the factors make {found} cells", hint=hint)


def _check_free(specs: Sequence[Spec], varied: CrossedFactors) -> None:
    for spec in specs:
        for key in spec.keys:
            if key in varied.levels:
                hint = "a factor's values are its levels; leave it out of the candidate"
                raise UsageError(f"'{key}' is a factor and is set in '{spec.text}' too", hint=hint)


def _combine_levels(levels: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    return [dict(zip(levels, some, strict=True)) for some in product(*levels.values())]


def _vary_one_at_a_time(levels: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Nothing moved, then each factor to each of its other levels."""
    return [{}, *({name: level} for name, found in levels.items() for level in found[1:])]


def _name_cell(levels: Mapping[str, str]) -> str:
    """`slow aslr=off`: a candidate by its name, everything else as key and level."""
    words = (level if name == CANDIDATE else f"{name}={level}" for name, level in levels.items())
    return " ".join(words)
