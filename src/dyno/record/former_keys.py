"""Keys that records had under another name: still read everywhere, and still written for tools.

A field that gets another name gets a line here. `decode` reads both names; what tools read
(`verdict.json`, `--json`) has both for one release (decision 0026).
"""

from __future__ import annotations

import dataclasses
from typing import Any

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


def encode_with_former_keys(record: Any) -> Any:
    """A frozen dataclass as plain data, as `asdict` gives it, and each renamed key twice."""
    if isinstance(record, dict):
        return {key: encode_with_former_keys(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [encode_with_former_keys(each) for each in record]
    if not dataclasses.is_dataclass(record):
        return record
    names = (field.name for field in dataclasses.fields(record))
    data = {name: encode_with_former_keys(getattr(record, name)) for name in names}
    former = FORMER_KEYS.get(type(record).__name__, {})
    return data | {old: data[new] for old, new in former.items()}
