"""Values that users wrote last under sampled keys, held against what the engine holds.

The driver hands over digests of values, not the values: `digest` makes the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dyno.driver import WrittenKeys
from dyno.record import LedgerEntry

_PRIME, _MASK = 0x9E37_79B9_7F4A_7C15, (1 << 64) - 1


def digest(value: bytes) -> str:
    """16 hexadecimal digits, as `sessions/template.rs` of the driver has them."""
    state = _PRIME
    whole = len(value) // 8 * 8
    words = [value[at : at + 8] for at in range(0, whole, 8)]
    for word in (*words, value[whole:], len(value).to_bytes(8, "little")):
        state = (state ^ int.from_bytes(word, "little")) * _PRIME & _MASK
        state ^= state >> 29
    return f"{state:016x}"


@dataclass(frozen=True)
class LastWrites:
    """By key the digests of which the value's must be one; keys of which nobody knows are not
    among them.
    """

    digests: Mapping[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, written: WrittenKeys) -> LastWrites:
        """What the driver told of one name."""
        return cls({it.key: frozenset(it.digests) for it in written.keys if it.digests})

    @property
    def keys(self) -> int:
        """How many there are."""
        return len(self.digests)

    def question(self, entry: LedgerEntry) -> str:
        """The entry's SQL, with the keys in the place of `?`; without keys it answers no row."""
        keys = ", ".join(map(str, self.digests)) or "NULL"
        return entry.sql.replace("?", keys) if entry.written else entry.sql

    def count_kept(self, rows: Sequence[Sequence[str | None]]) -> int:
        """How many of the rows, each a key and its value, hold what was written last.

        Blanks at a value's end count for nothing: PostgreSQL fills up a CHAR with them.
        """
        return sum(self._is_kept(*row[:2]) for row in rows)

    def _is_kept(self, key: str | None, value: str | None) -> bool:
        wanted = self.digests.get(int(key), frozenset()) if key else frozenset()
        return value is not None and digest(value.rstrip(" ").encode()) in wanted
