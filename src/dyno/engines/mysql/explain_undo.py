"""Can a rollback undo a statement? Not where it writes to a table that knows no transactions, by
itself or by a trigger.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.errors import UsageError
from dyno.workloads.replay.lexing import Token, UnreadableError, read_tokens
from dyno.workloads.replay.tokens import Quoting

#: Storage engines without transactions, by what the server itself says of each.
PLAIN = (
    "SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.ENGINE FROM information_schema.TABLES t JOIN"
    " information_schema.ENGINES e ON e.ENGINE = t.ENGINE WHERE COALESCE(e.TRANSACTIONS, 'NO')"
    " <> 'YES' AND t.TABLE_TYPE = 'BASE TABLE'"
    " AND t.TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys')"
)
TRIGGERS = (
    "SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME, ACTION_STATEMENT FROM information_schema.TRIGGERS"
)


def check_undoable(
    ask: Ask, session: Session, database: str, tokens: Sequence[Token], quoting: Quoting
) -> None:
    """`UsageError` naming a table without transactions that the statement, or a trigger of a table
    that it names, may write to.
    """
    plain, triggers = ask(session, [PLAIN, TRIGGERS])
    engines = {str(name).lower(): (f"{schema}.{name}", str(kind)) for schema, name, kind in plain}
    names = _list_names(tokens)
    _check_names(names, engines, "")
    for table, trigger, body in triggers:
        if str(table).lower() not in names:
            continue
        try:
            called = _list_names(read_tokens(str(body or ""), quoting))
        except UnreadableError:
            raise UsageError(
                f"cannot read the trigger {trigger} of {database}.{table}",
                cause="it may write to a table that a rollback does not undo",
            ) from None
        _check_names(called, engines, f", by the trigger {trigger}")


def _list_names(tokens: Sequence[Token]) -> set[str]:
    return {it.text.lower() for it in tokens if it.kind in ("word", "name")}


def _check_names(names: set[str], engines: dict[str, tuple[str, str]], by: str) -> None:
    for name in sorted(names & engines.keys()):
        table, kind = engines[name]
        raise UsageError(
            f"a rollback does not undo writes to {table}{by}",
            cause=f"its storage engine {kind} knows no transactions",
            hint="explain the statement on a copy of the table in InnoDB",
        )
