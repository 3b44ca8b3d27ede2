"""Did a rollback leave something? The checksums of all tables that were reached, before and after,
where they are small.
"""

from __future__ import annotations

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql.attached import quote_name
from dyno.engines.mysql.reach import Reach

#: Bytes of tables whose checksums are compared: a tenth of a second, before and after.
SUMMED_BYTES_MOST = 16 << 20


class Remains:
    """The tables' checksums as they were when it was made; those of a statement that only reads are
    not asked.
    """

    def __init__(self, ask: Ask, session: Session, reach: Reach) -> None:
        self._session = session
        self._tables = list(reach.tables.values()) if reach.writes else []
        self._size = sum(it.size_bytes for it in self._tables)
        self._sums = self._read_sums(ask)

    def _read_sums(self, ask: Ask) -> dict[str, str | None]:
        if not self._tables or self._size > SUMMED_BYTES_MOST:
            return {}
        named = ", ".join(f"{quote_name(it.schema)}.{quote_name(it.name)}" for it in self._tables)
        (rows,) = ask(self._session, [f"CHECKSUM TABLE {named}"])
        return {str(name): total for name, total in rows}

    def describe(self, ask: Ask) -> str:
        """What the checksums say now, in a clause; empty where nothing could be left."""
        if not self._tables:
            return ""
        if not self._sums:
            most = SUMMED_BYTES_MOST >> 20
            return (
                f"tables reached: not checked: their checksums would read {self._size >> 20:,} MiB,"
                f" and {most} MiB is the most"
            )
        now = self._read_sums(ask)
        if changed := [name for name, total in self._sums.items() if now.get(name) != total]:
            return (
                f"tables reached: checksums DIFFER: {', '.join(changed)}: other sessions wrote "
                "there meanwhile, or the rollback left something"
            )
        return f"tables reached: checksums equal: {', '.join(self._sums)}"
