"""The words of the code, the command line and the documents: the field's, and one meaning each."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from test_tidy import ROOT, package_files, shown, tracked, tree_of

#: Classes that several files define: each engine's package offers one under this name.
INTERFACES = {"Engine"}


def test_a_class_of_the_package_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in package_files():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and node.name[0] != "_":
                places[node.name].append(shown(path))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice.keys() == INTERFACES, {name: twice[name] for name in twice.keys() - INTERFACES}


def test_the_glossary_defines_each_word_once() -> None:
    rows = re.findall(
        r"^\| (\*\*.*?) \|", (ROOT / "docs" / "GLOSSARY.md").read_text(), re.MULTILINE
    )
    words = [word for row in rows for word in re.findall(r"\*\*(.+?)\*\*", row)]
    twice = {word for word in words if words.count(word) > 1}
    assert len(words) > 100 and not twice, f"defined twice: {twice}"


#: Words that were Dyno's own, and what is said in their place; the pattern of what is meant.
GONE = {
    r"nominat|\bconvict|\bacquit": "flag, confirm, reject",
    r"lopsided": "skewed",
    r"\bplant(s|ed|ing)?\b|_planted?\b": "inject, injected delay, fault",
    r"\bladder\b": "dose-response check",
    r"\bdice\b|PilotScene|fly_pilot|Wishes\b": "rng, PilotContext, measure_baseline, options",
    r"\bwaist\b|\bdoors\b|\brooms\b": "record format, interfaces, packages",
    r"\bis_floor\b|\bneeds_floor\b|[Tt]he driver's floor": "client-only baseline",
    r"\b[Bb]y turns\b|\b[Tt](ake|akes|ook|aking) turns\b|TurnSeat|BlockTurns": "interleaved",
    r"straddl|\bepoch_slots\b|\bwindow_ns\b|\bedge_ns\b": "overrun, turn, slice, ramp-in",
    r"\b(last|first) look\b|stats\.looks": "interim analysis",
}
#: Files that hold a word that is gone, and why.
QUOTED = {
    "src/dyno/former_names.py": "names that users may still type",
    "src/dyno/record/former_keys.py": "keys of older records",
    "src/dyno/compare/calibration/store.py": "kinds in lines of an older Dyno",
    "CHANGELOG.md": "says what was renamed",
    "tests/test_words.py": "this list",
    "tests/compare/calibration/test_calibration_store.py": "lines of an older Dyno",
    "tests/cli/test_former_names.py": "the old names are tried",
    "tests/record/test_decode.py": "the old keys are read",
    "docs/decisions/0026-a-renamed-key-is-read-under-both-names.md": "says what was renamed",
}


def _prose_and_code() -> list[Path]:
    files = tracked("src/*", "crates/*.rs", "crates/*.lua", "tests/*.py", "bench/*.py", "tools/*")
    files += tracked("docs/*.md", "*.md")
    binary = {".png", ".so", ".gz"}
    return [path for path in dict.fromkeys(files) if path.suffix not in binary]


def test_words_that_are_gone_do_not_come_back() -> None:
    back = defaultdict(list)
    for path in _prose_and_code():
        text = path.read_text(errors="replace")
        for pattern, better in GONE.items():
            found = re.search(pattern, text)
            if found and shown(path) not in QUOTED:
                line = text.count("\n", 0, found.start()) + 1
                back[better].append(f"{shown(path)}:{line} has '{found[0]}'")
    assert not back, dict(back)
    stale = [name for name in QUOTED if not (ROOT / name).is_file()]
    assert not stale
