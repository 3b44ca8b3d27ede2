"""A table of a TOML file, whose errors name the line that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dyno.errors import DynoError, UsageError, unknown

#: TOML's types in TOML's words.
_KINDS: dict[object, str] = {
    str: "a string in quotes",
    int: "a whole number",
    list: "a list ([…], or a table under [[…]])",
    dict: "a table ({ key = value })",
}


@dataclass(frozen=True)
class Table:
    """A table of a TOML file, at its top or below, which knows where its words stand."""

    file: Path
    text: str
    data: dict[str, Any]

    def wrong(self, word: str, error: DynoError) -> UsageError:
        """The error, with the file and the line on which `word` stands."""
        lines = self.text.splitlines()
        found = (i for i, line in enumerate(lines, 1) if _stands(word, line))
        place = f"{self.file}:{next(found, 1)}"
        return UsageError(f"{place}: {error.message}", cause=error.cause, hint=error.hint)

    def only(self, keys: Iterable[str]) -> None:
        """Refuses a key that is not one of `keys`."""
        for key in self.data:
            if key not in keys:
                raise self.wrong(key, unknown("key", key, keys))

    def get(self, key: str, kind: type | tuple[type, ...]) -> Any:
        """The value of `key`, None where there is none; refuses one of another type."""
        value = self.data.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise self.wrong(key, UsageError(f"'{key}' is not {_KINDS.get(kind, 'a number')}"))
        return value

    def flag(self, key: str) -> bool:
        """The value of `key`, false where there is none; refuses all but true and false."""
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, UsageError(f"'{key}' is not true or false"))
        return value

    def table(self, key: str) -> Table:
        """The table that `key` names, an empty one where there is none."""
        return replace(self, data=self.get(key, dict) or {})

    def tables(self, key: str) -> list[Table]:
        """The tables under `[[key]]`; refuses a list of anything else."""
        found = self.get(key, list) or []
        if not all(isinstance(each, dict) for each in found):
            raise self.wrong(key, UsageError(f"'{key}' is not a list of tables under [[{key}]]"))
        return [replace(self, data=each) for each in found]


def _stands(word: str, line: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", line.split("#")[0]) is not None
