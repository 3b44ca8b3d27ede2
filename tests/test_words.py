"""The words of the code, the command line and the documents: the field's, and one meaning each."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
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
    "src/dyno/record/decode.py": "keys of older records",
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


#: What a function's name may begin with. A comparison of two things answers `follows`, `covers`;
#: `with_…` and `without_…` make a copy, `to_…`, `as_…` and `from_…` another form of the same.
VERBS = frozenset(
    re.findall(
        r"\w+",
        """
    abandon accept act add adjust advance aggregate agree align allow analyse announce answer
    append apply ask assign assume attach await begin bind break build burn calibrate call
    carry change check choose claim clean clear clip close collect combine compare compile
    complete compute conclude confirm connect convert copy count create cross cut deal decode
    demangle derive describe detect diagnose discard divide do download draft draw drive drop empty
    enable encode end ensure enter enumerate escape estimate expand expect expel explain
    extract fetch fill filter find finish fit flag flush follow forecast forget form format
    free freeze gather get give go grade grant group guard guess hash hide hold identify indent
    initialize insert inspect install instrument interrupt iterate join judge keep kill label
    launch lay learn leave let liken link list load locate log look lower make mark mask match
    measure meet merge move multiply name negate normalize note number obey observe open
    outline override pack pair parse pause place plan play poll preload prepare print probe put
    query quote rank reach read recognise record recover refuse release remove rename render
    reopen repeat replace replay report require reset resolve restart resume retry rewrite run
    sample saturate save say see select send serve set settle shade share shift shorten show
    shuffle sift simulate size skip solve sort spawn spell spend split start stop store stretch
    strip style subtract suggest sum summarize survey suspend swap sweep switch sync taint take
    tell test thaw tidy tighten trace transform trim truncate try uninstall unload unpack
    update upgrade use vacuum vary verify wait wake walk warm watch weigh wrap write is are has
    can may needs does affords applies covers exceeds follows holds keeps knows lacks matches
    sees separates speaks with without to as from
    """,
    )
)
#: Names that begin with none, and why.
NO_VERBS = {
    "program": "Engine's interface, with `settings`: what an engine is, in ARCHITECTURE's words",
    "settings": "Engine's interface",
    "main": "a program begins there; Python's own name",
    "on_broken_pipe": "rich's own name",
    "shell_complete": "click's own name",
}


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All but properties, commands (click names them by what a user types) and `__init__` etc."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(ast.unparse(each) for each in node.decorator_list)
            named_elsewhere = re.search(r"property|\b(command|group)\b", decorators)
            if not named_elsewhere and not node.name.startswith("__"):
                yield node


def test_a_function_begins_with_a_verb() -> None:
    names = [
        (f"{shown(path)}:{node.lineno}", node.name)
        for path in package_files()
        for node in _functions(tree_of(path))
    ]
    assert len(names) > 2500
    others = [f"{place} {name}" for place, name in names if not _begins_with_verb(name)]
    assert not others, others
    stale = NO_VERBS.keys() - {name for _, name in names}
    assert not stale, stale


def _begins_with_verb(name: str) -> bool:
    return name in NO_VERBS or name.strip("_").split("_")[0] in VERBS


@pytest.mark.parametrize("name", ["found", "told", "said", "own", "_kept", "taken", "rows_of"])
def test_dialect_is_no_verb(name: str) -> None:
    assert not _begins_with_verb(name)
