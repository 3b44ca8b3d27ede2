"""The database of a started server, made ready for whoever connects to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dyno.engines._mysql_prefix import Prefix
from dyno.errors import unknown

#: Answers SQL of one server.
Query = Callable[[Sequence[str]], list[list[list[str | None]]]]

CHARSET = "SELECT @@character_set_server, @@collation_server"


def prepare(query: Query, name: str, storage: str, prefix: Prefix) -> None:
    """Settles what new tables are made of, in every session from now on.

    The server's character set: the database comes from a template, which was made with another.
    And `storage`, where it is not empty; `UsageError` where the server (`name`, for people) has no
    such engine, with the nearest that it has or could load.
    """
    (charset,), storages = query([CHARSET, "SHOW ENGINES"])
    made = [f"ALTER DATABASE dyno CHARACTER SET {charset[0]} COLLATE {charset[1]}"]
    if storage:
        there = [str(row[0]) for row in storages if row[1] in ("YES", "DEFAULT")]
        if storage.lower() not in map(str.lower, there):
            raise unknown(f"storage engine of {name}", storage, {*there, *prefix.storages()})
        made.append(f"SET GLOBAL default_storage_engine = {storage}")
    query(made)
