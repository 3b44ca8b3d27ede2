"""The guides of docs/guides/yours: their files, and their commands, word by word."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "guides" / "yours"
GUIDES = sorted(path.stem for path in FOLDER.glob("*.md"))
_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Guide:
    """The files of a guide by name, and its commands without the word `dyno`."""

    files: dict[str, str]
    commands: tuple[tuple[str, ...], ...]

    def unpack(self, folder: Path) -> None:
        """Writes its files."""
        for name, text in self.files.items():
            (folder / name).write_text(text)

    def commands_of(self, *engines: str) -> list[list[str]]:
        """The commands in which no other engine is named."""
        return [
            list(words)
            for words in self.commands
            if {found[1] for word in words if (found := _ENGINE.match(word))} <= set(engines)
        ]


_ENGINE = re.compile(r"(sqlite|duckdb|mysql|mariadb|postgres|null)(?:@\S*)?$")


def guide(name: str) -> Guide:
    """A guide by its name."""
    fences = _FENCE.findall((FOLDER / f"{name}.md").read_text())
    files = {file: text for _, file, text in fences if file}
    lines = [line for kind, _, text in fences if kind == "sh" for line in text.splitlines()]
    commands = tuple(tuple(shlex.split(line)[1:]) for line in lines if line.startswith("dyno "))
    assert commands, f"{name}.md shows no command"
    return Guide(files, commands)
