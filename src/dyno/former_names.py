"""Names that options, controls and values had before: taken for one release, with a note.

Each is a line of a table here. The note is a warning of Python's, which the command line prints on
stderr; keys of records have their own table (`record/decode.py`, decision 0026).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

#: By command: the option that was, and its name now.
OPTIONS: dict[str, dict[str, str]] = {
    "calibrate": {"--plant": "--inject"},
    "compare": {"--turns": "--interleaved"},
}
#: Values of `calibrate --kind`.
KINDS = {"plant": "delay", "plant-noise": "delay-noise"}
#: Controls, as keys of a candidate or under `controls` of an experiment.
CONTROLS = {"plant": "inject"}
#: Audits, as `dyno show audits NAME` takes them.
AUDITS = {"debug_build": "build_quality"}


class FormerNameWarning(FutureWarning):
    """A word goes by another name now; the old one is still taken."""


def find_current_name(word: str, former: Mapping[str, str]) -> str:
    """What the word is called now; warns (`FormerNameWarning`) where that is another name."""
    current = former.get(word, word)
    if current != word:
        note = f"'{word}' is now '{current}'; the old name ends with the next release"
        warnings.warn(note, FormerNameWarning, stacklevel=2)
    return current


def rename_options(words: Sequence[str]) -> list[str]:
    """A command line's words, with each option that has another name now under that name."""
    former = OPTIONS.get(words[0], {}) if words else {}
    renamed = list(words)
    for at, word in enumerate(words):
        if word == "--":
            break
        name, equals, value = word.partition("=")
        renamed[at] = f"{find_current_name(name, former)}{equals}{value}"
    return renamed
