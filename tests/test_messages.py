"""Messages that a user can meet: all are listed, short, and need no second reading."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOL = runpy.run_path(str(ROOT / "tools" / "messages.py"))

SENTENCE_WORDS_MAX = 35
LONG_PERCENT_MAX = 2.0
#: Words of a translated idiom, or of a riddle, and what says the same.
PLAIN = {
    "makes no sense": "cannot parse …",
    "stands twice": "is given twice",
    "stands still": "is stopped",
    "hang on": "depend on",
    "hangs on": "depends on",
    "whoever": "who",
    "was not over after": "took longer than",
    "meanwhile": "when",
    "are two workloads": "cannot be combined",
    "goes on": "continue",
}


@cache
def list_messages() -> list[Any]:
    """Return all, from all sources."""
    return list(TOOL["messages"]())


def test_messages_of_every_kind_and_language_are_listed() -> None:
    kinds = Counter(it.kind for it in list_messages())
    assert min(kinds[it] for it in ("error", "notice", "finding", "advice", "kit")) > 30, kinds
    suffixes = Counter(Path(it.file).suffix for it in list_messages())
    assert set(suffixes) == {".py", ".rs", ".lua", ".sql"}, suffixes


def test_a_message_is_found_with_its_line_and_without_what_is_put_in() -> None:
    source = (
        'def f(n):\n    raise UsageError(f"no run at {n} or below", hint="name a folder of it")\n'
    )
    found = [(it.line, it.kind, it.text) for it in TOOL["read_python"]("src/dyno/x.py", source)]
    assert found == [
        (2, "error", "no run at {…} or below"),
        (2, "error", "name a folder of it"),
    ]


def test_no_statement_path_or_docstring_is_taken_for_a_message() -> None:
    source = '"""A docstring of some words."""\nA = "SELECT some words here"\nB = "/proc/self/fd"\n'
    assert not list(TOOL["read_python"]("src/dyno/judge/audits/x.py", source))


def test_few_sentences_of_messages_are_too_long_to_be_read_once() -> None:
    told = [
        (it, sentence)
        for it in list_messages()
        for sentence in re.split(r"(?<=[.?!:;])\s+", it.text)
    ]
    long = [it for it, sentence in told if len(sentence.split()) > SENTENCE_WORDS_MAX]
    assert len(long) <= len(told) * LONG_PERCENT_MAX / 100, long


@pytest.mark.parametrize("words", PLAIN)
def test_no_message_needs_a_second_reading(words: str) -> None:
    found = [f"{it.file}:{it.line} {it.text}" for it in list_messages() if words in it.text]
    assert not found, f"say: {PLAIN[words]}"
