"""The way of a comparison through our files, as somebody reads it who follows each call: how many
files it enters, and how often it calls back up, to a package above the one it was in.

The rule: from `dyno compare` on, in the order of the text, each call of a function of the packages
`OF_THE_WAY` is entered, once each. A name is what the file defines or imports under it; a method is
that of `self`, or the only one of its name in the classes of this file and of those that it imports
from. The frames to the start of an engine: `contract/cli/test_way_of_a_comparison.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from packages import PACKAGES

SOURCES = Path(__file__).resolve().parent.parent / "src"
MODULES = {
    ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((SOURCES / "dyno").rglob("*.py"))
}
#: What a comparison is made of; everything else is called by it and not read.
OF_THE_WAY = (
    "dyno.cli.compare",
    "dyno.cli.judged_run",
    "dyno.compare",
    "dyno.instruments",
    "dyno.runs",
    "dyno.judge.analysis",
)
#: Nor is what only `--count` asks for, a second instrument with its judge; nor what a run keeps for
#: histories once it is judged, as its page is not.
BESIDE = (
    "dyno.compare.history",
    "dyno.instruments.instructions",
    "dyno.judge.analysis.counts",
    "dyno.judge.analysis.call_tree",
)
START = "dyno.cli.compare"
#: Where `--crash` leads instead of to a comparison: another command's way.
OTHER_WAY = "dyno.cli.crash"
#: Fewer would be files of more than one concept. Nine of them say what changed: plans, counters,
#: CPU time by layer, instructions; two ask what each side answers; one judges a
#: rehearsal, one has the answers of a side that was played before, and one says when CPU time can
#: carry the verdict.
FILES_MAX = 58
#: Back up from one package at the top of `src/dyno` to another; and from one package to another
#: within them, too: whoever tries something, as the pilot does, looks at what came of it.
UPWARD_CALLS_MAX = 25
CLIMBS_WITHIN_MAX = 34

Definition = ast.FunctionDef | ast.ClassDef
#: A function and its module, and the class that it is a method of.
Place = tuple[str, ast.FunctionDef, ast.ClassDef | None]


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


@cache
def _definitions(module: str) -> Mapping[str, Definition]:
    body = _tree(module).body
    return {it.name: it for it in body if isinstance(it, ast.FunctionDef | ast.ClassDef)}


@cache
def _imports(module: str) -> Mapping[str, tuple[str, str]]:
    """What each name that a module imports from us is: module and name there."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dyno")
        for alias in node.names
        if node.module
    }


def _find(module: str, name: str) -> tuple[str, Definition | None] | None:
    """The module and definition of a name, followed through `__init__`s; None where it is none."""
    if f"{module}.{name}" in MODULES:
        return f"{module}.{name}", None
    if module not in MODULES:
        return None
    if found := _definitions(module).get(name):
        return module, found
    onward = _imports(module).get(name)
    return _find(*onward) if onward and onward != (module, name) else None


def _methods(module: str, name: str) -> Iterator[Place]:
    for each in _definitions(module).values():
        if isinstance(each, ast.ClassDef) and "Protocol" not in map(ast.unparse, each.bases):
            for method in each.body:
                if isinstance(method, ast.FunctionDef) and method.name == name:
                    yield module, method, each


def _known_modules(module: str) -> set[str]:
    found = (_find(*imported) for imported in _imports(module).values())
    return {module, *(each[0] for each in found if each)}


def _named(module: str, name: str) -> Iterator[Place]:
    """The function of that name in a module, or what a class of that name does when it is made."""
    match _find(module, name):
        case (there, ast.FunctionDef() as function):
            yield there, function, None
        case (there, ast.ClassDef() as made):
            for body in made.body:
                if isinstance(body, ast.FunctionDef) and body.name == "__post_init__":
                    yield there, body, made


def _called(call: ast.Call, module: str, of: ast.ClassDef | None) -> list[Place]:
    """What a call in a module, in a method of the class `of`, enters; nothing if unknown."""
    match call.func:
        case ast.Name(id=name):
            return list(_named(module, name))
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if of:
            return [place for place in _methods(module, name) if place[2] is of]
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in _imports(module):
            if (found := _find(*_imports(module)[owner])) and found[1] is None:
                return list(_named(found[0], name))
    if isinstance(call.func, ast.Attribute):
        every = [it for known in _known_modules(module) for it in _methods(known, call.func.attr)]
        return every if len(every) == 1 else []
    return []


def walk() -> list[str]:
    """The modules of the functions entered, in their order."""
    entered: list[str] = []
    seen: set[ast.FunctionDef] = set()

    def enter(place: Place) -> None:
        module, function, of = place
        if function in seen or module == OTHER_WAY:
            return
        seen.add(function)
        if module.startswith(OF_THE_WAY) and not module.startswith(BESIDE):
            entered.append(module)
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda it: (it.lineno, it.col_offset)):
            for onward in _called(call, module, of):
                enter(onward)

    for place in _named(START, "command"):
        enter(place)
    return entered


def _layer(module: str, names: Sequence[str]) -> int:
    """How high the package of a module stands among those of these names, the lowest first."""
    path = module.removeprefix("dyno.").replace(".", "/")
    return max(at for at, it in enumerate(names) if path == it or path.startswith(f"{it}/"))


def _upward_calls(entered: Sequence[str], names: Sequence[str]) -> list[str]:
    return [f"{a} -> {b}" for a, b in pairwise(entered) if _layer(b, names) > _layer(a, names)]


def test_the_way_of_a_comparison_enters_few_files_and_seldom_calls_upward() -> None:
    entered = walk()
    at_the_top = list(dict.fromkeys(name.split("/")[0] for name in PACKAGES))
    upward, within = _upward_calls(entered, at_the_top), _upward_calls(entered, list(PACKAGES))
    assert {"dyno.instruments.time.engine_session", "dyno.judge.analysis.rows"} <= set(entered)
    assert len(set(entered)) <= FILES_MAX, sorted(set(entered))
    assert len(upward) <= UPWARD_CALLS_MAX, upward
    assert len(within) <= CLIMBS_WITHIN_MAX, within
