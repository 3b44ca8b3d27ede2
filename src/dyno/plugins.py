"""Finds the modules of a scanned package, so that nobody keeps a list.

Such a package is called a room; each of its modules (names with a leading underscore aside) offers
its thing under one agreed name, for instance `engines/sqlite` a class `Engine`.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any

from dyno.errors import unknown


@cache
def modules(room: str) -> dict[str, ModuleType]:
    """Every module in the package `room` ("dyno.engines"), by its own name."""
    import pkgutil

    package = importlib.import_module(room)
    names = (m.name for m in pkgutil.iter_modules(package.__path__) if m.name[0] != "_")
    return {name: importlib.import_module(f"{room}.{name}") for name in sorted(names)}


def find(room: str, kind: str, name: str) -> ModuleType:
    """The module `name` of `room`; an unknown name raises `UsageError` with the nearest ones."""
    found = modules(room)
    if name not in found:
        raise unknown(kind, name, found)
    return found[name]


def things(room: str, attribute: str) -> dict[str, Any]:
    """What the modules of `room` offer as `attribute`, by module name."""
    found = modules(room).items()
    return {name: getattr(m, attribute) for name, m in found if hasattr(m, attribute)}
