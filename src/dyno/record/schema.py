"""What all records are made of, and the version of a run's files.

A field with a default may be added under the same version: old records still read. A field that
goes, or changes its meaning, needs the next, and a reader of the old form once that was released.

3 is the first that a release wrote.
"""

from __future__ import annotations

import re
from typing import Annotated, dataclass_transform

import msgspec

SCHEMA = 3

#: No counter of any engine goes further.
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
#: No measured number goes further, and its fourth power is still a number. An estimate may have no
#: bound, so records that are derived (verdict, history) have plain floats.
Finite = Annotated[float, msgspec.Meta(ge=-1e60, le=1e60)]


@dataclass_transform(frozen_default=True)
class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Data of a file of ours, never changed; a type checks itself in `__post_init__`."""


def require(holds: object, field: str, wanted: str) -> None:
    """Raise `ValueError` if a record's field is not as it must be: for types' own checks."""
    if not holds:
        raise ValueError(f"{field} must be {wanted}")


def require_word(text: str, field: str) -> None:
    """Require a name of an engine or the like, which names a file of ours, too."""
    require(re.fullmatch(r"[\w.-]{0,60}", text), field, "a word of 60 letters at most")
