"""Commands' words that are short for an option of the workload: `--time 5s`, `--threads 8`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dyno.errors import UsageError

#: Commands' words that stand for an option of the workload.
SHORT = {"time": "--time", "threads": "--threads"}


def gather_settings(words: Mapping[str, Any]) -> dict[str, str]:
    """The workload's options of `--set` and of the words that are short for it; `UsageError` where
    an option is given in two ways.
    """
    found = dict(words["settings"])
    for name, word in SHORT.items():
        if words.get(name) is not None:
            if name in found:
                hint = "give one of them"
                raise UsageError(f"{word} and --set {name} are the same", hint=hint)
            found[name] = f"{words[name]:g}"
    return found
