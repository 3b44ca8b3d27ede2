"""Small functions and modules that one caller has beside it: what `test_tidy` counts by package.

A piece is worth its name where the name says more than its body; else it belongs to its caller.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

FUNCTION_LINES, MODULE_LINES = 4, 100
#: The most of them that a package may have: lower it where you take one out.
MOST = {
    **{"access": 2, "answers": 3, "builds": 11, "cli": 15, "compare": 31, "compat": 3, "driver": 3},
    **{"engines": 25, "host": 10, "instruments": 43, "judge": 79, "pages": 6, "passwords": 1},
    **{"profile": 1, "record": 1, "report": 64, "runs": 22, "servers": 10, "sql": 2},
    **{"webserver": 5, "workloads": 17},
}


def count_names(trees: Collection[ast.Module]) -> Counter[str]:
    """How often each name is used, as itself or behind a dot."""
    nodes = (node for tree in trees for node in ast.walk(tree))
    return Counter(str(getattr(it, "id", "") or getattr(it, "attr", "")) for it in nodes)


def small_functions(tree: ast.Module, named: Counter[str]) -> Iterator[str]:
    """Functions of up to four lines, docstrings apart, that one call of this file names."""
    nodes = list(ast.walk(tree))
    calls = Counter(ast.unparse(it.func).split(".")[-1] for it in nodes if isinstance(it, ast.Call))
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and calls[node.name] == named[node.name] == 1:
            body = node.body[ast.get_docstring(node) is not None :] or node.body
            is_plain = {*map(ast.unparse, node.decorator_list)} <= {"staticmethod", "classmethod"}
            if is_plain and (body[-1].end_lineno or 0) - body[0].lineno < FUNCTION_LINES:
                yield node.name


def small_modules(graph: Mapping[str, set[str]], paths: Mapping[str, Path]) -> Iterator[str]:
    """Modules that one module of their folder knows, and no other."""
    knowing = defaultdict[str, list[str]](list)
    for name, known in graph.items():
        for it in known:
            knowing[it].append(name)
    for name, by in knowing.items():
        home = name.rpartition(".")[0]
        beside = len(by) == 1 and home in (by[0], by[0].rpartition(".")[0])
        if beside and len(paths[name].read_text().splitlines()) < MODULE_LINES:
            yield name
