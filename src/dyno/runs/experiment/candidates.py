"""A candidate as the user writes it: ``[name=]engine@build?key=value&key=value``.

A server that runs already is written as a URL, ``[name=]engine://user@host/database?key=value``;
its password, if it has one, is taken out at once. An engine may take other ways of writing one, as
the programs of its own take them (`convert_address`).

Factors are crossed where several are given: a factor is named by the key that it varies, or by an
option of the workload; several candidates are a factor of their own, called `candidate`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod
from typing import Literal, get_args
from urllib.parse import unquote

from dyno.errors import UsageError, build_unknown_error
from dyno.former_names import CONTROLS, find_current_name
from dyno.passwords import HIDDEN, find_password, mask_password, mask_word
from dyno.plugins import load_things

FORM = "[name=]engine@build?key=value&key=value"

_SPEC = re.compile(
    r"(?:(?P<name>[^@=?&/]+)=)?(?P<engine>[^@=?&/:]+)"
    r"(?:@(?P<build>[^?]*)|:(?P<url>//[^?]*))?(?:\?(?P<keys>.*))?"
)


@dataclass(frozen=True)
class Spec:
    """One side of a comparison, parsed but not yet looked up.

    `keys` are the text's settings in their order; whose each one is, `owned` says. `text` is what
    the user wrote. A URL's password stands in `secret` alone; elsewhere it is `***`.
    """

    name: str
    engine: str
    build: str
    keys: dict[str, str] = field(default_factory=dict)
    text: str = ""
    secret: str = field(default="", repr=False)

    @property
    def is_url(self) -> bool:
        """Is it a server that runs already?"""
        return self.build.startswith("//")

    @property
    def with_password(self) -> str:
        """The build with its password: for the engine's `program`, and for nobody else."""
        return self.build.replace(f":{HIDDEN}@", f":{self.secret or HIDDEN}@", 1)


@dataclass(frozen=True)
class OwnedKeys:
    """The keys of a spec, each with the one thing that knows it."""

    flags: dict[str, str]
    settings: dict[str, str]
    controls: dict[str, str]


def parse_candidate(text: str) -> Spec:
    """`text` taken apart; `UsageError` where it is not a spec.

    Without a name the candidate is called by the text itself; without a build the engine gets
    an empty one, which it may take as its default.
    """
    secret, text = find_password(text), mask_password(text.strip())
    spelled = _spell_address(text)
    match = _SPEC.fullmatch(spelled)
    if match is None:
        hint = f"write {FORM}"
        if "command:" in text:
            hint = f"`dyno program {text.replace('command:', '')}` plays a program by its file"
        raise UsageError(f"'{mask_word(text)}' does not name a candidate", hint=hint)
    keys = dict(_parse_pairs(text, match["keys"] or ""))
    if match["url"]:
        keys = {name: unquote(value) for name, value in keys.items()}
    text = text if "://" in text else spelled
    build = match["build"] or match["url"] or ""
    return Spec(match["name"] or text, match["engine"], build, keys, text, secret)


#: A server's address, with or without a name before it: a URL of whatever scheme, or words.
_ADDRESS = re.compile(r"(?P<name>[^@=?&/:]+=(?=[^?]*://))?(?P<address>.*://.*|\w+\s*=\s*\S.*)")


def _spell_address(text: str) -> str:
    """A server's address in our own way of writing it; any other text as it is."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return text
    readers = load_things("dyno.engines", "convert_address").values()
    spelled = next(filter(None, (read(match["address"]) for read in readers)), "")
    return f"{match['name'] or ''}{spelled}" if spelled else text


def _parse_pairs(text: str, keys: str) -> Iterable[tuple[str, str]]:
    seen: set[str] = set()
    for pair in filter(None, keys.split("&")):
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise UsageError(f"'{pair}' in '{text}' is not key=value", hint=f"write {FORM}")
        if key in seen:
            raise UsageError(f"'{key}' is given twice in '{text}'")
        seen.add(key)
        yield key, value


def make_names_unique(specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """The specs with unique names: the second of a name becomes ``name#2``.

    The same text twice is an A/A comparison, which `dyno compare` wants declared.
    """
    counts: dict[str, int] = {}
    apart = []
    for spec in specs:
        counts[spec.name] = count = counts.get(spec.name, 0) + 1
        apart.append(spec if count == 1 else replace(spec, name=f"{spec.name}#{count}"))
    return tuple(apart)


def with_keys(spec: Spec, name: str, keys: Mapping[str, str]) -> Spec:
    """The spec under another name, with `keys` beside its own."""
    text = append_keys(spec, spec.text, keys) if keys else spec.text
    return replace(spec, name=name, keys={**spec.keys, **keys}, text=text)


def append_keys(spec: Spec, text: str, keys: Mapping[str, str]) -> str:
    """`text`, which is the spec's own or that with its password, with more keys behind it."""
    values = {k: v.replace("%", "%25") if spec.is_url else v for k, v in keys.items()}
    joint = "&" if "?" in spec.text else "?"
    return text.rstrip("?") + joint + "&".join(f"{key}={value}" for key, value in values.items())


def sort_keys(
    keys: Mapping[str, str],
    *,
    flags: Iterable[str],
    options: Iterable[str],
    controls: Iterable[str],
    variables: bool = False,
) -> OwnedKeys:
    """Sorts keys into flags, settings and controls; `UsageError` with the nearest names for an
    unknown one, unless the engine takes `variables`: then it is a setting for its program to judge.
    """
    kinds = {"flag": set(flags), "setting": set(options), "control": set(controls)}
    sorted_out: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for word, value in keys.items():
        key = word if word in kinds["setting"] else find_current_name(word, CONTROLS)
        owners = [kind for kind, known in kinds.items() if key in known]
        if not owners and variables:
            owners = ["setting"]
        if not owners:
            raise build_unknown_error("flag, setting or control", key, set().union(*kinds.values()))
        if len(owners) > 1:
            raise UsageError(f"'{key}' is both a {owners[0]} and a {owners[1]}")
        sorted_out[owners[0]][key] = value
    return OwnedKeys(sorted_out["flag"], sorted_out["setting"], sorted_out["control"])


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
