"""The parts of the kit: what each puts into a server, and which rights that takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dyno.errors import build_unknown_error

#: What loading a function takes, on every server.
FUNCTION_RIGHTS = ("SELECT, INSERT and DELETE on mysql.func",)


@dataclass(frozen=True)
class Function:
    """A function of the library. `returns` is SQL's word: STRING, INTEGER, DECIMAL."""

    name: str
    returns: str = "STRING"
    aggregate: bool = False

    def create(self, library: str) -> str:
        """The statement that loads it."""
        kind = "AGGREGATE FUNCTION" if self.aggregate else "FUNCTION"
        return f"CREATE {kind} {self.name} RETURNS {self.returns} SONAME '{library}'"


@dataclass(frozen=True)
class Part:
    """What is installed by one name.

    `native_since` is the version of MySQL (not of MariaDB) that brings all of it itself. One with
    `routines` has some, or views, in the schema `kit` (`routines`); one with neither functions of
    the library nor routines has a schema of its own (`jobs`, `history`).
    """

    name: str
    summary: str
    functions: tuple[Function, ...] = ()
    native_since: tuple[int, int] | None = None
    routines: bool = False


#: The one function that comes with the first part that has any, and goes with the last.
VERSION = Function("dyno_kit_version")

_AGGREGATES = ("build", "or", "and", "xor")
_WRITERS = ("create", "load", "insert", "delete", "drop")
_NUMBERS = ("cardinality", "contains", "min", "max")

PARTS = {
    part.name: part
    for part in (
        Part("async", "statements that run beside the session: queue, check, wait"),
        Part(
            "bitmap",
            "sets of keys as values: Roaring bitmaps, rb_*",
            (
                *(Function(f"rb_{name}") for name in ("build", "or", "and", "xor", "andnot")),
                *(Function(f"rb_{name}_agg", aggregate=True) for name in _AGGREGATES),
                *(Function(f"rb_{name}", "INTEGER") for name in _NUMBERS),
                *(Function(f"rb_to_{name}") for name in ("list", "json")),
            ),
        ),
        Part(
            "files",
            "indexes over columns in files of the server, fb_*",
            (
                *(Function(f"fb_{name}", "INTEGER") for name in _WRITERS),
                Function("fb_insert2", "INTEGER", True),
                *(Function(f"fb_{name}") for name in ("query", "inlist", "list")),
            ),
        ),
        Part("history", "what performance_schema counts, collected over time in the server"),
        Part(
            "json",
            "documents as lines, found by what they hold; values by key, exact sums over them",
            (
                Function("json_flatten"),
                Function("json_extract_all"),
                Function("json_tokens"),
                Function("json_holds", "INTEGER"),
                *(Function(name, "DECIMAL", True) for name in ("jsum", "jmin", "jmax", "javg")),
                Function("jcount", "INTEGER", True),
                Function("rapid_flatten_json"),
                Function("rapid_extract_all"),
            ),
            routines=True,
        ),
        Part("options", "each option of sql_mode and other lists by itself", routines=True),
        Part(
            "uuid",
            "uuid_to_bin, bin_to_uuid and is_uuid where the server lacks them",
            (Function("uuid_to_bin"), Function("bin_to_uuid"), Function("is_uuid", "INTEGER")),
            native_since=(8, 0),
        ),
    )
}


def find_parts(names: Iterable[str]) -> list[Part]:
    """The parts called so, each once; `UsageError` for a name that is none."""
    found = {}
    for name in names:
        if name not in PARTS:
            raise build_unknown_error("part", name, PARTS)
        found[name] = PARTS[name]
    return list(found.values())
