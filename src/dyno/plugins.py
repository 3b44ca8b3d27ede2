"""Finds the modules of a scanned package, so that nobody keeps a list.

Each of its modules (names with a leading underscore aside) offers its thing under one agreed name,
for instance `engines/sqlite` a class `Engine`.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any

from dyno.errors import build_unknown_error


@cache
def load_modules(package: str) -> dict[str, ModuleType]:
    """Every module in `package` ("dyno.engines"), by its own name."""
    import pkgutil

    folders = importlib.import_module(package).__path__
    names = (m.name for m in pkgutil.iter_modules(folders) if m.name[0] != "_")
    return {name: importlib.import_module(f"{package}.{name}") for name in sorted(names)}


def find(package: str, kind: str, name: str) -> ModuleType:
    """The module `name` of `package`; an unknown name raises `UsageError` with the nearest ones."""
    found = load_modules(package)
    if name not in found:
        raise build_unknown_error(kind, name, found)
    return found[name]


def load_things(package: str, attribute: str) -> dict[str, Any]:
    """What the modules of `package` offer as `attribute`, by module name."""
    found = load_modules(package).items()
    return {name: getattr(m, attribute) for name, m in found if hasattr(m, attribute)}
