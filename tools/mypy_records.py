"""A plugin of mypy's: refuses records (`dyno.record.schema.Record`) where dataclasses are meant.

mypy takes what `dataclass_transform` marks for a dataclass, and so passes a `dataclasses.replace`
of a record, which fails when it runs.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.plugin import FunctionContext, Plugin
from mypy.types import Instance, Type, get_proper_type

RECORD = "dyno.record.schema.Record"
INSTEAD = {
    "dataclasses.replace": "msgspec.structs.replace",
    "dataclasses.asdict": "dyno.record.decode.encode",
    "dataclasses.fields": "__struct_fields__",
}


class RecordsPlugin(Plugin):
    """Says which function is meant in the place of one of `dataclasses`."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """Return the check of a call of `fullname`; None for all others."""
        if fullname not in INSTEAD:
            return None

        def check(call: FunctionContext) -> Type:
            kind = get_proper_type(call.arg_types[0][0])
            if isinstance(kind, Instance) and kind.type.has_base(RECORD):
                call.api.fail(f"{kind.type.name} is a record: {INSTEAD[fullname]}", call.context)
            return call.default_return_type

        return check


def plugin(_version: str) -> type[Plugin]:
    """Return the plugin's class; the name is mypy's."""
    return RecordsPlugin
