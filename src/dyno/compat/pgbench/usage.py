"""What `--help` and `--version` say: `usage.txt`, whose first line is the version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import dyno


def find_asked_text(words: Sequence[str]) -> str:
    """The text that the first word asks for; empty: none."""
    first = words[0] if words else ""
    text = Path(__file__).with_name("usage.txt").read_text()
    version, _, usage = text.rstrip("\n").partition("\n")
    version = version.format(version=dyno.__version__)
    return {"--help": usage, "-?": usage, "--version": version, "-V": version}.get(first, "")
