"""Plain data (as JSON gives it) to frozen dataclasses, checked; the way back is `asdict`."""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dyno.record.former_keys import FORMER_KEYS

T = TypeVar("T")


#: No counter of any engine goes further.
INTEGER_MOST = 1 << 64
#: No measured number goes further, and its fourth power is still a number.
FLOAT_MOST = 1e60


#: Records that are derived, in which an estimate may have no bound.
DERIVED = ("Verdict", "SeriesAnalysis")


class WrongShape(ValueError):
    """Data that does not have the shape of its type; says where."""


def require(holds: object, field: str, wanted: str) -> None:
    """`ValueError` for a record's field that is not as it must be: for types' own checks."""
    if not holds:
        raise ValueError(f"{field} must be {wanted}")


def require_word(text: str, field: str) -> None:
    """The same for a name of an engine or the like, which names a file of ours, too."""
    require(re.fullmatch(r"[\w.-]{0,60}", text), field, "a word of 60 letters at most")


class UnknownField(WrongShape):
    """A field that its type does not have: one of a newer Dyno, which adds them with defaults."""


def decode(kind: type[T], data: Any) -> T:
    """`data` as a `kind`; fields with defaults may be missing, unknown ones may not be there.

    Raises `WrongShape` with the path of the field that does not fit, `UnknownField` of one too
    many.
    """
    read: Loader = _make_loader(kind)  # type: ignore[arg-type]
    made: T = read(data, kind.__name__)
    return made


Loader = Callable[[Any, str], Any]


@cache
def _make_loader(hint: Any) -> Loader:
    """How to read one type; made once per type, since a run has many trials."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _make_dataclass_loader(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _make_optional_loader(
            next(_make_loader(each) for each in inner if each is not type(None))
        )
    if origin is tuple and inner[-1] is Ellipsis:
        return _make_sequence_loader(_make_loader(inner[0]))
    if origin is tuple:
        return _make_fixed_loader(tuple(map(_make_loader, inner)))
    if origin is dict:
        return _make_mapping_loader(_make_loader(inner[1]))
    if origin is Literal:
        return _make_literal_loader(inner)
    return _make_scalar_loader(hint)


def _make_dataclass_loader(kind: type) -> Loader:
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    hints = get_type_hints(kind)
    needed = {n for n, f in fields.items() if _is_needed(f)}

    def load_it(data: Any, place: str) -> Any:
        _expect(data, dict, place)
        data = _rename_keys(kind.__name__, data)
        if unknown := data.keys() - fields.keys():
            raise UnknownField(f"{place}: unknown field {sorted(unknown)[0]}")
        if missing := needed - data.keys():
            raise WrongShape(f"{place}: no field {sorted(missing)[0]}")
        values = {
            n: _make_loader(hints[n])(_rename_keys(n, v), f"{place}.{n}") for n, v in data.items()
        }
        try:
            return kind(**values)
        except WrongShape:
            raise
        except ValueError as error:
            raise WrongShape(f"{place}: {error}") from None

    return load_it


def _rename_keys(name: str, data: Any) -> Any:
    """A mapping with the keys that it has today, by its class or the field that holds it."""
    former = FORMER_KEYS.get(name)
    if former is None or not isinstance(data, dict):
        return data
    return {former.get(key, key): value for key, value in data.items()}


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _make_optional_loader(inner: Loader) -> Loader:
    return lambda data, place: None if data is None else inner(data, place)


def _make_sequence_loader(inner: Loader) -> Loader:
    def load_it(data: Any, place: str) -> Any:
        _expect(data, list, place)
        return tuple(inner(each, f"{place}[{i}]") for i, each in enumerate(data))

    return load_it


def _make_fixed_loader(inner: tuple[Loader, ...]) -> Loader:
    def load_it(data: Any, place: str) -> Any:
        _expect(data, list, place)
        if len(data) != len(inner):
            raise WrongShape(f"{place}: {len(inner)} values expected, found {len(data)}")
        return tuple(
            load(each, f"{place}[{i}]")
            for i, (load, each) in enumerate(zip(inner, data, strict=True))
        )

    return load_it


def _make_mapping_loader(inner: Loader) -> Loader:
    def load_it(data: Any, place: str) -> Any:
        _expect(data, dict, place)
        return {key: inner(value, f"{place}.{key}") for key, value in data.items()}

    return load_it


def _make_literal_loader(allowed: tuple[Any, ...]) -> Loader:
    def load_it(data: Any, place: str) -> Any:
        if data not in allowed:
            raise WrongShape(f"{place}: {data!r} is none of {allowed}")
        return data

    return load_it


def _make_scalar_loader(kind: Any) -> Loader:
    def load_it(data: Any, place: str) -> Any:
        if isinstance(data, int) and abs(data) > INTEGER_MOST:
            raise WrongShape(f"{place}: a number of {len(str(data))} digits")
        if kind is float and isinstance(data, int) and not isinstance(data, bool):
            return float(data)
        if (
            isinstance(data, float)
            and not abs(data) <= FLOAT_MOST
            and not place.startswith(DERIVED)
        ):
            raise WrongShape(f"{place}: {data!r} is no number that was measured")
        if kind is not Any:
            _expect(data, kind, place)
        return data

    return load_it


def _expect(data: Any, kind: type, place: str) -> None:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is int):
        raise WrongShape(f"{place}: {kind.__name__} expected, found {type(data).__name__}")
