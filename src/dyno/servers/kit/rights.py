"""The kit's rights: routines that do not run with their caller's rights, and the grants that the
pages in docs/guides/kit name.

Every other routine has its caller's rights (SQL SECURITY INVOKER), so that none can do more by
it. Those here take numbers only; docs/guides/kit/rights.md says of each who reaches it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dyno.servers.kit.server import KitServer

#: The schemas of each part that has routines; one for each account that queues joins them.
SCHEMAS = {
    "async": r"async(_[0-9]+)?",
    "history": r"(ps|sys)_history",
    "json": r"kit",
    "options": r"kit",
}
#: Routines with definer's rights, as schema.name.
DEFINERS = {
    "async": r"async\.(claimed|(run|look|check)_[0-9]+)",
    "history": r"(?!)",
    "json": r"kit\.count_triggers",
    "options": r"(?!)",
}


@dataclass(frozen=True)
class Grant:
    """What an account needs for a purpose; each right as GRANT has it, without TO."""

    part: str
    purpose: str
    rights: tuple[str, ...]

    def list_statements(self, account: str) -> list[str]:
        """For `account`, quoted as statements have it."""
        return [f"GRANT {right} TO {account}" for right in self.rights]


def _list_procedures(schema: str, *names: str) -> tuple[str, ...]:
    return tuple(f"EXECUTE ON PROCEDURE {schema}.{name}" for name in names)


#: Those for async are made by `dyno kit install async --account`; see queueing.grants.
GRANTS = (
    Grant(
        "history",
        "read what was collected",
        (r"SELECT ON `ps\_history`.*",),
    ),
    Grant(
        "history",
        "have reports",
        (
            r"SELECT ON `ps\_history`.*",
            "SELECT ON sys_history.reports",
            *_list_procedures("sys_history", "as_of", "diff", "psh_collection_at", "psh_answer"),
        ),
    ),
    Grant(
        "history",
        "set how much is collected",
        (
            "SELECT, UPDATE ON ps_history.psh_settings",
            *_list_procedures(
                "ps_history",
                *("set_collect_interval", "set_collection_interval", "set_retention_period"),
                *("set_max_rows", "test_retention_period", "psh_period"),
            ),
        ),
    ),
    Grant(
        "json",
        "search",
        (
            "SELECT ON kit.*",
            *_list_procedures(
                "kit",
                *("search", "parse_column", "refuse", "check_index", "check_key"),
                "count_triggers",
            ),
        ),
    ),
    Grant(
        "options",
        "see and set options",
        (
            "SELECT ON kit.options",
            "SELECT ON kit.option_item",
            "SELECT ON kit.option_list",
            "SELECT ON kit.option_place",
            "EXECUTE ON FUNCTION kit.with_option",
        ),
    ),
)


def find_unsafe(server: KitServer, part: str) -> list[str]:
    """Return the part's routines, as schema.name, that have the rights of their installer and must
    not: those of an older version, which an upgrade removes.
    """
    if part not in SCHEMAS:
        return []
    theirs = f" AND routine_comment LIKE 'dyno kit {part} %'" if SCHEMAS[part] == "kit" else ""
    rows = server.query(
        "SELECT CONCAT(routine_schema, '.', routine_name) FROM information_schema.routines"
        f" WHERE security_type = 'DEFINER' AND routine_schema REGEXP '^{SCHEMAS[part]}$'{theirs}"
    )
    return sorted(str(name) for (name,) in rows if not re.fullmatch(DEFINERS[part], str(name)))
