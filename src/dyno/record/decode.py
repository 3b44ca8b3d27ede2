"""JSON to records, checked; the way back is `encode`."""

from __future__ import annotations

import json
import threading
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from dyno.record.schema import Record

T = TypeVar("T", bound=Record)

#: No record is nested deeper.
DEPTH_MAX = 60

#: Keys that records had under another name: still read, and what tools read (`verdict.json`,
#: `--json`) has both for one release (decision 0026). A field that gets another name gets a line.
#: By the class of a record (or by a field that is a mapping): the key that was, and what it is now.
FORMER_KEYS: dict[str, dict[str, str]] = {
    "HistorySeries": {"nominations": "flagged_changes"},
    "FlaggedChange": {"convict": "confirm"},
    "Design": {"looks": "analyses", "turns": "interleaving"},
    "Interleaving": {"window": "slice", "windows": "slices"},
    "Tally": {"windows": "slices", "straddled": "overrun"},
    "Verdict": {"looks": "analyses"},
    "Score": {"dose_percent": "injected_percent"},
    "CalibrationEntry": {"dose_percent": "injected_percent"},
    "settings": {"looks": "analyses"},
    "controls": {"plant": "inject"},
}


class WrongShape(ValueError):
    """Data that does not have the shape of its type; says where."""


class UnknownField(WrongShape):
    """A field that its type does not have: one of a newer Dyno, which adds them with defaults."""


class NestedTooDeeply(ValueError):
    """JSON that is no record's."""


def decode(kind: type[T], data: Any) -> T:
    """Return plain data as a `kind`: fields with defaults may be missing, unknown ones may not.

    Raise `WrongShape` with the path of the field that does not fit, `UnknownField` for one too
    many.
    """
    _find_decoder(kind)
    try:
        return msgspec.convert(_rename_keys(kind, data), kind)
    except msgspec.ValidationError as error:
        shape = UnknownField if "unknown field" in str(error) else WrongShape
        text, _, place = str(error).partition(" - at `$")
        where = f"{kind.__name__}{place.rstrip('`')}"
        raise shape(f"{where}: {text[0].lower()}{text[1:]}") from None


def decode_quickly(kind: type[T], text: bytes) -> T | None:
    """Return a record from its JSON; None if that takes `load_json` and `decode`, which are slower:
    it has former keys, an infinite number, or a fault that they name.
    """
    try:
        found: T = _find_decoder(kind).decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return found


_BUILDING = threading.Lock()
_DECODERS: dict[Any, Any] = {}


def _find_decoder(kind: Any) -> Any:
    """Return the `msgspec.json.Decoder` of a kind, built by one thread at a time.

    msgspec 0.22 shows other threads a type that it is still reading; one of them that decodes it
    then ends the process with SIGSEGV.
    """
    if kind not in _DECODERS:
        with _BUILDING:
            _DECODERS[kind] = msgspec.json.Decoder(kind)
    return _DECODERS[kind]


def load_json(text: str) -> Any:
    """Return JSON as data; raise `ValueError` if it is none, or nested deeper than any record."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise NestedTooDeeply("it is nested too deeply") from None
    level, depth = [data], 0
    while level:
        inner = [each for each in level if isinstance(each, dict | list)]
        level = [it for each in inner for it in (each.values() if isinstance(each, dict) else each)]
        if (depth := depth + 1) > DEPTH_MAX:
            raise NestedTooDeeply("it is nested too deeply")
    return data


def encode(record: Any, former_keys: bool = False) -> Any:
    """Return a record, or a list or mapping of them, as plain data that `decode` reads again; with
    `former_keys` each renamed key stands there twice, for tools that read what we derive.
    """
    if not former_keys:
        return msgspec.to_builtins(record, str_keys=True, enc_hook=_convert_scalar)
    if isinstance(record, dict):
        return {key: encode(value, True) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [encode(each, True) for each in record]
    if not isinstance(record, msgspec.Struct):
        return record
    data = {name: encode(getattr(record, name), True) for name in record.__struct_fields__}
    former = FORMER_KEYS.get(type(record).__name__, {})
    return data | {old: data[new] for old, new in former.items()}


def _convert_scalar(value: Any) -> Any:
    """Return a number of numpy's, or text of a type of its own, as what it is."""
    for kind in (float, int, str):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError(f"a {type(value).__name__} is in a record")


def _rename_keys(kind: Any, data: Any, field: str = "") -> Any:
    """Return `data` with the keys of today, by its class or by the field that holds it."""
    if not isinstance(data, dict | list):
        return data
    if isinstance(kind, UnionType):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    inner = get_args(kind)
    if isinstance(data, list):
        return [_rename_keys(inner[0] if inner else Any, each) for each in data]
    former = FORMER_KEYS.get(getattr(kind, "__name__", ""), {}) | FORMER_KEYS.get(field, {})
    renamed = {str(former.get(key, key)): value for key, value in data.items()}
    kinds = dict.fromkeys(renamed, inner[1]) if inner else _find_kinds(kind)
    return {key: _rename_keys(kinds.get(key), value, key) for key, value in renamed.items()}


@cache
def _find_kinds(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind) if hasattr(kind, "__struct_fields__") else {}
