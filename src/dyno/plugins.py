"""Finds the modules of a scanned package, so that nobody keeps a list.

Each of its modules (names with a leading underscore aside) offers its thing under one agreed name,
for instance `engines/sqlite` a class `Engine`.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from types import ModuleType
from typing import Any

from dyno.errors import build_unknown_error


@cache
def list_modules(package: str) -> list[str]:
    """The names of the modules in `package` ("dyno.engines"), without loading it or them."""
    import pkgutil

    found = importlib.util.find_spec(package)
    folders = found.submodule_search_locations if found else None
    return sorted(m.name for m in pkgutil.iter_modules(folders) if m.name[0] != "_")


@cache
def load_modules(package: str) -> dict[str, ModuleType]:
    """Every module in `package`, by its own name."""
    return {it: importlib.import_module(f"{package}.{it}") for it in list_modules(package)}


def find(package: str, kind: str, name: str) -> ModuleType:
    """The module `name` of `package`; an unknown name raises `UsageError` with the nearest ones."""
    if name not in (found := list_modules(package)):
        raise build_unknown_error(kind, name, found)
    return importlib.import_module(f"{package}.{name}")


def load_things(package: str, attribute: str) -> dict[str, Any]:
    """What the modules of `package` offer as `attribute`, by module name."""
    found = load_modules(package).items()
    return {name: getattr(m, attribute) for name, m in found if hasattr(m, attribute)}
